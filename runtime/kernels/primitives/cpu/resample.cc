#include "runtime/kernels/primitives/resample.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/byte_columns.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Returns the weighted sum of the inputs that the taps of output `i` name. Two taps are
// interpolated as TensorFlow does it, so that results agree to the last bit. `at(index)` returns an
// input.
template <typename At>
inline float Sum(const ResampleTaps& taps, int64_t i, At at) {
  const int32_t* const index = &taps.index[i * taps.span];
  const float* const weight = &taps.weight[i * taps.span];
  if (taps.span == 2) {
    const float first = at(index[0]);
    return first + (at(index[1]) - first) * weight[1];
  }
  float sum = 0;
  for (int t = 0; t < taps.span; ++t) sum += weight[t] * at(index[t]);
  return sum;
}

using FourFloats = float __attribute__((vector_size(16)));

inline FourFloats LoadFour(const float* from) {
  FourFloats four;
  std::memcpy(&four, from, sizeof(four));
  return four;
}

void Blend(const float* first, const float* second, float weight, int64_t count, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = first[i] + (second[i] - first[i]) * weight;
}

// Interpolates `count` pixels of a row, from output column `first_column` on. If the pixels have
// three channels, both rows must have room for one more float at their end.
void BlendColumns(const ResampleTaps& columns, int64_t first_column, int64_t count,
                  const float* row, int64_t channels, float* to) {
  const int32_t* index = &columns.index[2 * first_column];
  const float* weight = &columns.weight[2 * first_column];
  if (channels == 3) {
    // The fourth float belongs to the next pixel, which overwrites it.
    for (int64_t x = 0; x < count; ++x, index += 2, weight += 2) {
      const FourFloats first = LoadFour(row + index[0] * 3);
      const FourFloats blend = first + (LoadFour(row + index[1] * 3) - first) * weight[1];
      std::memcpy(to + x * 3, &blend, sizeof(blend));
    }
    return;
  }
  for (int64_t x = 0; x < count; ++x, index += 2, weight += 2) {
    Blend(row + index[0] * channels, row + index[1] * channels, weight[1], channels,
          to + x * channels);
  }
}

// Computes Sum() for a row of pixels, three channels at once. The rows need the same room as in
// BlendColumns(). kSpan is the span of the taps, or 0 for any span.
template <int kSpan>
void SumColumnsOf3(const ResampleTaps& columns, const float* row, float* to) {
  const int span = kSpan == 0 ? columns.span : kSpan;
  const int32_t* index = columns.index.data();
  const float* weight = columns.weight.data();
  const int64_t size = columns.size();
  for (int64_t x = 0; x < size; ++x, index += span, weight += span) {
    FourFloats sum{};
#pragma GCC unroll 5
    for (int t = 0; t < span; ++t) sum += weight[t] * LoadFour(row + int64_t{index[t]} * 3);
    std::memcpy(to + x * 3, &sum, sizeof(sum));
  }
}
using SumColumns = void (*)(const ResampleTaps& columns, const float* row, float* to);

SumColumns SumColumnsOf3For(int span) {
  switch (span) {
    case 3:
      return SumColumnsOf3<3>;
    case 4:
      return SumColumnsOf3<4>;
    case 5:
      return SumColumnsOf3<5>;
    default:
      return SumColumnsOf3<0>;
  }
}

// Computes Sum() for all elements of output row `y`. Rows have `size` elements.
void SumRows(const ResampleTaps& taps, int64_t y, const float* rows, int64_t size, float* to) {
  if (taps.span == 2) {
    for (int64_t i = 0; i < size; ++i) {
      to[i] = Sum(taps, y, [&](int64_t index) { return rows[index * size + i]; });
    }
    return;
  }
  std::fill_n(to, size, 0.0f);
  for (int t = 0; t < taps.span; ++t) {
    const float weight = taps.weight[y * taps.span + t];
    const float* const row = rows + taps.index[y * taps.span + t] * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) to[i] += weight * row[i];
  }
}

