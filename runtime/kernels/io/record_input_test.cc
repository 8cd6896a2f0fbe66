#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/tf_record.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// The path of two files with the records 0 to 9, as a pattern.
std::string Files() {
  const std::string folder = testing::TempDir();
  for (int file = 0; file < 2; ++file) {
    std::string bytes;
    for (int i = 0; i < 5; ++i) AppendTfRecord(absl::StrCat(file * 5 + i), &bytes);
    EXPECT_TRUE(WriteFileAtomically(JoinPath(folder, absl::StrCat("input-", file)), bytes).ok());
  }
  return JoinPath(folder, "input-*");
}

AttrMap Attrs(const std::string& pattern, int64_t seed = 7) {
  return {{"file_pattern", pattern},
          {"file_random_seed", seed},
          {"file_buffer_size", int64_t{4}},
          {"batch_size", int64_t{5}}};
}

// The records of two batches.
std::vector<std::string> Epoch(KernelRunner& runner) {
  std::vector<std::string> records;
  for (int batch = 0; batch < 2; ++batch) {
    const std::vector<Tensor> outputs = runner.Run({}).value();
    for (const std::string& record : outputs[0].flat<std::string>()) records.push_back(record);
  }
  return records;
}

TEST(RecordInputTest, AnEpochHasEachRecordOnceInAnOrderOfTheSeed) {
  const std::string pattern = Files();
  KernelRunner runner = KernelRunner::Create("RecordInput", {}, Attrs(pattern)).value();
  KernelRunner same = KernelRunner::Create("RecordInput", {}, Attrs(pattern)).value();
  KernelRunner other = KernelRunner::Create("RecordInput", {}, Attrs(pattern, 8)).value();
  const std::vector<std::string> first = Epoch(runner);
  std::vector<std::string> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_THAT(sorted, testing::ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_EQ(Epoch(same), first);
  EXPECT_NE(Epoch(other), first);
  const std::vector<std::string> second = Epoch(runner);
  EXPECT_NE(second, first);
  EXPECT_TRUE(std::is_permutation(second.begin(), second.end(), first.begin(), first.end()));
}

TEST(RecordInputTest, SaysWhatIsWrong) {
  KernelRunner missing =
      KernelRunner::Create("RecordInput", {}, Attrs("/nowhere/at/all-*")).value();
  EXPECT_EQ(missing.Run({}).status().code(), absl::StatusCode::kNotFound);
  const std::string empty = JoinPath(testing::TempDir(), "no-records");
  ASSERT_TRUE(WriteFileAtomically(empty, "").ok());
  KernelRunner without = KernelRunner::Create("RecordInput", {}, Attrs(empty)).value();
  EXPECT_THAT(std::string(without.Run({}).status().message()), HasSubstr("have no records"));
  AttrMap attrs = Attrs(empty);
  attrs["batch_size"] = int64_t{0};
  EXPECT_FALSE(KernelRunner::Create("RecordInput", {}, attrs).ok());
}

}  // namespace
}  // namespace tessera
