#include "runtime/kernels/primitives/primitive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

struct Square {
  using Function = int(int);
};
// A primitive without an implementation on the CPU.
struct Cube {
  using Function = int(int);
};
REGISTER_PRIMITIVE(Square, kCpu, [](int x) { return x * x; });
REGISTER_PRIMITIVE(Square, "OTHER", [](int x) { return -x * x; });
REGISTER_PRIMITIVE(Cube, "OTHER", [](int x) { return -x * x * x; });

REGISTER_OP("SquareOfThree").Output("y: int32");
REGISTER_OP("CubeOfThree").Output("y: int32");
REGISTER_OP("OfAnyType").Input("x: T").Output("y: int32").Attr("T: type");

template <typename P>
class OfThreeKernel : public OpKernel {
 public:
  explicit OfThreeKernel(const KernelBuild& build) : primitive_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<int32_t>(primitive_(3)));
    return absl::OkStatus();
  }

 private:
  const Primitive<P> primitive_;
};
REGISTER_KERNEL("SquareOfThree", DevicesOf<Square>, OfThreeKernel<Square>);
REGISTER_KERNEL("OfAnyType", DevicesOf<Square>, OfThreeKernel<Square>);
REGISTER_KERNEL("CubeOfThree", (DevicesOf<Square, Cube>), OfThreeKernel<Cube>);

// Returns the result of the op on a device of type `device_type`.
absl::StatusOr<int32_t> RunOp(const char* op_name, absl::string_view device_type) {
  DeviceName name;
  name.type = std::string(device_type);
  name.id = 0;
  Device device(name, /*priority=*/0);
  const KernelBuild build(*OpRegistry::Global().Find(op_name), "node", {}, {}, {DType::kInt32},
                          &device, nullptr);
  ASSIGN_OR_RETURN(const std::unique_ptr<OpKernel> kernel, CreateKernel(build));
  StepContext step;
  KernelContext ctx(step, &device);
  Value output;
  const DType type = DType::kInt32;
  ctx.Bind(nullptr, {}, &output, {&type, 1});
  RETURN_IF_ERROR(kernel->Compute(ctx));
  return *output.tensor.data<int32_t>();
}

TEST(PrimitiveTest, IsTheOneOfTheKernelsDevice) {
  EXPECT_EQ(*RunOp("SquareOfThree", kCpu), 9);
  EXPECT_EQ(*RunOp("SquareOfThree", "OTHER"), -9);
}

TEST(PrimitiveTest, KernelsExistWhereAllTheirPrimitivesDo) {
  EXPECT_EQ(*RunOp("CubeOfThree", "OTHER"), -27);
  const absl::Status on_cpu = RunOp("CubeOfThree", kCpu).status();
  EXPECT_EQ(on_cpu.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(on_cpu.message(), HasSubstr("CubeOfThree has no kernel on CPU"));
  EXPECT_FALSE(KernelRegistry::Global().HasKernel("SquareOfThree", "THIRD"));
}

TEST(PrimitiveTest, OnlyTheCpusWorkOnElementsThatOnlyTheHostHolds) {
  const auto find = [](absl::string_view device_type, DType dtype) {
    return KernelRegistry::Global().Find("OfAnyType", device_type, {{"T", dtype}}).status().code();
  };
  EXPECT_EQ(find("OTHER", DType::kFloat), absl::StatusCode::kOk);
  EXPECT_EQ(find(kCpu, DType::kString), absl::StatusCode::kOk);
  EXPECT_EQ(find("OTHER", DType::kString), absl::StatusCode::kNotFound);
  EXPECT_EQ(find("OTHER", DType::kVariant), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tessera
