// Convolutions by the graph interface of cuDNN 9.
#include <optional>

#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/kernels/primitives/cuda/copy.h"
#include "runtime/kernels/primitives/cuda/cudnn_convolution.h"
#include "runtime/kernels/primitives/cuda/cudnn_run.h"
#include "runtime/kernels/primitives/cuda/math_mode.h"
#include "runtime/kernels/primitives/cuda/product_library.h"

namespace tessera::cuda {
namespace {

// cuDNN knows no convolutions of one dimension: a dimension of size 1 goes before it.
ConvolutionShape AtLeastTwoDimensional(ConvolutionShape shape) {
  if (shape.filter.size() != 1) return shape;
  for (SpatialDims* dims :
       {&shape.input, &shape.filter, &shape.output, &shape.strides, &shape.dilations}) {
    dims->insert(dims->begin(), 1);
  }
  shape.pad_before.insert(shape.pad_before.begin(), 0);
  shape.pad_after.insert(shape.pad_after.begin(), 0);
  return shape;
}

// Copies a filter between [rows, out_channels] and [out_channels, rows].
absl::Status TransposeFilter(KernelContext& ctx, int64_t rows, int64_t columns, const Tensor& from,
                             Tensor* to) {
  return RunStridedCopy(ctx, {columns, rows}, from, {{1, columns}}, to, {{rows, 1}});
}

// Transposes a filter on the host.
template <typename T>
void TransposeOnHost(int64_t rows, int64_t columns, const Tensor& from, Tensor* to) {
  const T* const source = reinterpret_cast<const T*>(from.raw());
  T* const target = reinterpret_cast<T*>(to->mutable_raw());
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) target[c * rows + r] = source[r * columns + c];
  }
}

}  // namespace

absl::StatusOr<std::optional<Tensor>> ArrangeFilter(const Tensor& filter, int out_dims) {
  if (!CudnnTypeOf(filter.dtype()).has_value() || !LoadCudnn().ok()) return std::optional<Tensor>();
  int64_t columns = 1;
  for (int d = filter.rank() - out_dims; d < filter.rank(); ++d) columns *= filter.dim(d);
  const int64_t rows = filter.num_elements() / columns;
  ASSIGN_OR_RETURN(Tensor arranged,
                   Tensor::Allocate(filter.dtype(), Shape{columns, rows}, WeightsAllocator()));
  if (filter.dtype() == DType::kFloat) {
    TransposeOnHost<float>(rows, columns, filter, &arranged);
  } else {
    TransposeOnHost<uint16_t>(rows, columns, filter, &arranged);
  }
  return std::optional<Tensor>(std::move(arranged));
}

absl::StatusOr<bool> ConvolveByLibrary(KernelContext& ctx, ConvolutionDirection direction,
                                       const ConvolutionShape& given, const Tensor& x,
                                       const LibraryFilter& filter, const Tensor& y,
                                       const PostOps& post_ops, const PostOpInputs& inputs) {
  const std::optional<cudnnDataType_t> type = CudnnTypeOf(x.dtype());
  if (!type.has_value()) return false;
  for (const Tensor* tensor : {&x, &y, inputs.bias, inputs.addend}) {
    if (tensor != nullptr && !IsAligned(*tensor)) return false;
  }
  using Problem = ConvolutionProblem;
  const Problem problem{direction, AtLeastTwoDimensional(given), x.dtype(), post_ops};
  const Tensor& values = filter.values;
  const int64_t columns = given.out_channels, rows = values.num_elements() / columns;
  const bool reads_filter = direction != ConvolutionDirection::kFilterGradient;
  const bool is_arranged = reads_filter && filter.arranged != nullptr;
  Tensor arranged;
  if (is_arranged) {
    arranged = *filter.arranged;
  } else {
    ASSIGN_OR_RETURN(arranged, ctx.AllocateTemp(values.dtype(), values.shape()));
  }

  Bindings bindings;
  bindings.Add(Problem::kX, x.address());
  bindings.Add(Problem::kFilter, arranged.address());
  bindings.Add(Problem::kY, y.address());
  if (post_ops.bias) bindings.Add(Problem::kBias, inputs.bias->address());
  if (post_ops.add) bindings.Add(Problem::kAddend, inputs.addend->address());
  const bool exact = x.dtype() == DType::kFloat && !AllowsTf32();
  ASSIGN_OR_RETURN(
      const bool done,
      RunGraph(
          ctx, problem, exact,
          [&](const Cudnn& cudnn) { return DescribeConvolution(cudnn, problem, *type); }, bindings,
          [&]() -> absl::Status {
            if (!reads_filter || is_arranged) return absl::OkStatus();
            return TransposeFilter(ctx, rows, columns, values, &arranged);
          }));
  if (!done) return false;
  if (!reads_filter) {
    Tensor result = values;
    RETURN_IF_ERROR(TransposeFilter(ctx, columns, rows, arranged, &result));
  }
  return true;
}

}  // namespace tessera::cuda
