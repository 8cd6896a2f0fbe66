// Moving elements: Fill and StridedCopy.
#include "runtime/kernels/primitives/cuda/copy.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/fill.h"

namespace tessera::cuda {
namespace {

template <typename T>
__global__ void FillElements(int64_t count, const T* value, T* to) {
  const T element = value == nullptr ? T{} : *value;
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) to[i] = element;
}

absl::Status RunFill(KernelContext& ctx, const Tensor* value, Tensor* output) {
  return VisitBySize(ElementSize(*output), [&]<typename T>() {
    return LaunchItems(ctx, output->num_elements(), FillElements<T>, output->num_elements(),
                       value == nullptr ? nullptr : DataOf<const T>(*value), DataOf<T>(*output));
  });
}
REGISTER_CUDA_PRIMITIVE(Fill, RunFill);

// The arrays of a copy.
constexpr int kTo = 0, kFrom = 1;
using CopyBox = StridedBox<2>;

template <typename T>
__global__ void CopyElements(CopyBox box) {
  for (int64_t i = FirstItem(); i < box.count; i += ItemStep()) {
    int64_t at[2];
    box.Offsets(i, at);
    *reinterpret_cast<T*>(box.data[kTo] + at[kTo]) =
        *reinterpret_cast<const T*>(box.data[kFrom] + at[kFrom]);
  }
}

// Transposes the last two dimensions: `to` has no gap along the last one, `from` along the one
// before it. A tile goes through shared memory, so that both are read and written without gaps.
constexpr int kTile = 32;
template <typename T>
__global__ void TransposeTiles(CopyBox box, int64_t row_tiles, int64_t column_tiles,
                               int64_t tiles) {
  const int last = box.rank - 1;
  const int64_t rows = box.dims[last - 1], columns = box.dims[last];
  const int x = threadIdx.x % kTile, first_y = threadIdx.x / kTile;
  constexpr int kStep = kBlockThreads / kTile;
  // One column more keeps the threads of a warp on different banks.
  __shared__ T tile[kTile][kTile + 1];
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t column = t % column_tiles * kTile;
    const int64_t row = t / column_tiles % row_tiles * kTile;
    int64_t at[2];
    box.Offsets(t / (column_tiles * row_tiles) * rows * columns, at);
    for (int y = first_y; y < kTile && column + y < columns; y += kStep) {
      if (row + x >= rows) continue;
      tile[y][x] = *reinterpret_cast<const T*>(box.data[kFrom] + at[kFrom] +
                                               (row + x) * box.strides[kFrom][last - 1] +
                                               (column + y) * box.strides[kFrom][last]);
    }
    __syncthreads();
    for (int y = first_y; y < kTile && row + y < rows; y += kStep) {
      if (column + x >= columns) continue;
      *reinterpret_cast<T*>(box.data[kTo] + at[kTo] + (row + y) * box.strides[kTo][last - 1] +
                            (column + x) * box.strides[kTo][last]) = tile[x][y];
    }
    __syncthreads();
  }
}

// Takes several elements for one of up to 16 bytes as long as both arrays have them side by side
// and aligned. Returns the size of the new elements.
int64_t WidenElements(int64_t size, CopyBox& box) {
  if (box.rank == 0) return size;
  const int last = box.rank - 1;
  const auto can_widen = [&] {
    if (box.dims[last] % 2 != 0) return false;
    for (int a = 0; a < 2; ++a) {
      if (box.strides[a][last] != size) return false;
      if (reinterpret_cast<uintptr_t>(box.data[a]) % (2 * size) != 0) return false;
      for (int d = 0; d < last; ++d) {
        if (box.strides[a][d] % (2 * size) != 0) return false;
      }
    }
    return true;
  };
  while (size < 16 && can_widen()) {
    size *= 2;
    box.dims[last] /= 2;
    box.count /= 2;
    box.strides[kTo][last] = box.strides[kFrom][last] = size;
  }
  return size;
}

// Moves the dimension along which `from` has no gap next to the last one, if the copy is a
// transposition large enough for tiles.
bool ArrangeForTiles(int64_t size, CopyBox& box) {
  const int last = box.rank - 1;
  if (last < 1 || size > 8 || box.strides[kTo][last] != size || box.dims[last] < kTile / 2) {
    return false;
  }
  for (int d = 0; d < last; ++d) {
    if (box.strides[kFrom][d] != size || box.dims[d] < kTile / 2) continue;
    std::swap(box.dims[d], box.dims[last - 1]);
    for (auto& strides : box.strides) std::swap(strides[d], strides[last - 1]);
    return true;
  }
  return false;
}

ByteStrides InBytes(absl::Span<const int64_t> strides, int64_t size) {
  ByteStrides bytes(strides.begin(), strides.end());
  for (int64_t& stride : bytes) stride *= size;
  return bytes;
}

REGISTER_CUDA_PRIMITIVE(StridedCopy, RunStridedCopy);

}  // namespace

absl::Status RunStridedCopy(KernelContext& ctx, absl::Span<const int64_t> dims, const Tensor& from,
                            StridedView from_view, Tensor* to, StridedView to_view) {
  for (const int64_t dim : dims) {
    if (dim == 0) return absl::OkStatus();
  }
  int64_t size = ElementSize(from);
  StridedOperands operands(dims);
  operands.Add(to->address() + to_view.offset * size, InBytes(to_view.strides, size));
  operands.Add(from.address() + from_view.offset * size, InBytes(from_view.strides, size));
  operands.Coalesce();
  ASSIGN_OR_RETURN(CopyBox box, MakeStridedBox<2>(operands));
  if (ArrangeForTiles(size, box)) {
    const int64_t rows = box.dims[box.rank - 2], columns = box.dims[box.rank - 1];
    const int64_t row_tiles = (rows + kTile - 1) / kTile;
    const int64_t column_tiles = (columns + kTile - 1) / kTile;
    const int64_t tiles = box.count / (rows * columns) * row_tiles * column_tiles;
    return VisitBySize(size, [&]<typename T>() {
      return LaunchBlocks(ctx, tiles, TransposeTiles<T>, box, row_tiles, column_tiles, tiles);
    });
  }
  size = WidenElements(size, box);
  return VisitBySize(
      size, [&]<typename T>() { return LaunchItems(ctx, box.count, CopyElements<T>, box); });
}

}  // namespace tessera::cuda
