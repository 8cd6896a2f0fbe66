// Arithmetic on shapes beside an accelerator: the host computes it, and the accelerator's work can
// be captured.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/session/session.h"
#include "runtime/training/gradients/graph_builder.h"

namespace tessera {
namespace {

using testing::ElementsAre;

// A graph with the placeholders x, of float [-1, 6], and n, of int32 [-1].
class ShapeArithmeticTest : public testing::Test {
 protected:
  ShapeArithmeticTest() : build_(&graph_, "test") {
    x_ =
        Named("x", "Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 6})}});
    n_ = Named("n", "Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", PartialShape({-1})}});
  }

  Expr Named(const std::string& name, const std::string& op, const std::vector<Expr>& inputs,
             AttrMap attrs) {
    std::vector<Endpoint> endpoints;
    for (const Expr& input : inputs) endpoints.push_back(input.endpoint());
    return build_.Of({*graph_.AddNode(name, op, std::move(attrs), endpoints), 0});
  }

  // Gives a value the name y.
  void Result(const Expr& value) {
    ASSERT_TRUE(build_.status().ok()) << build_.status();
    Named("y", "Identity", {value}, {{"T", value.dtype()}});
  }

  // Runs the graph three times with x of this many rows, and n.
  Tensor Run(int64_t rows, const std::vector<std::string>& fed = {"x:0"}) {
    if (session_ == nullptr) {
      SessionOptions options;
      options.devices.count["ACCEL"] = 1;
      session_ = *Session::Create(options, std::shared_ptr<const Graph>(graph_.Clone()));
    }
    std::vector<float> values(rows * 6);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    std::vector<NamedTensor> feeds;
    for (const std::string& name : fed) {
      feeds.emplace_back(name, name == "n:0" ? Tensor::Of<int32_t>({3}, {1, 2, 3})
                                             : Tensor::Of<float>({rows, 6}, values));
    }
    std::vector<Tensor> results;
    for (int i = 0; i < 3; ++i) {
      const absl::Status status = session_->Run(feeds, {"y:0"}, {}, &results);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) return Tensor();
    }
    return results[0];
  }

  int64_t NumCaptured() const {
    for (const Device* device : session_->ListDevices()) {
      const auto* accelerator = dynamic_cast<const TestAccelerator*>(device);
      if (accelerator != nullptr) return accelerator->num_captured_enqueued();
    }
    return -1;
  }

  Graph graph_;
  GraphBuilder build_;
  Expr x_, n_;
  std::unique_ptr<Session> session_;
};

// As Keras flattens, or splits heads.
TEST_F(ShapeArithmeticTest, ReshapesByWhatAShapeSays) {
  const Expr rows = Reshape(SliceVector(ShapeOf(x_), 0, 1), build_.Ints({}));
  const Expr shape = Call("Pack", {Call("Mul", {rows, build_.Int(2)}), build_.Int(3)});
  Result(Call("Neg", {Reshape(Call("Abs", {x_}), shape)}));
  EXPECT_EQ(Run(4).shape(), Shape({8, 3}));
  const Tensor y = Run(2);
  EXPECT_EQ(y.shape(), Shape({4, 3}));
  EXPECT_EQ(y.flat<float>()[11], -11);
  // Each shape is captured when it comes for the second time.
  EXPECT_GE(NumCaptured(), 2);
}

TEST_F(ShapeArithmeticTest, ShapesThatAreResultsNeedNoDevice) {
  Result(Concat({SliceVector(ShapeOf(x_), 0, 1), build_.Ints({7})}, 0));
  const Tensor y = Run(5);
  EXPECT_THAT(std::vector<int32_t>(y.flat<int32_t>().begin(), y.flat<int32_t>().end()),
              ElementsAre(5, 7));
}

// A number that the device alone reads stays there, whatever it is made of.
TEST_F(ShapeArithmeticTest, SizesAreFactorsOnTheDevice) {
  const Expr rows =
      CastTo(Call("Prod", {SliceVector(ShapeOf(x_), 0, 1), build_.Int(0)}, {{"keep_dims", false}}),
             DType::kFloat);
  Result(Call("Mul", {x_, rows}));
  EXPECT_EQ(Run(3).flat<float>()[17], 51);
}

// Arguments of a run may be large: the device computes with them, and the host reads the result.
TEST_F(ShapeArithmeticTest, ArgumentsAreLeftToTheDevice) {
  Result(Reshape(x_, Call("AddV2", {n_, n_})));
  const Tensor y = Run(8, {"x:0", "n:0"});
  EXPECT_EQ(y.shape(), Shape({2, 4, 6}));
  EXPECT_EQ(NumCaptured(), 0);
}

// Errors of the host's arithmetic name its node.
TEST_F(ShapeArithmeticTest, ErrorsNameTheNode) {
  const Expr rows = SliceVector(ShapeOf(x_), 0, 1);
  const Expr zero = Call("Sub", {rows, rows});
  Result(Reshape(x_, Call("FloorDiv", {rows, zero})));
  SessionOptions options;
  options.devices.count["ACCEL"] = 1;
  session_ = *Session::Create(options, std::shared_ptr<const Graph>(graph_.Clone()));
  std::vector<Tensor> results;
  const absl::Status status =
      session_->Run({{"x:0", Tensor::Zeros(DType::kFloat, {2, 6}).value()}}, {"y:0"}, {}, &results);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("test/FloorDiv"));
}

}  // namespace
}  // namespace tessera
