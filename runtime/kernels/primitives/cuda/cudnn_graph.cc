#include "runtime/kernels/primitives/cuda/cudnn_graph.h"

namespace tessera::cuda {
namespace {

absl::StatusOr<Descriptor> StartTensor(const Cudnn& cudnn, cudnnDataType_t type, int64_t id,
                                       absl::Span<const int64_t> dims,
                                       absl::Span<const int64_t> strides) {
  ASSIGN_OR_RETURN(Descriptor tensor, Descriptor::Make(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kCudnnAlignment));
  RETURN_IF_ERROR(
      tensor.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, id >= kFirstVirtual));
  return tensor;
}

}  // namespace

absl::Status CudnnStatus(const Cudnn& cudnn, cudnnStatus_t status, absl::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char detail[256] = "";
  cudnn.cudnnGetLastErrorString(detail, sizeof(detail));
  return absl::InternalError(
      absl::StrCat("cuDNN, ", what, ": ", cudnn.cudnnGetErrorString(status), " ", detail));
}

std::optional<cudnnDataType_t> CudnnTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return CUDNN_DATA_FLOAT;
    case DType::kHalf:
      return CUDNN_DATA_HALF;
    case DType::kBfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<Descriptor> MakeTensor(const Cudnn& cudnn, cudnnDataType_t type, int64_t id,
                                      absl::Span<const int64_t> dims,
                                      absl::Span<const int64_t> strides) {
  ASSIGN_OR_RETURN(Descriptor tensor, StartTensor(cudnn, type, id, dims, strides));
  RETURN_IF_ERROR(tensor.Finalize("a tensor"));
  return tensor;
}

absl::StatusOr<Descriptor> MakeScalar(const Cudnn& cudnn, int64_t id, int rank) {
  const std::vector<int64_t> ones(rank, 1);
  ASSIGN_OR_RETURN(Descriptor tensor, StartTensor(cudnn, CUDNN_DATA_FLOAT, id, ones, ones));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true));
  RETURN_IF_ERROR(tensor.Finalize("a scalar"));
  return tensor;
}

std::vector<int64_t> ImageStrides(absl::Span<const int64_t> dims, bool channels_first) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = channels_first ? 1 : dims[1];
  for (size_t d = dims.size(); d-- > 2;) {
    strides[d] = step;
    step *= dims[d];
  }
  strides[1] = channels_first ? step : 1;
  strides[0] = channels_first ? step * dims[1] : step;
  return strides;
}

cudnnBackendDescriptor_t CudnnGraph::Keep(Descriptor descriptor) {
  descriptors_.push_back(std::move(descriptor));
  return descriptors_.back().handle();
}

absl::Status CudnnGraph::AddOperation(Descriptor operation, absl::string_view what) {
  RETURN_IF_ERROR(operation.Finalize(what));
  operations_.push_back(Keep(std::move(operation)));
  return absl::OkStatus();
}

absl::StatusOr<cudnnBackendDescriptor_t> CudnnGraph::AddPointwise(Descriptor function,
                                                                  cudnnBackendDescriptor_t x,
                                                                  cudnnBackendDescriptor_t other,
                                                                  Descriptor y) {
  ASSIGN_OR_RETURN(Descriptor operation,
                   Descriptor::Make(*cudnn_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function));
  RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x));
  if (other != nullptr) {
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other));
  }
  RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y));
  RETURN_IF_ERROR(AddOperation(std::move(operation), "an operation of elements"));
  Keep(std::move(function));
  return Keep(std::move(y));
}

absl::StatusOr<Descriptor> StartFunction(const Cudnn& cudnn, cudnnPointwiseMode_t mode) {
  ASSIGN_OR_RETURN(Descriptor function,
                   Descriptor::Make(cudnn, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  RETURN_IF_ERROR(function.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode));
  RETURN_IF_ERROR(
      function.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  return function;
}

}  // namespace tessera::cuda
