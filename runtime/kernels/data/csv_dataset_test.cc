// Records of CSV files that are read for some of their columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/data/dataset.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The first column of the records of a file, as text, with the errors in their places.
std::vector<std::string> FirstColumn(const std::string& content) {
  const std::string path = JoinPath(::testing::TempDir(), "some.csv");
  EXPECT_TRUE(WriteFileAtomically(path, content).ok());
  const absl::StatusOr<Tensor> dataset =
      RunOp("CSVDataset",
            {Tensor::Scalar(path), Tensor::Scalar(""), Tensor::Scalar<int64_t>(1024),
             Tensor::Scalar(false), Tensor::Scalar(","), Tensor::Scalar(true), Tensor::Scalar(""),
             Tensor::Vector<int64_t>({0}), Tensor::Vector<int32_t>({})},
            {{"output_types", std::vector<DType>{DType::kInt32}},
             {"output_shapes", std::vector<PartialShape>{PartialShape(Shape())}}});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  ResourceManager resources;
  StepContext step;
  step.resources = &resources;
  const auto iterator = DatasetIn(*dataset, "dataset").value()->MakeIterator();
  std::vector<std::string> column;
  while (column.size() < 9) {
    Element element;
    const absl::StatusOr<bool> more = iterator->Next(step, &element);
    if (more.ok() && !*more) break;
    column.push_back(more.ok() ? absl::StrCat(element[0].scalar<int32_t>())
                               : std::string(more.status().message()));
  }
  return column;
}

// As in TensorFlow, whose DecodeCSV looks at no field behind the last selected one.
TEST(CsvDatasetTest, FieldsBehindTheSelectedOnesAreChecked) {
  EXPECT_THAT(FirstColumn("1,a\"b\n2,c\n"), ElementsAre(HasSubstr("must not hold quotes"), "2"));
  EXPECT_THAT(FirstColumn("1,\"a\"\"b\",x\"\n2,c\n"),
              ElementsAre(HasSubstr("must not hold quotes"), "2"));
  EXPECT_THAT(FirstColumn("1,\"open\n2,c\n"), ElementsAre(HasSubstr("must end with a quote")));
}

// TensorFlow declares the types that fields can have.
TEST(CsvDatasetTest, FieldsAreNumbersOrText) {
  const auto create = [](const Tensor& fallback) {
    return KernelRunner::Create(
               "CSVDataset",
               {Tensor::Scalar("some.csv"), Tensor::Scalar(""), Tensor::Scalar<int64_t>(1024),
                Tensor::Scalar(false), Tensor::Scalar(","), Tensor::Scalar(true),
                Tensor::Scalar(""), Tensor::Vector<int64_t>({}), fallback},
               {{"output_types", std::vector<DType>{fallback.dtype()}},
                {"output_shapes", std::vector<PartialShape>{PartialShape(Shape())}}})
        .status()
        .code();
  };
  for (const DType type :
       {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64, DType::kString}) {
    EXPECT_EQ(create(Tensor::Zeros(type, {0}).value()), absl::StatusCode::kOk) << DTypeName(type);
  }
  for (const DType type : {DType::kInt8, DType::kUint64, DType::kBool, DType::kHalf}) {
    EXPECT_EQ(create(Tensor::Zeros(type, {0}).value()), absl::StatusCode::kInvalidArgument)
        << DTypeName(type);
  }
}

TEST(CsvDatasetTest, FieldsBehindTheSelectedOnesMayBeAnyFields) {
  EXPECT_THAT(FirstColumn("1,\"op\nen\",3\n2,c\r\n3\n4,,\n"), ElementsAre("1", "2", "3", "4"));
}

}  // namespace
}  // namespace tessera
