// Which ops the accelerator for tests has kernels of its own for, besides those that are made of
// its primitives (primitives.cc). Inputs that decide on the shape of an output are in host memory,
// as those of TensorFlow's kernels for GPUs are. An op whose output shape depends on the elements
// of other inputs (Where, Unique) has no kernel here.
#include "runtime/base/status.h"
#include "runtime/device/testing/deferred_kernel.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/ops/nn_shapes.h"

namespace tessera {
namespace {

// The op leaves the size of its scratch memory open; the CPU's kernel needs none.
absl::Status BatchNormWithoutScratch(ShapeContext& c) {
  RETURN_IF_ERROR(shape::BatchNorm(c));
  if (c.num_outputs() > 5) c.set_output(5, PartialShape({0}));
  return absl::OkStatus();
}

class BatchNormKernel final : public DeferredKernel {
 public:
  explicit BatchNormKernel(const KernelBuild& build)
      : DeferredKernel(build, BatchNormWithoutScratch) {}
};

using Types = std::vector<DType>;
const Types kFloats{DType::kFloat, DType::kDouble};
const Types kNumbers{DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64};
const Types kAll{DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64, DType::kBool};

#define REGISTER_DEFERRED(op) REGISTER_KERNEL(op, kTestAccelerator, DeferredKernel)

// Elementwise, with one operand.
REGISTER_DEFERRED("Abs").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Cast").TypeConstraint("SrcT", kAll).TypeConstraint("DstT", kAll);
REGISTER_DEFERRED("Ceil").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Cos").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Elu").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Erf").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Erfc").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Exp").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Floor").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("LeakyRelu").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Log").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("LogicalNot");
REGISTER_DEFERRED("Neg").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Relu").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Relu6").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Rsqrt").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Selu").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Sigmoid").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Softplus").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Sqrt").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Square").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Tanh").TypeConstraint("T", kFloats);

// Elementwise, with operands that broadcast.
REGISTER_DEFERRED("Add").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("AddV2").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Div").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Equal").TypeConstraint("T", kAll);
REGISTER_DEFERRED("FloorDiv").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("FloorMod").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Greater").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("GreaterEqual").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Less").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("LessEqual").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("LogicalAnd");
REGISTER_DEFERRED("LogicalOr");
REGISTER_DEFERRED("Maximum").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Minimum").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Mul").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("NotEqual").TypeConstraint("T", kAll);
REGISTER_DEFERRED("Pow").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("RealDiv").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("SquaredDifference").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Sub").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Select").TypeConstraint("T", kAll);
REGISTER_DEFERRED("SelectV2").TypeConstraint("T", kAll);

// Products, convolutions and what goes with them.
REGISTER_DEFERRED("MatMul").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("BatchMatMul").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("BatchMatMulV2").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("Conv2D").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("DepthwiseConv2dNative").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("BiasAdd").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("MaxPool").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("AvgPool").TypeConstraint("T", kFloats);
REGISTER_KERNEL("FusedBatchNorm", kTestAccelerator, BatchNormKernel).TypeConstraint<float>("T");
REGISTER_KERNEL("FusedBatchNormV3", kTestAccelerator, BatchNormKernel)
    .TypeConstraint<float>("T")
    .TypeConstraint<float>("U");
REGISTER_DEFERRED("Softmax").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("LogSoftmax").TypeConstraint("T", kFloats);

// Reductions.
REGISTER_DEFERRED("All").HostMemory("reduction_indices");
REGISTER_DEFERRED("Any").HostMemory("reduction_indices");
REGISTER_DEFERRED("Max").TypeConstraint("T", kNumbers).HostMemory("reduction_indices");
REGISTER_DEFERRED("Mean").TypeConstraint("T", kNumbers).HostMemory("reduction_indices");
REGISTER_DEFERRED("Min").TypeConstraint("T", kNumbers).HostMemory("reduction_indices");
REGISTER_DEFERRED("Prod").TypeConstraint("T", kNumbers).HostMemory("reduction_indices");
REGISTER_DEFERRED("Sum").TypeConstraint("T", kNumbers).HostMemory("reduction_indices");
REGISTER_DEFERRED("Cumsum").TypeConstraint("T", kNumbers).HostMemory("axis");
REGISTER_DEFERRED("ArgMax").TypeConstraint("T", kNumbers).HostMemory("dimension");
REGISTER_DEFERRED("L2Loss").TypeConstraint("T", kFloats);

// Gradients.
REGISTER_DEFERRED("ReluGrad").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Relu6Grad").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("SigmoidGrad").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("TanhGrad").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("BiasAddGrad").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("Conv2DBackpropFilter").TypeConstraint("T", kFloats).HostMemory("filter_sizes");
REGISTER_DEFERRED("MaxPoolGrad").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("AvgPoolGrad").TypeConstraint("T", kFloats).HostMemory("orig_input_shape");
REGISTER_DEFERRED("SoftmaxCrossEntropyWithLogits").TypeConstraint("T", kFloats);
REGISTER_DEFERRED("SparseSoftmaxCrossEntropyWithLogits").TypeConstraint("T", kFloats);

// Variables.
REGISTER_DEFERRED("AssignAddVariableOp").TypeConstraint("dtype", kNumbers).HostMemory("resource");
REGISTER_DEFERRED("AssignSubVariableOp").TypeConstraint("dtype", kNumbers).HostMemory("resource");
REGISTER_DEFERRED("AssignAdd").TypeConstraint("T", kNumbers);
REGISTER_DEFERRED("AssignSub").TypeConstraint("T", kNumbers);

}  // namespace
}  // namespace tessera
