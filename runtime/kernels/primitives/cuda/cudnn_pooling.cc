#include "runtime/kernels/primitives/cuda/cudnn_pooling.h"

#include <utility>
#include <vector>

namespace tessera::cuda {
namespace {

// The spatial dimensions that a pool has, without those of size 1 that fill PoolShape up; at least
// two, as cuDNN wants.
int FirstDim(const PoolShape& s) {
  const bool is_flat =
      s.input[0] == 1 && s.window[0] == 1 && s.stride[0] == 1 && s.output[0] == 1 && s.pad[0] == 0;
  return is_flat ? 1 : 0;
}

absl::StatusOr<Descriptor> MakeImages(const Cudnn& cudnn, cudnnDataType_t type, int64_t id,
                                      const PoolShape& shape, const int64_t (&spatial)[3]) {
  std::vector<int64_t> dims = {shape.batch, shape.channels};
  dims.insert(dims.end(), spatial + FirstDim(shape), spatial + 3);
  return MakeTensor(cudnn, type, id, dims, ImageStrides(dims, shape.channels_first));
}

absl::StatusOr<Descriptor> MakeWindow(const Cudnn& cudnn, PoolMode mode, const PoolShape& shape) {
  const bool is_max = mode == PoolMode::kMax;
  std::vector<cudnnFraction_t> windows, strides, before, after;
  for (int d = FirstDim(shape); d < 3; ++d) {
    const int64_t end = (shape.output[d] - 1) * shape.stride[d] + shape.window[d] - shape.pad[d];
    windows.push_back({shape.window[d], 1});
    strides.push_back({shape.stride[d], 1});
    before.push_back({shape.pad[d], 1});
    after.push_back({std::max<int64_t>(0, end - shape.input[d]), 1});
  }
  ASSIGN_OR_RETURN(Descriptor window, Descriptor::Make(cudnn, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR));
  RETURN_IF_ERROR(
      window.Set(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE,
                 is_max ? CUDNN_RESAMPLE_MAXPOOL : CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING));
  RETURN_IF_ERROR(
      window.Set(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  RETURN_IF_ERROR(window.Set(CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                             is_max ? CUDNN_NOT_PROPAGATE_NAN : CUDNN_PROPAGATE_NAN));
  RETURN_IF_ERROR(window.Set(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE,
                             is_max ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD));
  RETURN_IF_ERROR(window.Set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64,
                             static_cast<int64_t>(windows.size())));
  for (const auto& [name, values] : {std::pair{CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, &windows},
                                     std::pair{CUDNN_ATTR_RESAMPLE_STRIDES, &strides},
                                     std::pair{CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, &before},
                                     std::pair{CUDNN_ATTR_RESAMPLE_POST_PADDINGS, &after}}) {
    RETURN_IF_ERROR(window.Set(name, CUDNN_TYPE_FRACTION, absl::MakeConstSpan(*values)));
  }
  RETURN_IF_ERROR(window.Finalize("the windows of a pool"));
  return window;
}

}  // namespace

absl::StatusOr<CudnnGraph> DescribePool(const Cudnn& cudnn, const PoolProblem& problem,
                                        cudnnDataType_t type) {
  const PoolShape& shape = problem.shape;
  const bool is_max = problem.mode == PoolMode::kMax;
  const bool is_gradient = problem.mode == PoolMode::kAverageGradient;
  CudnnGraph graph(cudnn);
  ASSIGN_OR_RETURN(Descriptor from, MakeImages(cudnn, type, PoolProblem::kFrom, shape,
                                               is_gradient ? shape.output : shape.input));
  ASSIGN_OR_RETURN(Descriptor to, MakeImages(cudnn, is_max ? CUDNN_DATA_FLOAT : type,
                                             is_max ? kFirstVirtual : int64_t{PoolProblem::kTo},
                                             shape, is_gradient ? shape.input : shape.output));
  ASSIGN_OR_RETURN(Descriptor window, MakeWindow(cudnn, problem.mode, shape));
  ASSIGN_OR_RETURN(
      Descriptor operation,
      Descriptor::Make(cudnn, is_gradient ? CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR
                                          : CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR));
  RETURN_IF_ERROR(operation.Set(is_gradient ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC
                                            : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC,
                                from));
  RETURN_IF_ERROR(operation.Set(is_gradient ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC
                                            : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
                                to));
  RETURN_IF_ERROR(operation.Set(
      is_gradient ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC,
      window));
  RETURN_IF_ERROR(graph.AddOperation(std::move(operation), "a pool"));
  graph.Keep(std::move(from));
  graph.Keep(std::move(window));
  const cudnnBackendDescriptor_t result = graph.Keep(std::move(to));
  if (!is_max) return graph;

  ASSIGN_OR_RETURN(Descriptor least, MakeScalar(cudnn, PoolProblem::kLeast,
                                                /*rank=*/5 - FirstDim(shape)));
  ASSIGN_OR_RETURN(Descriptor function, StartFunction(cudnn, CUDNN_POINTWISE_MAX));
  RETURN_IF_ERROR(function.Set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                               CUDNN_NOT_PROPAGATE_NAN));
  RETURN_IF_ERROR(function.Finalize("a maximum"));
  ASSIGN_OR_RETURN(Descriptor clamped,
                   MakeImages(cudnn, type, PoolProblem::kTo, shape, shape.output));
  const cudnnBackendDescriptor_t scalar = graph.Keep(std::move(least));
  RETURN_IF_ERROR(
      graph.AddPointwise(std::move(function), result, scalar, std::move(clamped)).status());
  return graph;
}

}  // namespace tessera::cuda
