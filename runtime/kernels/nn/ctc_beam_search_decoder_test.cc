#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

absl::StatusCode CodeFor(const Shape& logits) {
  const std::vector<Tensor> inputs = {Tensor::Zeros(DType::kFloat, logits).value(),
                                      Tensor::Zeros(DType::kInt32, {logits.dim(1)}).value()};
  auto runner = KernelRunner::Create("CTCBeamSearchDecoder", inputs,
                                     {{"beam_width", int64_t{3}}, {"top_paths", int64_t{1}}})
                    .value();
  return runner.Run(inputs).status().code();
}

TEST(CtcBeamSearchDecoderTest, LogitsAreNotEmpty) {
  EXPECT_EQ(CodeFor({2, 1, 3}), absl::StatusCode::kOk);
  EXPECT_EQ(CodeFor({0, 1, 3}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeFor({2, 0, 3}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeFor({2, 1, 0}), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
