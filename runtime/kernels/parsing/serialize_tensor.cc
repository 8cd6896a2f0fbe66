// Tensors as serialized protos: SerializeTensor, ParseTensor.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera {
namespace {

class SerializeTensorKernel : public OpKernel {
 public:
  explicit SerializeTensorKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    tensorflow::TensorProto proto;
    // Strings of all forms go to string_val; other values as bytes.
    RETURN_IF_ERROR(TensorToProto(ctx.input(0), TensorProtoForm::kTensorContent, &proto));
    std::string serialized;
    if (!proto.SerializeToString(&serialized)) {
      return absl::InvalidArgumentError("the tensor is too large for a proto, 2 GiB");
    }
    return SetScalarOutput(ctx, 0, std::move(serialized));
  }
};
REGISTER_KERNEL("SerializeTensor", kCpu, SerializeTensorKernel);

class ParseTensorKernel : public OpKernel {
 public:
  explicit ParseTensorKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& serialized = ctx.input(0);
    if (serialized.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("serialized must be a scalar, has shape ", serialized.shape().ToString()));
    }
    tensorflow::TensorProto proto;
    if (!proto.ParseFromString(serialized.scalar<std::string>())) {
      return absl::InvalidArgumentError("the string is not a serialized TensorProto");
    }
    ASSIGN_OR_RETURN(Tensor tensor,
                     TensorFromProto(proto, kMaxTensorProtoBytes, ctx.host_allocator()));
    if (tensor.dtype() != ctx.output_type(0)) {
      return absl::InvalidArgumentError(absl::StrCat("the tensor holds ", DTypeName(tensor.dtype()),
                                                     ", out_type is ",
                                                     DTypeName(ctx.output_type(0))));
    }
    ctx.set_output(0, std::move(tensor));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ParseTensor", kCpu, ParseTensorKernel);

}  // namespace
}  // namespace tessera
