#include "runtime/kernels/primitives/cuda/cudnn_convolution.h"

#include <vector>

namespace tessera::cuda {

absl::Status CudnnStatus(const Cudnn& cudnn, cudnnStatus_t status, absl::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char detail[256] = "";
  cudnn.cudnnGetLastErrorString(detail, sizeof(detail));
  return absl::InternalError(
      absl::StrCat("cuDNN, ", what, ": ", cudnn.cudnnGetErrorString(status), " ", detail));
}

namespace {

// Describes a tensor [first, channels, spatial...] by the distances of its elements: channels last,
// or before the spatial dimensions.
absl::StatusOr<Descriptor> MakeTensor(const Cudnn& cudnn, cudnnDataType_t type, TensorId id,
                                      int64_t first, int64_t channels, const SpatialDims& spatial,
                                      bool channels_first) {
  std::vector<int64_t> dims = {first, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  std::vector<int64_t> strides(dims.size());
  int64_t step = channels_first ? 1 : channels;
  for (size_t d = dims.size(); d-- > 2;) {
    strides[d] = step;
    step *= dims[d];
  }
  strides[1] = channels_first ? step : 1;
  strides[0] = channels_first ? step * channels : step;
  ASSIGN_OR_RETURN(Descriptor tensor, Descriptor::Make(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
  RETURN_IF_ERROR(
      tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, absl::MakeConstSpan(dims)));
  RETURN_IF_ERROR(
      tensor.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, absl::MakeConstSpan(strides)));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, int64_t{id}));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment));
  RETURN_IF_ERROR(tensor.Finalize("a tensor"));
  return tensor;
}

absl::StatusOr<Descriptor> MakeGeometry(const Cudnn& cudnn, const ConvolutionShape& shape) {
  ASSIGN_OR_RETURN(Descriptor geometry,
                   Descriptor::Make(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  RETURN_IF_ERROR(
      geometry.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  RETURN_IF_ERROR(geometry.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                               CUDNN_CROSS_CORRELATION));
  RETURN_IF_ERROR(geometry.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
                               static_cast<int64_t>(shape.filter.size())));
  for (const auto& [name, values] :
       {std::pair{CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &shape.pad_before},
        std::pair{CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &shape.pad_after},
        std::pair{CUDNN_ATTR_CONVOLUTION_DILATIONS, &shape.dilations},
        std::pair{CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &shape.strides}}) {
    RETURN_IF_ERROR(geometry.Set(name, CUDNN_TYPE_INT64, absl::MakeConstSpan(*values)));
  }
  RETURN_IF_ERROR(geometry.Finalize("a convolution"));
  return geometry;
}

// The attributes of the operation of one direction.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, filter, y, geometry, alpha, beta;
};
OperationNames NamesOf(ConvolutionDirection direction) {
  switch (direction) {
    case ConvolutionDirection::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionDirection::kInputGradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionDirection::kFilterGradient:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

}  // namespace

absl::StatusOr<Operation> MakeOperation(const Cudnn& cudnn, const Problem& p,
                                        cudnnDataType_t type) {
  const ConvolutionShape& s = p.shape;
  ASSIGN_OR_RETURN(Descriptor x,
                   MakeTensor(cudnn, type, kX, s.batch, s.in_channels, s.input, s.channels_first));
  // Filters are [out_channels, positions, in_channels of a group] in cuDNN's memory.
  ASSIGN_OR_RETURN(Descriptor filter,
                   MakeTensor(cudnn, type, kFilter, s.out_channels, s.in_channels / s.groups,
                              s.filter, /*channels_first=*/false));
  ASSIGN_OR_RETURN(Descriptor y, MakeTensor(cudnn, type, kY, s.batch, s.out_channels, s.output,
                                            s.channels_first));
  ASSIGN_OR_RETURN(Descriptor geometry, MakeGeometry(cudnn, s));
  const OperationNames names = NamesOf(p.direction);
  ASSIGN_OR_RETURN(Descriptor operation, Descriptor::Make(cudnn, names.type));
  RETURN_IF_ERROR(operation.Set(names.x, x));
  RETURN_IF_ERROR(operation.Set(names.filter, filter));
  RETURN_IF_ERROR(operation.Set(names.y, y));
  RETURN_IF_ERROR(operation.Set(names.geometry, geometry));
  RETURN_IF_ERROR(operation.Set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f));
  RETURN_IF_ERROR(operation.Set(names.beta, CUDNN_TYPE_FLOAT, 0.0f));
  RETURN_IF_ERROR(operation.Finalize("the operation of a convolution"));
  return Operation{std::move(x), std::move(filter), std::move(y), std::move(geometry),
                   std::move(operation)};
}

}  // namespace tessera::cuda