// Does what ResampleImages() does for a strip of output columns, with two taps in both directions.
// The two rows that an output row is interpolated from are kept for the next output row.
template <typename T>
class RowBlender {
 public:
  // `end` is the end of all images. `byte_columns`, which may be null, interpolates rows of bytes.
  RowBlender(const T* image, const T* end, int64_t width, int64_t channels,
             const ResampleTaps& columns, int64_t first_column, int64_t num_columns,
             const ByteColumns* byte_columns)
      : image_(image),
        end_(end),
        row_size_(width * channels),
        channels_(channels),
        columns_(columns),
        first_column_(first_column),
        num_columns_(num_columns),
        byte_columns_(byte_columns),
        above_(std::max(num_columns * channels + 1,
                        byte_columns != nullptr ? byte_columns->size() : 0)),
        below_(above_.size()) {}

  // Writes the strip of output row `y`. This is fastest if rows are written in order.
  void BlendRow(const ResampleTaps& rows, int64_t y, float* out) {
    const int32_t above = rows.index[2 * y], below = rows.index[2 * y + 1];
    const float weight = rows.weight[2 * y + 1];
    if (above != above_index_ && above == below_index_) {
      std::swap(above_, below_);
      std::swap(above_index_, below_index_);
    }
    Narrow(above, &above_index_, &above_);
    Narrow(below, &below_index_, &below_);
    Blend(above_.data(), below_.data(), weight, num_columns_ * channels_, out);
  }

 private:
  void Narrow(int32_t y, int32_t* index, std::vector<float>* to) {
    if (std::exchange(*index, y) == y) return;
    const T* const from = image_ + y * row_size_;
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (byte_columns_ != nullptr) {
        byte_columns_->Blend(from, to->data());
        return;
      }
    }
    if constexpr (std::is_same_v<T, float>) {
      // With three channels, one float behind the row is read.
      if (channels_ != 3 || from + row_size_ < end_) {
        BlendColumns(columns_, first_column_, num_columns_, from, channels_, to->data());
        return;
      }
    }
    row_.resize(row_size_ + 1);
    for (int64_t i = 0; i < row_size_; ++i) row_[i] = static_cast<float>(from[i]);
    BlendColumns(columns_, first_column_, num_columns_, row_.data(), channels_, to->data());
  }

  const T* const image_;
  const T* const end_;
  const int64_t row_size_, channels_;
  const ResampleTaps& columns_;
  const int64_t first_column_, num_columns_;
  const ByteColumns* const byte_columns_;
  std::vector<float> row_, above_, below_;
  int32_t above_index_ = -1, below_index_ = -1;
};

// Returns the number of output columns in a strip, two rows of which fit into the first-level
// cache. Rows that must be converted first are not cut.
template <typename T>
int64_t StripColumns(int64_t columns, int64_t channels) {
  constexpr int64_t kStripFloats = 3072;
  if (!std::is_same_v<T, float> || channels == 3) return columns;
  return std::clamp<int64_t>(kStripFloats / channels, 1, columns);
}

template <typename T>
void ResampleByTwoTaps(KernelContext& ctx, const Tensor& images, const ResampleTaps& rows,
                       const ResampleTaps& columns, float* out) {
  const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  const int64_t out_width = columns.size() * channels;
  const int64_t image_size = height * width * channels;
  const int64_t total = images.dim(0) * rows.size();
  const T* const pixels = images.data<T>();
  const T* const end_of_pixels = pixels + images.num_elements();
  const int64_t strip = StripColumns<T>(columns.size(), channels);
  std::optional<ByteColumns> byte_columns;
  if (std::is_same_v<T, uint8_t>) {
    byte_columns.emplace(columns, width, channels);
    if (!byte_columns->is_possible()) byte_columns.reset();
  }
  ctx.ParallelFor(total, 1.0 * out_width, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t b = begin / rows.size();
      const int64_t stop = std::min(end, (b + 1) * rows.size());
      for (int64_t column = 0; column < columns.size(); column += strip) {
        RowBlender<T> blender(pixels + b * image_size, end_of_pixels, width, channels, columns,
                              column, std::min(strip, columns.size() - column),
                              byte_columns.has_value() ? &*byte_columns : nullptr);
        for (int64_t row = begin; row < stop; ++row) {
          blender.BlendRow(rows, row - b * rows.size(), out + row * out_width + column * channels);
        }
      }
      begin = stop;
    }
  });
}

