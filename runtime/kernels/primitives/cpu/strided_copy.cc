#include "runtime/kernels/primitives/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "runtime/kernels/primitives/copy_rows.h"
#include "runtime/kernels/primitives/cpu/simd_loops.h"
#include "runtime/kernels/primitives/element_size.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/pixel_planes.h"

namespace tessera {
namespace {

struct Dim {
  int64_t size;
  int64_t from_stride;  // in bytes
  int64_t to_stride;
};
using Dims = absl::InlinedVector<Dim, 8>;

// Drops dimensions of size 1, and merges neighbours that both views traverse like a single
// dimension.
Dims Coalesce(absl::Span<const int64_t> sizes, absl::Span<const int64_t> from_strides,
              absl::Span<const int64_t> to_strides, int64_t width) {
  Dims dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    const Dim dim = {sizes[i], from_strides[i] * width, to_strides[i] * width};
    if (!dims.empty() && dims.back().from_stride == dim.from_stride * dim.size &&
        dims.back().to_stride == dim.to_stride * dim.size) {
      dims.back() = {dims.back().size * dim.size, dim.from_stride, dim.to_stride};
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

// Walks all but the innermost `skip` dimensions, from the `index`-th combination on.
class Odometer {
 public:
  Odometer(const Dims& dims, size_t skip, int64_t index) : dims_(dims), outer_(dims.size() - skip) {
    position_.resize(outer_);
    for (size_t i = outer_; i-- > 0;) {
      position_[i] = index % dims[i].size;
      index /= dims[i].size;
      from_ += position_[i] * dims[i].from_stride;
      to_ += position_[i] * dims[i].to_stride;
    }
  }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  void Next() {
    for (size_t i = outer_; i-- > 0;) {
      from_ += dims_[i].from_stride;
      to_ += dims_[i].to_stride;
      if (++position_[i] < dims_[i].size) return;
      from_ -= dims_[i].size * dims_[i].from_stride;
      to_ -= dims_[i].size * dims_[i].to_stride;
      position_[i] = 0;
    }
  }

 private:
  const Dims& dims_;
  const size_t outer_;
  absl::InlinedVector<int64_t, 8> position_;
  int64_t from_ = 0;
  int64_t to_ = 0;
};

int64_t Count(const Dims& dims, size_t end) {
  int64_t count = 1;
  for (size_t i = 0; i < end; ++i) count *= dims[i].size;
  return count;
}

// Copies one element. Plain elements are copied by memcpy of constant size, so that views may have
// any alignment; objects are assigned.
template <typename T>
inline void CopyOne(const char* from, char* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::memcpy(to, from, sizeof(T));
  } else {
    *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
  }
}

template <typename T>
void CopyRow(const Dim& row, const char* from, char* to) {
  constexpr int64_t kWidth = sizeof(T);
  if (row.to_stride == kWidth) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (row.from_stride == kWidth) {
        std::memcpy(to, from, static_cast<size_t>(row.size) * kWidth);
        return;
      }
    }
    if (row.from_stride == 0) {
      if constexpr (sizeof(T) == 1) {
        std::memset(to, *from, static_cast<size_t>(row.size));
        return;
      }
      T value;
      CopyOne<T>(from, reinterpret_cast<char*>(&value));
      for (int64_t i = 0; i < row.size; ++i) {
        CopyOne<T>(reinterpret_cast<const char*>(&value), to + i * kWidth);
      }
      return;
    }
    for (int64_t i = 0; i < row.size; ++i) CopyOne<T>(from + i * row.from_stride, to + i * kWidth);
    return;
  }
  for (int64_t i = 0; i < row.size; ++i) {
    CopyOne<T>(from + i * row.from_stride, to + i * row.to_stride);
  }
}

template <typename T>
void CopyRows(const Dims& dims, const char* from, char* to, int64_t begin, int64_t end) {
  Odometer row(dims, 1, begin);
  for (int64_t i = begin; i < end; ++i, row.Next()) {
    CopyRow<T>(dims.back(), from + row.from(), to + row.to());
  }
}

// Copies rows of a few bytes that are contiguous in both views, such as the pixels of an image that
// is mirrored.
template <size_t kBytes>
void CopyShortRows(const Dim& rows, const char* from, char* to) {
  for (int64_t i = 0; i < rows.size; ++i, from += rows.from_stride, to += rows.to_stride) {
    std::memcpy(to, from, kBytes);
  }
}
using ShortRowsCopy = void (*)(const Dim& rows, const char* from, char* to);

// Returns the loop for rows of this many bytes, or null if there is none.
ShortRowsCopy ShortRowsCopyFor(int64_t bytes) {
  switch (bytes) {
    case 2:
      return CopyShortRows<2>;
    case 3:
      return CopyShortRows<3>;
    case 4:
      return CopyShortRows<4>;
    case 6:
      return CopyShortRows<6>;
    case 8:
      return CopyShortRows<8>;
    case 12:
      return CopyShortRows<12>;
    case 16:
      return CopyShortRows<16>;
    case 24:
      return CopyShortRows<24>;
    case 32:
      return CopyShortRows<32>;
    default:
      return nullptr;
  }
}

// Interleaves the lower halves (kFirst 0) or the upper ones of two vectors.
template <int kFirst, typename Vector, int... kLane>
[[gnu::always_inline]] inline Vector Interleave(Vector a, Vector b,
                                                std::integer_sequence<int, kLane...>) {
  constexpr int kLanes = sizeof...(kLane);
  return __builtin_shufflevector(a, b, (kFirst + kLane / 2 + kLane % 2 * kLanes)...);
}

// Transposes a square of elements narrower than a float, whose rows are one vector long. Each step
// moves row i + j * n / 2 of n rows to row 2 i + j, and the elements of each row in the same way.
template <typename T>
void TransposeSquare(const char* from, int64_t from_stride, char* to, int64_t to_stride) {
  typedef T Vector __attribute__((vector_size(16)));
  constexpr int kLanes = 16 / sizeof(T);
  constexpr std::make_integer_sequence<int, kLanes> kAll;
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) std::memcpy(&rows[i], from + i * from_stride, sizeof(Vector));
#pragma GCC unroll 4
  for (int size = kLanes; size > 1; size /= 2) {
    Vector next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = Interleave<0>(rows[i], rows[i + kLanes / 2], kAll);
      next[2 * i + 1] = Interleave<kLanes / 2>(rows[i], rows[i + kLanes / 2], kAll);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) std::memcpy(to + i * to_stride, &rows[i], sizeof(Vector));
}

