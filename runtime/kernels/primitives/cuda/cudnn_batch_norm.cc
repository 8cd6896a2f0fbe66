#include "runtime/kernels/primitives/cuda/cudnn_batch_norm.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::cuda {
namespace {

using Tensors = BatchNormProblem::Tensors;
using Attribute = std::pair<cudnnBackendAttributeName_t, Tensors>;

// Describes a tensor [outer, channels, inner] as images: channels last have all points in one
// dimension of the first image.
absl::StatusOr<Descriptor> MakeImages(const Cudnn& cudnn, cudnnDataType_t type, Tensors id,
                                      const ChannelShape& s) {
  const bool channels_first = s.inner > 1;
  const std::vector<int64_t> dims = channels_first
                                        ? std::vector<int64_t>{s.outer, s.channels, s.inner, 1}
                                        : std::vector<int64_t>{1, s.channels, s.outer, 1};
  return MakeTensor(cudnn, type, id, dims, ImageStrides(dims, channels_first));
}

absl::StatusOr<Descriptor> MakeVector(const Cudnn& cudnn, Tensors id, int64_t channels) {
  const std::vector<int64_t> dims = {1, channels, 1, 1};
  return MakeTensor(cudnn, CUDNN_DATA_FLOAT, id, dims, ImageStrides(dims, false));
}

}  // namespace

absl::StatusOr<CudnnGraph> DescribeBatchNorm(const Cudnn& cudnn, const BatchNormProblem& problem,
                                             cudnnDataType_t type) {
  static constexpr Attribute kImages[] = {
      {CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, Tensors::kX},
      {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, Tensors::kY},
  };
  static constexpr Attribute kVectors[] = {
      {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, Tensors::kScale},
      {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, Tensors::kOffset},
      {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, Tensors::kMean},
      {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, Tensors::kInverseDeviation},
      {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, Tensors::kOldMean},
      {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, Tensors::kOldVariance},
      {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, Tensors::kNewMean},
      {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, Tensors::kNewVariance},
  };
  static constexpr Attribute kScalars[] = {
      {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, Tensors::kEpsilon},
      {CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, Tensors::kShare},
  };
  static constexpr Attribute kGradientImages[] = {
      {CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, Tensors::kX},
      {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, Tensors::kDy},
      {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, Tensors::kDx},
  };
  static constexpr Attribute kGradientVectors[] = {
      {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, Tensors::kScale},
      {CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, Tensors::kMean},
      {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, Tensors::kInverseDeviation},
      {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, Tensors::kDscale},
      {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, Tensors::kDoffset},
  };
  const bool is_gradient = problem.is_gradient;
  CudnnGraph graph(cudnn);
  ASSIGN_OR_RETURN(
      Descriptor operation,
      Descriptor::Make(cudnn, is_gradient ? CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR
                                          : CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR));
  RETURN_IF_ERROR(operation.Set(
      is_gradient ? CUDNN_ATTR_OPERATION_NORM_BWD_MODE : CUDNN_ATTR_OPERATION_NORM_FWD_MODE,
      CUDNN_TYPE_NORM_MODE, CUDNN_BATCH_NORM));
  if (!is_gradient) {
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
                                  CUDNN_NORM_FWD_TRAINING));
  }
  for (const auto& [name, id] :
       is_gradient ? absl::MakeConstSpan(kGradientImages) : absl::MakeConstSpan(kImages)) {
    ASSIGN_OR_RETURN(Descriptor images, MakeImages(cudnn, type, id, problem.shape));
    RETURN_IF_ERROR(operation.Set(name, graph.Keep(std::move(images))));
  }
  for (const auto& [name, id] :
       is_gradient ? absl::MakeConstSpan(kGradientVectors) : absl::MakeConstSpan(kVectors)) {
    ASSIGN_OR_RETURN(Descriptor vector, MakeVector(cudnn, id, problem.shape.channels));
    RETURN_IF_ERROR(operation.Set(name, graph.Keep(std::move(vector))));
  }
  if (!is_gradient) {
    for (const auto& [name, id] : kScalars) {
      ASSIGN_OR_RETURN(Descriptor scalar, MakeScalar(cudnn, id, /*rank=*/4));
      RETURN_IF_ERROR(operation.Set(name, graph.Keep(std::move(scalar))));
    }
  }
  RETURN_IF_ERROR(graph.AddOperation(std::move(operation), "a batch norm"));
  return graph;
}

}  // namespace tessera::cuda
