// Ops that compute a few numbers in host memory on every device, beside an accelerator: they do not
// cut its work apart, and the work is captured where they read nothing that the device computes.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HostOpsTest : public ::testing::Test {
 protected:
  // A session of these nodes and those that they have in common: x, of shape [rows, 2], and `rows`.
  void Make(const std::string& nodes) {
    SessionOptions options;
    options.devices.count["ACCEL"] = 1;
    session_ = *Session::Create(options);
    tensorflow::GraphDef graph = GraphFromText(absl::StrCat(R"(
      x = Placeholder() {dtype: float, shape: <?, 2>}
      shape = Shape(x) {T: float, out_type: int32}
      first = Const() {dtype: int32, value: int32([0])}
      second = Const() {dtype: int32, value: int32([1])}
      rows = StridedSlice(shape, first, second, second)
          {T: int32, Index: int32, shrink_axis_mask: 1}
      zero = Const() {dtype: int32, value: int32(0)}
      one = Const() {dtype: int32, value: int32(1)}
      two = Const() {dtype: int32, value: int32(2)}
    )",
                                                            nodes));
    graph.mutable_versions()->set_producer(1000);
    const absl::Status extended = session_->Extend(graph);
    ASSERT_TRUE(extended.ok()) << extended;
  }
  // Runs y for x of these rows, whose elements are 0, 1, 2 and so on.
  absl::StatusOr<std::vector<float>> Run(int64_t rows) const {
    std::vector<float> values(rows * 2);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(
        session_->Run({{"x:0", Tensor::Of<float>({rows, 2}, values)}}, {"y:0"}, {}, &outputs));
    const auto flat = outputs[0].flat<float>();
    return std::vector<float>(flat.begin(), flat.end());
  }
  std::vector<float> RunThrice(int64_t rows) const {
    absl::StatusOr<std::vector<float>> y;
    for (int i = 0; i < 3; ++i) {
      y = Run(rows);
      EXPECT_TRUE(y.ok()) << y.status();
    }
    return y.ok() ? *y : std::vector<float>();
  }
  int64_t NumCaptured() const {
    return static_cast<const TestAccelerator*>(session_->ListDevices()[0])->num_captured_enqueued();
  }

  std::unique_ptr<Session> session_;
};

TEST_F(HostOpsTest, AssertionsOnShapesAreMadeWhenWorkIsCaptured) {
  Make(R"(
    odd = FloorMod(rows, two) {T: int32}
    is_even = Equal(odd, zero) {T: int32}
    text = Const() {dtype: string, value: string("odd rows:")}
    check = Assert(is_even, text, rows) {T: [string, int32]}
    y = Neg(x, ^check) {T: float}
  )");
  EXPECT_THAT(RunThrice(2), ElementsAre(0, -1, -2, -3));
  EXPECT_EQ(NumCaptured(), 2);
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = Run(1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("[odd rows:] [1]"));
  }
  EXPECT_EQ(NumCaptured(), 2);
  EXPECT_THAT(RunThrice(2), ElementsAre(0, -1, -2, -3));
}

TEST_F(HostOpsTest, AssertionsOnValuesAreMadeInEachRun) {
  Make(R"(
    axes = Const() {dtype: int32, value: int32([0, 1])}
    most = Max(x, axes) {T: float}
    limit = Const() {dtype: float, value: float(4)}
    is_small = Less(most, limit) {T: float}
    check = Assert(is_small, most) {T: [float]}
    y = Neg(x, ^check) {T: float}
  )");
  EXPECT_THAT(RunThrice(2), ElementsAre(0, -1, -2, -3));
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = Run(3).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("[5]"));
  }
  EXPECT_EQ(NumCaptured(), 0);
}

TEST_F(HostOpsTest, EvenlySpacedNumbersOfAShape) {
  Make(R"(
    low = Const() {dtype: float, value: float(1)}
    high = Const() {dtype: float, value: float(2)}
    weights = LinSpace(low, high, rows) {T: float, Tidx: int32}
    column = ExpandDims(weights, one) {T: float}
    y = Mul(x, column) {T: float}
  )");
  EXPECT_THAT(RunThrice(3), ElementsAre(0, 1, 3, 4.5f, 8, 10));
  EXPECT_EQ(NumCaptured(), 2);
  EXPECT_FALSE(Run(0).ok());
}

TEST_F(HostOpsTest, AxesInAnotherFormat) {
  Make(R"(
    axis = Sub(rows, one) {T: int32}
    axis_of_image = DataFormatDimMap(axis) {T: int32, src_format: "NCHW", dst_format: "CNHW"}
    y = Sum(x, axis_of_image) {T: float}
  )");
  // Axis 1 is axis 0 in the other format, and the other way round.
  EXPECT_THAT(RunThrice(2), ElementsAre(2, 4));
  EXPECT_THAT(RunThrice(1), ElementsAre(1));
  EXPECT_EQ(NumCaptured(), 4);
}

}  // namespace
}  // namespace tessera