// How a transpose is cut into tiles, the units of work of threads. Each is copied in squares, which
// use whole cache lines of both views.
class TransposeTiles {
 public:
  // `across` is contiguous in `from`, `along` in `to`.
  TransposeTiles(const Dim& across, const Dim& along, int64_t width)
      : across_(across), along_(along) {
    // A tile has whole rows of `to`, and as many of them as stay in the first-level cache: the more
    // rows there are, the more contiguous bytes of `from` are read at a time.
    constexpr int64_t kCached = 1 << 14, kMaxHeight = 64, kMaxLength = 2048;
    const int64_t cached = kCached / (along.size * width) / kSquare * kSquare;
    height_ = std::clamp(cached, kSquare, kMaxHeight);
    length_ = std::min(along.size, kMaxLength);
    in_row_ = (along.size + length_ - 1) / length_;
    count_ = (across.size + height_ - 1) / height_ * in_row_;
  }

  static constexpr int64_t kSquare = 16;

  struct Tile {
    int64_t across, across_end;
    int64_t along, along_end;
  };
  int64_t count() const { return count_; }
  Tile At(int64_t i) const {
    const int64_t across = i / in_row_ * height_, along = i % in_row_ * length_;
    return {across, std::min(across + height_, across_.size), along,
            std::min(along + length_, along_.size)};
  }
  double elements() const { return static_cast<double>(height_ * length_); }  // of one tile

 private:
  const Dim across_, along_;
  int64_t height_, length_;
  int64_t in_row_;  // tiles that lie side by side in `to`
  int64_t count_;
};

