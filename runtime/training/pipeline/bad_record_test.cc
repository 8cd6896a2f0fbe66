#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/training/pipeline/batch_source.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// The error of the first batch of a pipeline over a file with these bytes.
absl::Status FirstError(const std::string& bytes, const std::string& spec) {
  const std::string file = JoinPath(::testing::TempDir(), "records");
  EXPECT_TRUE(WriteFileAtomically(file, bytes).ok());
  training::PipelineSpec parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("files: '", file, "' ", spec), &parsed));
  BatchSourceOptions options;
  options.batch_size = 1;
  const auto source = BatchSource::Make(parsed, options);
  if (!source.ok()) return source.status();
  std::vector<Tensor> batch;
  return (*source)->Next(nullptr, &batch).status();
}

TEST(BadRecordTest, FilesOfAnotherFormatAreToldHowTheyAreRead) {
  const std::string field = "fields { name: 'x' dtype: 'int64' }";
  const std::string text = "no record, but a line of text\n";
  const absl::Status record = FirstError(text, field);
  EXPECT_EQ(record.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(record.message()), HasSubstr("records', record 0: "));
  EXPECT_THAT(std::string(record.message()),
              EndsWith(". The file is read as TFRecord without compression; set `format` and "
                       "`compression` if it is something else"));
  const absl::Status line = FirstError(text, "format: 'text' compression: 'gzip'");
  EXPECT_EQ(line.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(line.message()), HasSubstr(" is read as one compressed by gzip; set "));
}

}  // namespace
}  // namespace tessera
