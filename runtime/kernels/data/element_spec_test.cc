// The declared shapes of datasets and optionals: tensors of other shapes are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/status.h"
#include "runtime/data/dataset.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

AttrMap Declared(absl::string_view types, const std::vector<Dims>& shapes) {
  std::vector<PartialShape> partial;
  for (const Dims& dims : shapes) partial.emplace_back(dims);
  return {{std::string(types), std::vector<DType>(2, DType::kFloat)},
          {"output_shapes", std::move(partial)}};
}

Tensor Row(std::vector<float> values) { return Tensor::Vector(absl::Span<const float>(values)); }

absl::Status StatusOf(absl::string_view op, const std::vector<Dims>& shapes) {
  return RunOp(op, {Row({1, 2}), Row({3, 4})}, Declared("Toutput_types", shapes)).status();
}

TEST(ElementSpecTest, DatasetsOfTensorsHaveTheirDeclaredShapes) {
  EXPECT_TRUE(StatusOf("TensorDataset", {{2}, {-1}}).ok());
  EXPECT_THAT(StatusOf("TensorDataset", {{2}, {3}}).message(),
              HasSubstr("Incompatible shapes at component 1: expected [3] but got [2]"));
  EXPECT_EQ(StatusOf("TensorDataset", {{2}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(StatusOf("TensorSliceDataset", {{}, {}}).ok());
  EXPECT_THAT(StatusOf("TensorSliceDataset", {{}, {2}}).message(),
              HasSubstr("Incompatible shapes at component 1: expected [2] but got []"));
  EXPECT_EQ(StatusOf("TensorSliceDataset", {{}, {}, {}}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ElementSpecTest, OptionalsHaveTheShapesThatTheirReaderDeclares) {
  const Tensor optional = RunOp("OptionalFromValue", {Row({1, 2}), Row({3})},
                                {{"Toutput_types", std::vector<DType>(2, DType::kFloat)}})
                              .value();
  const auto read = [&](const std::vector<Dims>& shapes) -> absl::StatusOr<std::vector<Tensor>> {
    ASSIGN_OR_RETURN(KernelRunner runner, KernelRunner::Create("OptionalGetValue", {optional},
                                                               Declared("output_types", shapes)));
    return runner.Run({optional});
  };
  ASSERT_TRUE(read({{2}, {-1}}).ok());
  EXPECT_EQ(read({{2}, {-1}})->at(1).flat<float>()[0], 3);
  EXPECT_THAT(read({{3}, {1}}).status().message(),
              HasSubstr("Incompatible shapes at component 0: expected [3] but got [2]"));
  EXPECT_EQ(read({{2}, {}}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ElementSpecTest, AnElementIsCheckedByNumberTypesAndShapes) {
  const ElementSpec spec = {{DType::kFloat}, {PartialShape(Dims{2})}};
  EXPECT_TRUE(spec.CheckElement({Row({1, 2})}).ok());
  EXPECT_FALSE(spec.CheckElement({Row({1, 2}), Row({1, 2})}).ok());
  EXPECT_FALSE(spec.CheckElement({Tensor::Vector<int32_t>({1, 2})}).ok());
  EXPECT_FALSE(spec.CheckElement({Row({1, 2, 3})}).ok());
  EXPECT_TRUE(spec.CheckTypes({Row({1, 2, 3})}).ok());
}

}  // namespace
}  // namespace tessera