template <typename T>
void TransposeTile(const TransposeTiles::Tile& tile, const Dim& across, const Dim& along,
                   const char* from, char* to) {
  constexpr int64_t kWidth = sizeof(T);
  constexpr int64_t kSquare = TransposeTiles::kSquare;
  int64_t column = tile.along;
  if constexpr (sizeof(T) == sizeof(float)) {
    const simd::Loops& loops = simd::LoopsForCpu();
    for (int64_t rows; (rows = std::min(kSquare, tile.along_end - column)) >= loops.lanes;) {
      rows = rows / loops.lanes * loops.lanes;
      loops.transpose({.rows = rows,
                       .columns = tile.across_end - tile.across,
                       .from = reinterpret_cast<const float*>(
                           from + tile.across * across.from_stride + column * along.from_stride),
                       .from_stride = along.from_stride / kWidth,
                       .to = reinterpret_cast<float*>(to + tile.across * across.to_stride) + column,
                       .to_stride = across.to_stride / kWidth,
                       .prefetches = column + 2 * rows <= tile.along_end});
      column += rows;
    }
  }
  if constexpr (sizeof(T) < sizeof(float)) {
    constexpr int64_t kVector = 16 / kWidth;
    const int64_t rows = tile.across_end - tile.across;
    for (; rows % kVector == 0 && column + kVector <= tile.along_end; column += kVector) {
      for (int64_t a = tile.across; a < tile.across_end; a += kVector) {
        TransposeSquare<T>(from + a * across.from_stride + column * along.from_stride,
                           along.from_stride, to + a * across.to_stride + column * kWidth,
                           across.to_stride);
      }
    }
  }
  for (; column < tile.along_end; column += kSquare) {
    const int64_t stop = std::min(column + kSquare, tile.along_end);
    for (int64_t a = tile.across; a < tile.across_end; ++a) {
      const char* source = from + a * across.from_stride;
      char* target = to + a * across.to_stride;
      for (int64_t b = column; b < stop; ++b) {
        CopyOne<T>(source + b * along.from_stride, target + b * kWidth);
      }
    }
  }
}

// Transposes the last two dimensions.
template <typename T>
void Transpose(const Dims& dims, const char* from, char* to, ThreadPool* pool) {
  constexpr double kNanosecondsAnElement = 0.5;
  const Dim &across = dims[dims.size() - 2], &along = dims.back();
  const TransposeTiles tiles(across, along, sizeof(T));
  ParallelFor(pool, Count(dims, dims.size() - 2) * tiles.count(),
              kNanosecondsAnElement * tiles.elements(), [&](int64_t begin, int64_t end) {
                Odometer plane(dims, 2, begin / tiles.count());
                int64_t tile = begin % tiles.count();
                for (int64_t i = begin; i < end; ++i) {
                  TransposeTile<T>(tiles.At(tile), across, along, from + plane.from(),
                                   to + plane.to());
                  if (++tile == tiles.count()) {
                    tile = 0;
                    plane.Next();
                  }
                }
              });
}

// If the innermost dimension is contiguous only in `to`, and another dimension is contiguous in
// `from`, moves that dimension beside it. The pair is then a transpose. An innermost dimension
// along which one element is repeated is none: its rows are filled.
bool FindTranspose(Dims* dims, int64_t width) {
  if (dims->size() < 2) return false;
  const Dim& inner = dims->back();
  const bool is_filled = inner.from_stride == 0, is_copied = inner.from_stride == width;
  if (inner.to_stride != width || is_copied || is_filled || inner.size < 4) return false;
  for (size_t i = 0; i + 1 < dims->size(); ++i) {
    if ((*dims)[i].from_stride == width && (*dims)[i].size >= 4) {
      const Dim across = (*dims)[i];
      dims->erase(dims->begin() + i);
      dims->insert(dims->end() - 1, across);
      return true;
    }
  }
  return false;
}

// The loop for pixels whose few channels lie side by side in one view, and in planes in the other.
struct PixelCopy {
  PixelLoop loop;
  int64_t plane_stride;
};

