// Names of the files of a checkpoint in shards.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

TEST(ShardedFilenameTest, NumbersHaveFiveDigits) {
  const Tensor base = Tensor::Scalar("model"), shards = Tensor::Scalar<int32_t>(12);
  EXPECT_EQ(
      RunOp("ShardedFilename", {base, Tensor::Scalar<int32_t>(3), shards})->scalar<std::string>(),
      "model-00003-of-00012");
  EXPECT_EQ(RunOp("ShardedFilespec", {base, shards})->scalar<std::string>(),
            "model-?????"
            "-of-00012");  // apart, because ??- is a trigraph
}

TEST(ShardedFilenameTest, OneElementIsNoScalarIfItHasDimensions) {
  const Tensor base = Tensor::Scalar("model"), number = Tensor::Scalar<int32_t>(1);
  const Tensor bases = Tensor::Of<std::string>({1, 1}, {"model"});
  const Tensor numbers = Tensor::Vector<int32_t>({1});
  const auto code = [](absl::string_view op, std::vector<Tensor> inputs) {
    return RunOp(op, std::move(inputs)).status().code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code("ShardedFilename", {bases, number, number}), kInvalid);
  EXPECT_EQ(code("ShardedFilename", {base, numbers, number}), kInvalid);
  EXPECT_EQ(code("ShardedFilename", {base, number, numbers}), kInvalid);
  EXPECT_EQ(code("ShardedFilespec", {bases, number}), kInvalid);
  EXPECT_EQ(code("ShardedFilespec", {base, numbers}), kInvalid);
}

}  // namespace
}  // namespace tessera
