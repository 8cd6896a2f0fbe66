#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Returns the loss of a sequence of `steps` steps with `labels`, and its gradient.
absl::StatusOr<std::vector<Tensor>> Loss(const std::vector<int32_t>& labels, int32_t steps,
                                         AttrMap attrs) {
  const int64_t size = static_cast<int64_t>(labels.size());
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size; ++i) indices.insert(indices.end(), {0, i});
  std::vector<float> logits(6 * 5);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * i % 7) / 4;
  std::vector<Tensor> inputs = {
      Tensor::Of<float>(Shape{6, 1, 5}, logits), Tensor::Of<int64_t>(Shape{size, 2}, indices),
      Tensor::Of<int32_t>(Shape{size}, labels), Tensor::Of<int32_t>(Shape{1}, {steps})};
  absl::StatusOr<KernelRunner> runner = KernelRunner::Create("CTCLoss", inputs, std::move(attrs));
  if (!runner.ok()) return runner.status();
  return runner->Run(std::move(inputs));
}

TEST(CtcLossTest, MoreLabelsThanStepsAreAnErrorUnlessTheyAreIgnored) {
  EXPECT_EQ(Loss({0, 1, 2, 3}, 3, {}).status().code(), absl::StatusCode::kInvalidArgument);
  // Labels count before repeated ones are left out, and whether or not they are blank.
  for (const std::vector<int32_t>& labels :
       {std::vector<int32_t>{0, 1, 2, 3}, std::vector<int32_t>{1, 1, 1, 2},
        std::vector<int32_t>{1, 2, 4, 4}}) {
    for (const bool collapse : {false, true}) {
      const std::vector<Tensor> outputs = Loss(labels, 3,
                                               {{"ignore_longer_outputs_than_inputs", true},
                                                {"preprocess_collapse_repeated", collapse}})
                                              .value();
      EXPECT_EQ(outputs[0].data<float>()[0], 0);
      EXPECT_THAT(outputs[1].flat<float>(), testing::Each(0.f));
    }
  }
}

TEST(CtcLossTest, WithoutTimeThereIsNoLoss) {
  const std::vector<Tensor> inputs = {
      Tensor::Zeros(DType::kFloat, {0, 1, 5}).value(), Tensor::Of<int64_t>(Shape{1, 2}, {0, 0}),
      Tensor::Of<int32_t>(Shape{1}, {2}), Tensor::Of<int32_t>(Shape{1}, {0})};
  KernelRunner runner =
      KernelRunner::Create("CTCLoss", inputs, {{"ignore_longer_outputs_than_inputs", true}})
          .value();
  EXPECT_EQ(runner.Run(inputs).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CtcLossTest, LabelsWithoutAPathHaveAnInfiniteLoss) {
  // Equal neighbours need a blank between them: four steps.
  const AttrMap attrs = {{"ignore_longer_outputs_than_inputs", true}};
  EXPECT_EQ(Loss({1, 1, 2}, 3, attrs).value()[0].data<float>()[0],
            std::numeric_limits<float>::infinity());
  EXPECT_LT(Loss({1, 1, 2}, 4, attrs).value()[0].data<float>()[0], 100);
}

}  // namespace
}  // namespace tessera