// Finds some such pixels, and moves the dimensions of their channels and of the pixels to the end,
// in this order.
std::optional<PixelCopy> FindPixels(Dims* dims, int64_t width) {
  constexpr int64_t kMinPixels = 8;
  if (dims->size() < 2 || dims->back().to_stride != width) return std::nullopt;
  const Dim inner = dims->back();
  for (size_t i = 0; i + 1 < dims->size(); ++i) {
    const Dim other = (*dims)[i];
    if (other.from_stride != width) continue;
    const bool splits = inner.from_stride == other.size * width && inner.size >= kMinPixels;
    const bool joins = other.to_stride == inner.size * width && other.size >= kMinPixels;
    PixelCopy copy = {};
    if (splits) copy = {SplitPixelsLoop(other.size, width), other.to_stride};
    if (joins) copy = {JoinPixelsLoop(inner.size, width), inner.from_stride};
    if (copy.loop == nullptr) continue;
    dims->erase(dims->begin() + i);
    dims->insert(splits ? dims->end() - 1 : dims->end(), other);
    return copy;
  }
  return std::nullopt;
}

// Copies what FindPixels() has found.
void CopyPixels(const Dims& dims, const PixelCopy& copy, const char* from, char* to,
                ThreadPool* pool) {
  constexpr double kNanosecondsAByte = 0.05;
  constexpr int64_t kChunk = 1 << 13;
  const Dim& pixels = dims.back();
  const int64_t pixel_bytes = std::max(pixels.from_stride, pixels.to_stride);
  // Many pixels are cut into chunks, so that threads can share them.
  const int64_t chunks = (pixels.size + kChunk - 1) / kChunk;
  const double cost =
      2 + static_cast<double>(std::min(kChunk, pixels.size) * pixel_bytes) * kNanosecondsAByte;
  ParallelFor(pool, Count(dims, dims.size() - 2) * chunks, cost, [&](int64_t begin, int64_t end) {
    Odometer planes(dims, 2, begin / chunks);
    int64_t at = begin % chunks;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = at * kChunk;
      copy.loop(std::min(kChunk, pixels.size - first),
                from + planes.from() + first * pixels.from_stride,
                to + planes.to() + first * pixels.to_stride, copy.plane_stride);
      if (++at == chunks) {
        at = 0;
        planes.Next();
      }
    }
  });
}

// Chooses the dimension for the inner loop over contiguous rows: a long one along which rows are
// read in the order of memory, which is faster than writing them in that order, or otherwise the
// last long one.
void ChooseInnerDimension(Dims* dims, int64_t row_bytes) {
  constexpr int64_t kLong = 8;
  Dim& inner = (*dims)[dims->size() - 2];
  const auto outer = std::span(*dims).first(dims->size() - 1);
  auto chosen = std::ranges::find_if(
      outer, [&](const Dim& dim) { return dim.size >= kLong && dim.from_stride == row_bytes; });
  if (chosen == outer.end()) {
    const auto last = std::ranges::find_if(outer.rbegin(), outer.rend(),
                                           [](const Dim& dim) { return dim.size >= kLong; });
    if (last == outer.rend()) return;
    chosen = std::prev(last.base());
  }
  std::swap(*chosen, inner);
}

