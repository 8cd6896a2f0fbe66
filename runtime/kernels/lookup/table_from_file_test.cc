// Vocabulary files and the tables that are filled from them. Errors are TensorFlow's.
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Fills a table of lines and their numbers, and returns its size.
absl::StatusOr<int64_t> SizeOfTable(const std::string& text, int64_t vocab_size) {
  const std::string path = JoinPath(::testing::TempDir(), absl::StrCat("vocabulary.", ::getpid()));
  RETURN_IF_ERROR(WriteFileAtomically(path, text));
  ASSIGN_OR_RETURN(const Tensor table,
                   RunOp("AnonymousHashTable", {},
                         {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}}));
  const std::vector<Tensor> inputs = {table, Tensor::Scalar(path)};
  ASSIGN_OR_RETURN(
      KernelRunner initializer,
      KernelRunner::Create(
          "InitializeTableFromTextFileV2", inputs,
          {{"key_index", int64_t{-2}}, {"value_index", int64_t{-1}}, {"vocab_size", vocab_size}}));
  RETURN_IF_ERROR(initializer.Run(inputs).status());
  ASSIGN_OR_RETURN(const Tensor size, RunOp("LookupTableSizeV2", {table}));
  return size.scalar<int64_t>();
}

TEST(TableFromFileTest, EachLineIsAnEntry) {
  EXPECT_EQ(SizeOfTable("a\nb\nc", -1).value(), 3);
  EXPECT_EQ(SizeOfTable("a\r\nb\r\n", -1).value(), 2);
  EXPECT_EQ(SizeOfTable("a\nb\nc\n", 2).value(), 2);
  EXPECT_EQ(SizeOfTable("a\nb\n", 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SizeOfTable("a\n\nb\n", -1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TableFromFileTest, AVocabularyIsNotEmpty) {
  EXPECT_EQ(SizeOfTable("", -1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(SizeOfTable("a\n", 0).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera
