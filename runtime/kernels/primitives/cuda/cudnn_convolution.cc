#include "runtime/kernels/primitives/cuda/cudnn_convolution.h"

#include <optional>
#include <utility>
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
absl::StatusOr<Descriptor> MakeTensor(const Cudnn& cudnn, cudnnDataType_t type, int64_t id,
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
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id));
  RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment));
  RETURN_IF_ERROR(
      tensor.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, id >= kFirstVirtual));
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

// Describes a function of one or two elements.
absl::StatusOr<Descriptor> MakeFunction(const Cudnn& cudnn, cudnnPointwiseMode_t mode,
                                        const PostOps& post_ops) {
  ASSIGN_OR_RETURN(Descriptor function,
                   Descriptor::Make(cudnn, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  RETURN_IF_ERROR(function.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode));
  RETURN_IF_ERROR(
      function.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  if (mode == CUDNN_POINTWISE_RELU_FWD) {
    RETURN_IF_ERROR(function.Set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 0.0));
    if (post_ops.activation == Activation::kRelu6) {
      RETURN_IF_ERROR(function.Set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 6.0));
    }
    if (post_ops.activation == Activation::kLeakyRelu) {
      RETURN_IF_ERROR(function.Set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE,
                                   static_cast<double>(post_ops.alpha)));
    }
  }
  RETURN_IF_ERROR(function.Finalize("a function of elements"));
  return function;
}

cudnnPointwiseMode_t ModeOf(Activation activation) {
  switch (activation) {
    case Activation::kElu:
      return CUDNN_POINTWISE_ELU_FWD;
    case Activation::kTanh:
      return CUDNN_POINTWISE_TANH_FWD;
    case Activation::kSigmoid:
      return CUDNN_POINTWISE_SIGMOID_FWD;
    case Activation::kGeluErf:
      return CUDNN_POINTWISE_GELU_FWD;
    case Activation::kGeluTanh:
      return CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
    case Activation::kNone:
    case Activation::kRelu:
    case Activation::kRelu6:
    case Activation::kLeakyRelu:
      break;
  }
  return CUDNN_POINTWISE_RELU_FWD;
}

// Builds the graph of one problem, operation by operation.
class GraphBuilder {
 public:
  GraphBuilder(const Cudnn& cudnn, const Problem& problem, cudnnDataType_t type)
      : cudnn_(cudnn),
        shape_(problem.shape),
        post_ops_(problem.post_ops),
        type_(type),
        steps_left_((post_ops_.add ? 1 : 0) + (post_ops_.bias ? 1 : 0) +
                    (post_ops_.activation != Activation::kNone ? 1 : 0)) {}

  absl::StatusOr<Operations> Build(ConvolutionDirection direction) && {
    RETURN_IF_ERROR(AddConvolution(direction));
    if (post_ops_.add) {
      RETURN_IF_ERROR(AddFunction(CUDNN_POINTWISE_ADD, Output(shape_, kAddend)));
    }
    if (post_ops_.bias) {
      ConvolutionShape one = shape_;
      one.batch = 1;
      one.output = SpatialDims(shape_.output.size(), 1);
      RETURN_IF_ERROR(AddFunction(CUDNN_POINTWISE_ADD, Output(one, kBias)));
    }
    if (post_ops_.activation != Activation::kNone) {
      RETURN_IF_ERROR(AddFunction(ModeOf(post_ops_.activation), std::nullopt));
    }
    return std::move(operations_);
  }

 private:
  // The tensor of output images. Results that stay inside of the graph are floats.
  absl::StatusOr<Descriptor> Output(const ConvolutionShape& shape, int64_t id) const {
    const cudnnDataType_t type = id >= kFirstVirtual ? CUDNN_DATA_FLOAT : type_;
    return MakeTensor(cudnn_, type, id, shape.batch, shape.out_channels, shape.output,
                      shape.channels_first);
  }
  absl::StatusOr<Descriptor> NextResult() const {
    return Output(shape_, steps_left_ == 0 ? int64_t{kY} : kFirstVirtual + steps_left_);
  }

  absl::Status AddConvolution(ConvolutionDirection direction) {
    const ConvolutionShape& s = shape_;
    ASSIGN_OR_RETURN(Descriptor x, MakeTensor(cudnn_, type_, kX, s.batch, s.in_channels, s.input,
                                              s.channels_first));
    // Filters are [out_channels, positions, in_channels of a group] in cuDNN's memory.
    ASSIGN_OR_RETURN(Descriptor filter,
                     MakeTensor(cudnn_, type_, kFilter, s.out_channels, s.in_channels / s.groups,
                                s.filter, /*channels_first=*/false));
    ASSIGN_OR_RETURN(Descriptor y, NextResult());
    ASSIGN_OR_RETURN(Descriptor geometry, MakeGeometry(cudnn_, s));
    const OperationNames names = NamesOf(direction);
    ASSIGN_OR_RETURN(Descriptor operation, Descriptor::Make(cudnn_, names.type));
    RETURN_IF_ERROR(operation.Set(names.x, x));
    RETURN_IF_ERROR(operation.Set(names.filter, filter));
    RETURN_IF_ERROR(operation.Set(names.y, y));
    RETURN_IF_ERROR(operation.Set(names.geometry, geometry));
    RETURN_IF_ERROR(operation.Set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f));
    RETURN_IF_ERROR(operation.Set(names.beta, CUDNN_TYPE_FLOAT, 0.0f));
    RETURN_IF_ERROR(operation.Finalize("the operation of a convolution"));
    Keep(std::move(x));
    Keep(std::move(filter));
    Keep(std::move(geometry));
    last_ = Keep(std::move(y));
    operations_.handles.push_back(Keep(std::move(operation)));
    return absl::OkStatus();
  }

  // Applies a function to the last result and, if there is one, another tensor.
  absl::Status AddFunction(cudnnPointwiseMode_t mode,
                           std::optional<absl::StatusOr<Descriptor>> other) {
    --steps_left_;
    ASSIGN_OR_RETURN(Descriptor function, MakeFunction(cudnn_, mode, post_ops_));
    ASSIGN_OR_RETURN(Descriptor y, NextResult());
    ASSIGN_OR_RETURN(Descriptor operation,
                     Descriptor::Make(cudnn_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function));
    RETURN_IF_ERROR(
        operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, last_));
    if (other.has_value()) {
      RETURN_IF_ERROR(other->status());
      RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, **other));
      Keep(**std::move(other));
    }
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y));
    RETURN_IF_ERROR(operation.Finalize("an operation of elements"));
    Keep(std::move(function));
    last_ = Keep(std::move(y));
    operations_.handles.push_back(Keep(std::move(operation)));
    return absl::OkStatus();
  }

  cudnnBackendDescriptor_t Keep(Descriptor descriptor) {
    operations_.descriptors.push_back(std::move(descriptor));
    return operations_.descriptors.back().handle();
  }

  const Cudnn& cudnn_;
  const ConvolutionShape& shape_;
  const PostOps& post_ops_;
  const cudnnDataType_t type_;
  int steps_left_;  // that follow what is added
  cudnnBackendDescriptor_t last_ = nullptr;
  Operations operations_;
};

}  // namespace

absl::StatusOr<Operations> MakeOperations(const Cudnn& cudnn, const Problem& problem,
                                          cudnnDataType_t type) {
  return GraphBuilder(cudnn, problem, type).Build(problem.direction);
}

}  // namespace tessera::cuda