template <typename T>
void Copy(Dims dims, const char* from, char* to, ThreadPool* pool) {
  constexpr double kNanosecondsAByte = 0.15;
  const int64_t width = sizeof(T);
  if (dims.empty()) {
    CopyOne<T>(from, to);
    return;
  }
  if (FindTranspose(&dims, width)) {
    Transpose<T>(dims, from, to, pool);
    return;
  }
  if (dims.size() >= 2 && std::is_trivially_copyable_v<T> && dims.back().from_stride == width &&
      dims.back().to_stride == width) {
    const int64_t bytes = dims.back().size * width;
    if (bytes <= kMaxMediumRow) ChooseInnerDimension(&dims, bytes);
    const Dim& rows = dims[dims.size() - 2];
    if (bytes >= kMinMediumRow && bytes <= kMaxMediumRow) {
      // The rows of a plane are cut into chunks, so that threads can share them.
      const int64_t planes = Count(dims, dims.size() - 2);
      const int64_t chunk = std::min<int64_t>(rows.size, std::max<int64_t>(1, (1 << 15) / bytes));
      const int64_t chunks = (rows.size + chunk - 1) / chunk;
      const double cost = 2 + static_cast<double>(chunk * bytes) * kNanosecondsAByte;
      ParallelFor(pool, planes * chunks, cost, [&](int64_t begin, int64_t end) {
        Odometer plane(dims, 2, begin / chunks);
        int64_t at = begin % chunks;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = at * chunk;
          CopyMediumRows(std::min(chunk, rows.size - first), bytes,
                         from + plane.from() + first * rows.from_stride, rows.from_stride,
                         to + plane.to() + first * rows.to_stride, rows.to_stride);
          if (++at == chunks) {
            at = 0;
            plane.Next();
          }
        }
      });
      return;
    }
    if (const ShortRowsCopy copy = ShortRowsCopyFor(bytes)) {
      const double cost = 2 + static_cast<double>(rows.size);
      ParallelFor(pool, Count(dims, dims.size() - 2), cost, [&](int64_t begin, int64_t end) {
        Odometer plane(dims, 2, begin);
        for (int64_t i = begin; i < end; ++i, plane.Next()) {
          copy(rows, from + plane.from(), to + plane.to());
        }
      });
      return;
    }
  }
  // A row that is longer than this is cut, so that threads can share it.
  constexpr int64_t kLongRow = 1 << 16;
  const Dim row = dims.back();
  if (pool != nullptr && row.size * width > 4 * kLongRow && Count(dims, dims.size() - 1) < 64) {
    const int64_t piece = kLongRow / width;
    const int64_t pieces = row.size / piece;
    const int64_t done = pieces * piece;
    if (row.size > done) {
      dims.back().size = row.size - done;
      CopyRows<T>(dims, from + done * row.from_stride, to + done * row.to_stride, 0,
                  Count(dims, dims.size() - 1));
    }
    dims.back() = {pieces, piece * row.from_stride, piece * row.to_stride};
    dims.push_back({piece, row.from_stride, row.to_stride});
  }
  const double cost = 2 + kNanosecondsAByte * static_cast<double>(dims.back().size * width);
  ParallelFor(pool, Count(dims, dims.size() - 1), cost,
              [&](int64_t begin, int64_t end) { CopyRows<T>(dims, from, to, begin, end); });
}

// Merges adjacent dimensions that are contiguous in both views first. Runs of bytes are copied by
// memcpy, and transposes are made in blocks that fit the cache.
absl::Status RunStridedCopy(KernelContext& ctx, absl::Span<const int64_t> sizes, const Tensor& from,
                            StridedView from_view, Tensor* to, StridedView to_view) {
  // A box without elements may have no memory to point into.
  for (int64_t size : sizes) {
    if (size == 0) return absl::OkStatus();
  }
  const DType dtype = from.dtype();
  int64_t width = static_cast<int64_t>(DTypeSize(dtype));
  const char* const source = from.raw() + from_view.offset * width;
  char* const target = to->mutable_raw() + to_view.offset * width;
  Dims dims = Coalesce(sizes, from_view.strides, to_view.strides, width);
  if (!IsTriviallyCopyable(dtype)) {
    VisitStorageType(dtype, [&]<typename T>() { Copy<T>(dims, source, target, ctx.pool()); });
    return absl::OkStatus();
  }
  // A short contiguous row is copied as one wider element.
  if (!dims.empty() && dims.back().from_stride == width && dims.back().to_stride == width) {
    const int64_t run = dims.back().size * width;
    if (run == 2 || run == 4 || run == 8 || run == 16) {
      dims.pop_back();
      width = run;
    }
  }
  if (const std::optional<PixelCopy> pixels = FindPixels(&dims, width)) {
    CopyPixels(dims, *pixels, source, target, ctx.pool());
    return absl::OkStatus();
  }
  VisitBySize<Bytes16>(width,
                       [&]<typename T>() { Copy<T>(std::move(dims), source, target, ctx.pool()); });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(StridedCopy, kCpu, RunStridedCopy);

}  // namespace
}  // namespace tessera
