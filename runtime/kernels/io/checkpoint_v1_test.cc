#include <unistd.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The vector s as two slices, and the strings "text", by SaveSlices of TensorFlow 2.21.
constexpr char kTheirs[] =
    "AAA1CjMKGQoBcxIEEgIIAxgBIgQKAhABIgYKBAgBEAIKEgoEdGV4dBIEEgIIARgHIgIKABICCAEACBMAcwABAQGA"
    "gRIRCgFzEgQKAhABGgYqBAAAgD8GAhmBghIXCgFzEgYKBAgBEAIaCioIAAAAQAAAQEABChJ0ZXh0AAEBAYB/EhAK"
    "BHRleHQSAgoAGgRCAmFiAAAAAAEAAAAAzLufMAAAAAABAAAAAMDyobAAAQMBAJsBAAAAAAEAAAAAtkxkrKABCK0B"
    "DwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABX+4CLJHVH2w==";

std::string Path(const char* name) {
  return JoinPath(::testing::TempDir(), absl::StrCat(name, ".", ::getpid()));
}

Tensor Text(const std::string& text) { return Tensor::Scalar(text); }

TEST(CheckpointV1OpsTest, TensorFlowsFileIsRestored) {
  std::string file;
  ASSERT_TRUE(absl::Base64Unescape(kTheirs, &file));
  const std::string path = Path("theirs");
  ASSERT_TRUE(WriteFileAtomically(path, file).ok());
  const auto s = RunOp("Restore", {Text(path), Text("s")}, {{"dt", DType::kFloat}});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_THAT(s->flat<float>(), ElementsAre(1, 2, 3));
  const auto text = RunOp("Restore", {Text(path), Text("text")}, {{"dt", DType::kString}});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->flat<std::string>(), ElementsAre("ab"));
  const auto part =
      RunOp("RestoreSlice", {Text(path), Text("s"), Text("3 0,2")}, {{"dt", DType::kFloat}});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(part->flat<float>(), ElementsAre(1, 2));
}

TEST(CheckpointV1OpsTest, RestoreV2ReadsIt) {
  std::string file;
  ASSERT_TRUE(absl::Base64Unescape(kTheirs, &file));
  const std::string path = Path("theirs");
  ASSERT_TRUE(WriteFileAtomically(path, file).ok());
  const auto restore = [](const std::string& prefix, const std::string& name,
                          const std::string& slice) {
    return RunOp(
        "RestoreV2",
        {Text(prefix), Tensor::Vector<std::string>({name}), Tensor::Vector<std::string>({slice})},
        {{"dtypes", std::vector<DType>{DType::kFloat}}});
  };
  const auto s = restore(path, "s", "");
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_THAT(s->flat<float>(), ElementsAre(1, 2, 3));
  const auto part = restore(path, "s", "3 1,2");
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(part->flat<float>(), ElementsAre(2, 3));
  EXPECT_TRUE(absl::IsNotFound(restore(path, "none", "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(restore(path, "text", "").status()));
  // Errors name the index if there is neither kind of checkpoint.
  for (const std::string& prefix : {Path("none"), ::testing::TempDir()}) {
    const absl::Status status = restore(prefix, "s", "").status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(".index"));
  }
}

TEST(CheckpointV1OpsTest, WhatIsSavedIsRestored) {
  const std::string path = Path("ours");
  const Tensor whole = Tensor::Vector<int64_t>({5, -6});
  auto save = KernelRunner::Create("SaveSlices",
                                   {Text(path), Tensor::Vector<std::string>({"w", "p"}),
                                    Tensor::Vector<std::string>({"", "4 1,2"}), whole, whole},
                                   {{"T", std::vector<DType>{DType::kInt64, DType::kInt64}}});
  ASSERT_TRUE(save.ok()) << save.status();
  const auto saved = save->Run({Text(path), Tensor::Vector<std::string>({"w", "p"}),
                                Tensor::Vector<std::string>({"", "4 1,2"}), whole, whole});
  ASSERT_TRUE(saved.ok()) << saved.status();
  const auto w = RunOp("Restore", {Text(path), Text("w")}, {{"dt", DType::kInt64}});
  ASSERT_TRUE(w.ok()) << w.status();
  EXPECT_THAT(w->flat<int64_t>(), ElementsAre(5, -6));
  const auto p =
      RunOp("RestoreSlice", {Text(path), Text("p"), Text("4 2,1")}, {{"dt", DType::kInt64}});
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_THAT(p->flat<int64_t>(), ElementsAre(-6));
  EXPECT_EQ(RunOp("Restore", {Text(path), Text("p")}, {{"dt", DType::kInt64}}).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(RunOp("Restore", {Text(path), Text("w")}, {{"dt", DType::kFloat}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