// Resamples along the width first, and only those rows that the height needs.
template <typename T>
absl::Status ResampleImages(KernelContext& ctx, const Tensor& images, const ResampleTaps& rows,
                            const ResampleTaps& columns, float* out) {
  if (rows.span == 2 && columns.span == 2) {
    ResampleByTwoTaps<T>(ctx, images, rows, columns, out);
    return absl::OkStatus();
  }
  const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  const int64_t out_width = columns.size() * channels;
  std::vector<bool> needed(height);
  for (int32_t row : rows.index) needed[row] = true;
  ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DType::kFloat, {height, out_width}));
  float* const narrow = scratch.data<float>();
  for (int64_t b = 0; b < images.dim(0); ++b) {
    const T* const image = images.data<T>() + b * height * width * channels;
    const SumColumns sum_columns = SumColumnsOf3For(columns.span);
    ctx.ParallelFor(height, 1.0 * columns.span * out_width, [&](int64_t begin, int64_t end) {
      std::vector<float> row(width * channels + 1), line(out_width + 1);
      for (int64_t y = begin; y < end; ++y) {
        if (!needed[y]) continue;
        const T* const from = image + y * width * channels;
        for (int64_t i = 0; i < width * channels; ++i) row[i] = static_cast<float>(from[i]);
        if (channels == 3 && columns.span > 2) {
          sum_columns(columns, row.data(), line.data());
          std::copy_n(line.data(), out_width, narrow + y * out_width);
          continue;
        }
        float* const to = narrow + y * out_width;
        for (int64_t x = 0; x < columns.size(); ++x) {
          for (int64_t c = 0; c < channels; ++c) {
            to[x * channels + c] =
                Sum(columns, x, [&](int64_t index) { return row[index * channels + c]; });
          }
        }
      }
    });
    float* const result = out + b * rows.size() * out_width;
    ctx.ParallelFor(rows.size(), 1.0 * rows.span * out_width, [&](int64_t begin, int64_t end) {
      for (int64_t y = begin; y < end; ++y) {
        SumRows(rows, y, narrow, out_width, result + y * out_width);
      }
    });
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Spread(KernelContext& ctx, const Tensor& gradients, const ResampleTaps& rows,
                    const ResampleTaps& columns, Tensor* out) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t channels = gradients.dim(3), out_width = out->dim(2);
  const int64_t image_size = out->dim(1) * out_width * channels;
  const bool is_bilinear = rows.span == 2 && columns.span == 2;
  ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DTypeOf<Sum>, {image_size}));
  Sum* const sums = scratch.data<Sum>();
  const float* g = gradients.data<float>();
  for (int64_t b = 0; b < gradients.dim(0); ++b) {
    std::fill_n(sums, image_size, Sum(0));
    for (int64_t y = 0; y < rows.size(); ++y) {
      for (int64_t x = 0; x < columns.size(); ++x, g += channels) {
        for (int ty = 0; ty < rows.span; ++ty) {
          const float wy = rows.weight[y * rows.span + ty];
          const int64_t row = rows.index[y * rows.span + ty];
          for (int tx = 0; tx < columns.span; ++tx) {
            const float wx = columns.weight[x * columns.span + tx];
            const int64_t column = columns.index[x * columns.span + tx];
            Sum* const to = sums + (row * out_width + column) * channels;
            const Sum weight = Sum(wy) * wx;
            for (int64_t c = 0; c < channels; ++c) {
              to[c] += is_bilinear ? Sum(g[c] * wy * wx) : g[c] * weight;
            }
          }
        }
      }
    }
    T* const result = out->data<T>() + b * image_size;
    for (int64_t i = 0; i < image_size; ++i) result[i] = static_cast<T>(sums[i]);
  }
  return absl::OkStatus();
}

absl::Status RunResample(KernelContext& ctx, const ResampleTaps& rows, const ResampleTaps& columns,
                         const Tensor& images, Tensor* output) {
  return VisitRealType(images.dtype(), [&]<typename T>() {
    return ResampleImages<T>(ctx, images, rows, columns, output->data<float>());
  });
}
REGISTER_PRIMITIVE(Resample, kCpu, RunResample);

absl::Status RunResampleGradient(KernelContext& ctx, const ResampleTaps& rows,
                                 const ResampleTaps& columns, const Tensor& gradients,
                                 Tensor* output) {
  return VisitRealType(output->dtype(), [&]<typename T>() {
    return Spread<T>(ctx, gradients, rows, columns, output);
  });
}
REGISTER_PRIMITIVE(ResampleGradient, kCpu, RunResampleGradient);

}  // namespace
}  // namespace tessera
