#include "runtime/kernels/primitives/cuda/cudnn_convolution.h"

#include <optional>
#include <utility>
#include <vector>

namespace tessera::cuda {

namespace {

// Describes a tensor [first, channels, spatial...] in memory, or an intermediate result.
absl::StatusOr<Descriptor> MakeImages(const Cudnn& cudnn, cudnnDataType_t type, int64_t id,
                                      int64_t first, int64_t channels, const SpatialDims& spatial,
                                      bool channels_first) {
  std::vector<int64_t> dims = {first, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return MakeTensor(cudnn, type, id, dims, ImageStrides(dims, channels_first));
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

absl::StatusOr<Descriptor> MakeFunction(const Cudnn& cudnn, cudnnPointwiseMode_t mode,
                                        const PostOps& post_ops) {
  ASSIGN_OR_RETURN(Descriptor function, StartFunction(cudnn, mode));
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
    case Activation::kSwish:
      return CUDNN_POINTWISE_SWISH_FWD;
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
class ConvolutionBuilder {
 public:
  ConvolutionBuilder(const Cudnn& cudnn, const ConvolutionProblem& problem, cudnnDataType_t type)
      : cudnn_(cudnn),
        shape_(problem.shape),
        post_ops_(problem.post_ops),
        graph_(cudnn),
        type_(type),
        steps_left_((post_ops_.add ? 1 : 0) + (post_ops_.bias ? 1 : 0) +
                    (post_ops_.activation != Activation::kNone ? 1 : 0)) {}

  absl::StatusOr<CudnnGraph> Build(ConvolutionDirection direction) && {
    RETURN_IF_ERROR(AddConvolution(direction));
    if (post_ops_.add) {
      RETURN_IF_ERROR(
          AddFunction(CUDNN_POINTWISE_ADD, Output(shape_, ConvolutionProblem::kAddend)));
    }
    if (post_ops_.bias) {
      ConvolutionShape one = shape_;
      one.batch = 1;
      one.output = SpatialDims(shape_.output.size(), 1);
      RETURN_IF_ERROR(AddFunction(CUDNN_POINTWISE_ADD, Output(one, ConvolutionProblem::kBias)));
    }
    if (post_ops_.activation != Activation::kNone) {
      RETURN_IF_ERROR(AddFunction(ModeOf(post_ops_.activation), std::nullopt));
    }
    return std::move(graph_);
  }

 private:
  // The tensor of output images. Results that stay inside of the graph are floats.
  absl::StatusOr<Descriptor> Output(const ConvolutionShape& shape, int64_t id) const {
    const cudnnDataType_t type = id >= kFirstVirtual ? CUDNN_DATA_FLOAT : type_;
    return MakeImages(cudnn_, type, id, shape.batch, shape.out_channels, shape.output,
                      shape.channels_first);
  }
  absl::StatusOr<Descriptor> NextResult() const {
    return Output(shape_,
                  steps_left_ == 0 ? int64_t{ConvolutionProblem::kY} : kFirstVirtual + steps_left_);
  }

  absl::Status AddConvolution(ConvolutionDirection direction) {
    const ConvolutionShape& s = shape_;
    ASSIGN_OR_RETURN(Descriptor x, MakeImages(cudnn_, type_, ConvolutionProblem::kX, s.batch,
                                              s.in_channels, s.input, s.channels_first));
    // Filters are [out_channels, positions, in_channels of a group] in cuDNN's memory.
    ASSIGN_OR_RETURN(Descriptor filter,
                     MakeImages(cudnn_, type_, ConvolutionProblem::kFilter, s.out_channels,
                                s.in_channels / s.groups, s.filter, /*channels_first=*/false));
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
    RETURN_IF_ERROR(graph_.AddOperation(std::move(operation), "the operation of a convolution"));
    graph_.Keep(std::move(x));
    graph_.Keep(std::move(filter));
    graph_.Keep(std::move(geometry));
    last_ = graph_.Keep(std::move(y));
    return absl::OkStatus();
  }

  // Applies a function to the last result and, if there is one, another tensor.
  absl::Status AddFunction(cudnnPointwiseMode_t mode,
                           std::optional<absl::StatusOr<Descriptor>> other) {
    --steps_left_;
    ASSIGN_OR_RETURN(Descriptor function, MakeFunction(cudnn_, mode, post_ops_));
    ASSIGN_OR_RETURN(Descriptor y, NextResult());
    cudnnBackendDescriptor_t operand = nullptr;
    if (other.has_value()) {
      RETURN_IF_ERROR(other->status());
      operand = graph_.Keep(**std::move(other));
    }
    ASSIGN_OR_RETURN(last_, graph_.AddPointwise(std::move(function), last_, operand, std::move(y)));
    return absl::OkStatus();
  }

  const Cudnn& cudnn_;
  const ConvolutionShape& shape_;
  const PostOps& post_ops_;
  CudnnGraph graph_;
  const cudnnDataType_t type_;
  int steps_left_;  // that follow what is added
  cudnnBackendDescriptor_t last_ = nullptr;
};

}  // namespace

absl::StatusOr<CudnnGraph> DescribeConvolution(const Cudnn& cudnn,
                                               const ConvolutionProblem& problem,
                                               cudnnDataType_t type) {
  return ConvolutionBuilder(cudnn, problem, type).Build(problem.direction);
}

}  // namespace tessera::cuda
