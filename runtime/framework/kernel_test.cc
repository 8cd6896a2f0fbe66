#include "runtime/framework/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

REGISTER_OP("KernelTestOp").Input("x: T").Output("y: T").Attr("T: type").Attr("n: int = 1");

template <int kWhich>
class TestKernel : public OpKernel {
 public:
  explicit TestKernel(const KernelBuild& build) {
    if (build.attr<int64_t>("n") < 0) build.Fail(absl::InvalidArgumentError("n is negative"));
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor* const out, ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    out->flat<float>()[0] = kWhich;
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("KernelTestOp", kCpu, TestKernel<1>).TypeConstraint<float>("T");
REGISTER_KERNEL("KernelTestOp", kCpu, TestKernel<2>).TypeConstraint<float>("T").Priority(1);
REGISTER_KERNEL("KernelTestOp", kCpu, TestKernel<3>).Label("special");

absl::StatusOr<std::unique_ptr<OpKernel>> Create(AttrMap attrs) {
  const OpDef* op = OpRegistry::Global().Find("KernelTestOp");
  RETURN_IF_ERROR(CompleteAttrs(*op, &attrs));
  return CreateKernel(
      KernelBuild(*op, "node", attrs, {DType::kFloat}, {DType::kFloat}, nullptr, nullptr));
}

// Runs the kernel on one input; returns its output and leaves the input's value in *value.
float RunOn(OpKernel& kernel, Value* value, bool last_use, bool* in_place) {
  StepContext step;
  KernelContext ctx(step, nullptr);
  const KernelContext::InputSlot slot{0, last_use};
  const DType type = DType::kFloat;
  const char* const before = value->tensor.raw();
  Value output;
  ctx.Bind(value, {&slot, 1}, &output, {&type, 1});
  EXPECT_TRUE(kernel.Compute(ctx).ok());
  *in_place = output.tensor.raw() == before;
  return output.tensor.flat<float>()[0];
}

TEST(KernelRegistryTest, ChoosesByTypePriorityAndLabel) {
  bool in_place;
  Value value{Tensor::Scalar(0.f), nullptr};
  EXPECT_EQ(RunOn(**Create({{"T", DType::kFloat}}), &value, false, &in_place), 2);
  EXPECT_EQ(
      RunOn(**Create({{"T", DType::kFloat}, {"_kernel", "special"}}), &value, false, &in_place), 3);
}

TEST(KernelContextTest, KnowsWhenTheStepHasEnded) {
  CancellationManager cancellation;
  StepContext step;
  step.cancellation = &cancellation;
  const KernelContext ctx(step, nullptr);
  EXPECT_TRUE(ctx.CheckGoingOn().ok());
  step.deadline = absl::Now() - absl::Seconds(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(ctx.CheckGoingOn()));
  step.deadline = absl::Now() + absl::Hours(1);
  EXPECT_TRUE(ctx.CheckGoingOn().ok());
  cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(ctx.CheckGoingOn()));
}

TEST(KernelRegistryTest, SaysWhichTypesThereAre) {
  const absl::Status status = Create({{"T", DType::kInt32}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("T=int32"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("T in {float}"));
}

TEST(KernelRegistryTest, AConstructorsFailureIsTheResult) {
  EXPECT_EQ(Create({{"T", DType::kFloat}, {"n", -1}}).status().message(), "n is negative");
}

TEST(KernelContextTest, ForwardsOnlyWhatNobodyElseHolds) {
  auto kernel = *Create({{"T", DType::kFloat}});
  bool in_place;
  Value value{Tensor::Scalar(5.f), nullptr};
  RunOn(*kernel, &value, /*last_use=*/false, &in_place);
  EXPECT_FALSE(in_place);
  const Tensor other_holder = value.tensor;
  RunOn(*kernel, &value, /*last_use=*/true, &in_place);
  EXPECT_FALSE(in_place);
  EXPECT_EQ(other_holder.scalar<float>(), 5);
  Value sole{Tensor::Scalar(5.f), nullptr};
  RunOn(*kernel, &sole, /*last_use=*/true, &in_place);
  EXPECT_TRUE(in_place);
}

TEST(KernelContextTest, ForwardsUnderAnotherShapeButNotToAnotherSize) {
  StepContext step;
  KernelContext ctx(step, nullptr);
  const KernelContext::InputSlot slot{0, 1};
  const DType type = DType::kFloat;
  Value input{Tensor::Vector<float>({1, 2, 3, 4, 5, 6}), nullptr}, output;
  const char* const before = input.tensor.raw();
  ctx.Bind(&input, {&slot, 1}, &output, {&type, 1});
  ASSERT_TRUE(ctx.ForwardOrAllocateOutput({0}, 0, {2, 2}).ok());
  EXPECT_NE(output.tensor.raw(), before);
  EXPECT_TRUE(input.tensor.has_value());
  const absl::StatusOr<Tensor*> forwarded = ctx.ForwardOrAllocateOutput({0}, 0, {3, 2});
  ASSERT_TRUE(forwarded.ok()) << forwarded.status();
  EXPECT_EQ((*forwarded)->raw(), before);
  EXPECT_EQ((*forwarded)->shape(), Shape({3, 2}));
  EXPECT_FALSE(input.tensor.has_value());
}

}  // namespace
}  // namespace tessera
