#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Ops = std::vector<std::string>;

Tensor Zeros(const Shape& shape) { return Tensor::Zeros(DType::kFloat, shape).value(); }

AttrMap Attrs(const Ops& expand, const Ops& depthwise, const Ops& project) {
  return {{"num_layers", expand.empty() ? 2 : 3},
          {"strides", Ints{1, 1, 1, 1}},
          {"padding", "SAME"},
          {"expand_ops", expand},
          {"depthwise_ops", depthwise},
          {"project_ops", project}};
}

// Images of 4 channels, which become 6 and then 4 again. A test puts one of the shapes wrong.
struct Shapes {
  Shape images = {2, 5, 5, 4};
  Shape expand = {1, 1, 4, 6}, depthwise = {3, 3, 6, 1}, project = {1, 1, 6, 4};
  Shape biases[3] = {{6}, {6}, {4}};

  absl::StatusOr<Tensor> Run(AttrMap attrs = Attrs({"BiasAdd", "Relu6"}, {"BiasAdd", "Relu6"},
                                                   {"BiasAdd", "Add"})) const {
    return RunOp("_SeparableBlock",
                 {Zeros(images), Zeros(expand), Zeros(depthwise), Zeros(project), Zeros(biases[0]),
                  Zeros(biases[1]), Zeros(biases[2])},
                 std::move(attrs));
  }

  void ExpectError(absl::StatusCode code, const char* message) const {
    const absl::Status status = Run().status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(status.ToString(), HasSubstr(message));
  }
};

TEST(FusedSeparableBlockTest, TakesShapesThatFit) {
  for (const Shape& images : {Shape{2, 5, 5, 4}, Shape{0, 5, 5, 4}, Shape{2, 0, 5, 4}}) {
    EXPECT_EQ(Shapes{.images = images}.Run()->shape().ToString(), images.ToString());
  }
}

TEST(FusedSeparableBlockTest, RefusesShapesThatDoNot) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  Shapes{.images = {5, 5, 4}}.ExpectError(kInvalid, "[5,5,4]");
  Shapes{.images = {2, 5, 5, 8}}.ExpectError(kInvalid, "[2,5,5,8]");
  Shapes{.expand = {1, 2, 4, 6}}.ExpectError(kInvalid, "[1,2,4,6]");
  Shapes{.expand = {1, 1, 4, 0}}.ExpectError(kInvalid, "[1,1,4,0]");
  Shapes{.depthwise = {3, 3, 5, 1}}.ExpectError(kInvalid, "for 5 channels");
  Shapes{.depthwise = {3, 6, 1}}.ExpectError(kInvalid, "rank");
  Shapes{.project = {1, 1, 3, 4}}.ExpectError(kInvalid, "[1,1,3,4]");
  Shapes{.biases = {{6}, {5}, {4}}}.ExpectError(kInvalid, "6 elements");
  Shapes{.project = {1, 1, 6, 3}, .biases = {{6}, {6}, {3}}}.ExpectError(kInvalid, "cannot add");
  Shapes{.depthwise = {3, 3, 6, 2}}.ExpectError(absl::StatusCode::kUnimplemented, "one output");
}

TEST(FusedSeparableBlockTest, RefusesLayersThatItDoesNotKnow) {
  const Ops bias = {"BiasAdd"}, tanh = {"BiasAdd", "Tanh"}, add = {"BiasAdd", "Add"};
  const Ops relu = {"Relu"};
  ASSERT_TRUE(Shapes().Run(Attrs(bias, bias, bias)).ok());
  for (const AttrMap& attrs :
       {Attrs(tanh, bias, bias), Attrs(bias, tanh, bias), Attrs(bias, bias, tanh),
        Attrs(bias, relu, bias), Attrs(bias, {}, bias), Attrs(add, bias, bias),
        Attrs(bias, add, bias)}) {
    EXPECT_FALSE(Shapes().Run(attrs).ok());
  }
  AttrMap too_few = Attrs(bias, bias, bias);
  too_few.insert_or_assign("expand_ops", Ops());
  EXPECT_FALSE(Shapes().Run(too_few).ok()) << "three layers, of which two are described";
}

}  // namespace
}  // namespace tessera
