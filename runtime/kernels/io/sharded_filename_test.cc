// Names of the files of a checkpoint in shards, and what is wrong with the arguments of RestoreV2
// and MergeV2Checkpoints.
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
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

// Saves the float "a" and the integer "b" as a checkpoint, and returns its prefix.
std::string SaveTwo(absl::string_view name) {
  const std::string prefix = JoinPath(::testing::TempDir(), absl::StrCat(name, ".", ::getpid()));
  const std::vector<Tensor> inputs = {Tensor::Scalar(prefix),
                                      Tensor::Vector<std::string>({"a", "b"}),
                                      Tensor::Vector<std::string>({"", ""}),
                                      Tensor::Vector<float>({1, 2}), Tensor::Scalar<int32_t>(3)};
  const auto saved =
      KernelRunner::Create("SaveV2", inputs,
                           {{"dtypes", std::vector<DType>{DType::kFloat, DType::kInt32}}})
          .value()
          .Run(inputs);
  EXPECT_TRUE(saved.ok()) << saved.status();
  return prefix;
}

absl::Status Restore(const Tensor& prefix, std::vector<std::string> names,
                     std::vector<std::string> slices, std::vector<DType> dtypes) {
  const std::vector<Tensor> inputs = {prefix, Tensor::Vector<std::string>(names),
                                      Tensor::Vector<std::string>(slices)};
  return KernelRunner::Create("RestoreV2", inputs, {{"dtypes", std::move(dtypes)}})
      .value()
      .Run(inputs)
      .status();
}

TEST(RestoreV2Test, MissingTensorsAreToldBeforeOtherTypesAndBadSlices) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  using ::testing::Not;
  constexpr DType kFloat = DType::kFloat, kInt32 = DType::kInt32;
  const Tensor prefix = Tensor::Scalar(SaveTwo("errors"));
  const auto missing =
      Restore(prefix, {"a", "b", "z", "y"}, {"x", "", "", ""}, {kFloat, kFloat, kFloat, kFloat});
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("'z'"));
  const auto types = Restore(prefix, {"b", "a"}, {"", "x"}, {kFloat, kInt32});
  EXPECT_EQ(types.code(), absl::StatusCode::kInvalidArgument) << types;
  EXPECT_THAT(std::string(types.message()),
              AllOf(HasSubstr("'a'"), HasSubstr("'b'"), Not(HasSubstr("slice"))));
  const auto slices = Restore(prefix, {"b", "a"}, {"2 0,1", "3 0,1"}, {kInt32, kFloat});
  EXPECT_EQ(slices.code(), absl::StatusCode::kInvalidArgument) << slices;
  EXPECT_THAT(std::string(slices.message()), HasSubstr("'a'"));
}

TEST(RestoreV2Test, ThePrefixMayHaveDimensions) {
  const Tensor prefix = Tensor::Of<std::string>({1, 1}, {SaveTwo("prefix")});
  const auto restored = Restore(prefix, {"a"}, {""}, {DType::kFloat});
  EXPECT_TRUE(restored.ok()) << restored;
}

TEST(MergeV2CheckpointsTest, TheDestinationIsAScalar) {
  const Tensor parts = Tensor::Vector<std::string>({SaveTwo("part")});
  const auto merge = [&](const Tensor& destination) {
    const std::vector<Tensor> inputs = {parts, destination};
    return KernelRunner::Create("MergeV2Checkpoints", inputs).value().Run(inputs).status();
  };
  const std::string merged = JoinPath(::testing::TempDir(), absl::StrCat("merged.", ::getpid()));
  EXPECT_EQ(merge(Tensor::Vector<std::string>({merged})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(merge(Tensor::Scalar(merged)).ok());
}

}  // namespace
}  // namespace tessera
