// What TensorFlow takes and refuses of tensors without elements.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Tensor Floats(const Shape& shape) { return Tensor::Zeros(DType::kFloat, shape).value(); }
Tensor Ones(const Shape& shape) {
  return Tensor::Of<float>(shape, std::vector<float>(shape.num_elements(), 1));
}

absl::StatusCode CodeOf(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  auto runner = KernelRunner::Create(op, inputs, std::move(attrs));
  return runner.ok() ? runner->Run(std::move(inputs)).status().code() : runner.status().code();
}

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(EmptyArgumentsTest, NeighborsAreThoseOfAPoint) {
  const auto find = [](const Shape& points, const Shape& centers, int64_t k) {
    return CodeOf("NearestNeighbors", {Floats(points), Floats(centers), Tensor::Scalar(k)});
  };
  EXPECT_EQ(find({0, 2}, {3, 2}, 1), kInvalid);
  EXPECT_EQ(find({0, 0}, {3, 0}, 0), kInvalid);
  EXPECT_EQ(find({2, 2}, {0, 2}, 1), kOk);
  EXPECT_EQ(find({2, 2}, {3, 2}, 0), kOk);
}

// Reshapes a sparse tensor of `count` entries at the origin.
absl::StatusCode Reshape(int64_t count, const std::vector<int64_t>& from,
                         const std::vector<int64_t>& to) {
  const Tensor indices =
      Tensor::Zeros(DType::kInt64, {count, static_cast<int64_t>(from.size())}).value();
  return CodeOf("SparseReshape",
                {indices, Tensor::Vector<int64_t>(from), Tensor::Vector<int64_t>(to)});
}

TEST(EmptyArgumentsTest, EmptyShapesOfSparseTensorsHaveNoEntries) {
  EXPECT_EQ(Reshape(1, {1, 0}, {0, 1}), kInvalid);
  EXPECT_EQ(Reshape(1, {2, 0}, {0}), kInvalid);
  EXPECT_EQ(Reshape(1, {0}, {2, -1}), kInvalid);
  EXPECT_EQ(Reshape(0, {1, 0}, {0, 1}), kOk);
  EXPECT_EQ(Reshape(0, {0}, {2, -1}), kOk);
  // A shape that stays is not looked at.
  EXPECT_EQ(Reshape(1, {2, 0}, {2, 0}), kOk);
  EXPECT_EQ(Reshape(1, {0}, {-1}), kOk);
}

TEST(EmptyArgumentsTest, FractionalPoolsOfEmptyImagesHaveNoGradient) {
  const auto differentiate = [](std::vector<int64_t> image, const Shape& gradient,
                                std::vector<int64_t> rows) {
    const Tensor columns = Tensor::Vector<int64_t>({0, 2, 4});
    const Tensor images = Floats(Shape(image)), pooled = Floats(gradient);
    const Tensor sequence = Tensor::Vector<int64_t>(rows);
    const auto of_averages = CodeOf("FractionalAvgPoolGrad",
                                    {Tensor::Vector<int64_t>(image), pooled, sequence, columns});
    EXPECT_EQ(CodeOf("FractionalMaxPoolGrad", {images, pooled, pooled, sequence, columns}),
              of_averages);
    return of_averages;
  };
  EXPECT_EQ(differentiate({1, 4, 4, 1}, {1, 2, 2, 1}, {0, 2, 4}), kOk);
  EXPECT_EQ(differentiate({0, 4, 4, 1}, {0, 2, 2, 1}, {0, 2, 4}), kInvalid);
  EXPECT_EQ(differentiate({1, 4, 4, 0}, {1, 2, 2, 0}, {0, 2, 4}), kInvalid);
  EXPECT_EQ(differentiate({1, 4, 4, 1}, {1, 0, 2, 1}, {0}), kInvalid);
}

absl::StatusOr<Tensor> Dilate(const std::string& op, std::vector<Tensor> inputs,
                              const std::string& padding) {
  const std::vector<int64_t> ones(4, 1);
  return RunOp(op, std::move(inputs), {{"strides", ones}, {"rates", ones}, {"padding", padding}});
}

TEST(EmptyArgumentsTest, FiltersOfDilationsMayBeEmpty) {
  const Tensor images = Floats({1, 2, 3, 1}), filter = Floats({0, 1, 1});
  const Tensor dilated = Dilate("Dilation2D", {images, filter}, "VALID").value();
  EXPECT_EQ(dilated.shape(), Shape({1, 3, 3, 1}));
  EXPECT_THAT(dilated.flat<float>(), Each(std::numeric_limits<float>::lowest()));

  const Tensor gradient =
      Dilate("Dilation2DBackpropFilter", {images, filter, dilated}, "VALID").value();
  EXPECT_EQ(gradient.shape(), filter.shape());
  // Each window begins at an element of the image, which takes its gradient.
  EXPECT_THAT(Dilate("Dilation2DBackpropInput", {images, filter, Ones({1, 2, 3, 1})}, "SAME")
                  .value()
                  .flat<float>(),
              Each(1));
  // Windows behind the last row count for that row.
  EXPECT_THAT(Dilate("Dilation2DBackpropInput", {images, filter, Ones({1, 3, 3, 1})}, "VALID")
                  .value()
                  .flat<float>(),
              ElementsAre(1, 1, 1, 2, 2, 2));
  const Tensor none = Floats({1, 0, 3, 1});
  EXPECT_EQ(Dilate("Dilation2DBackpropInput", {none, filter, Ones({1, 1, 3, 1})}, "VALID")
                .value()
                .shape(),
            none.shape());
  EXPECT_EQ(Dilate("Dilation2DBackpropInput", {images, filter, Ones({1, 2, 3, 1})}, "VALID")
                .status()
                .code(),
            kInvalid);
}

TEST(EmptyArgumentsTest, CompressionOfImagesIsALevelEvenWhereThereAreNone) {
  const auto encode = [](const Shape& shape, int64_t compression) {
    return CodeOf("EncodePng", {Tensor::Zeros(DType::kUint8, shape).value()},
                  {{"compression", compression}});
  };
  EXPECT_EQ(encode({0, 1, 1, 1}, 9), kOk);
  EXPECT_EQ(encode({0, 1, 1, 1}, 10), kInvalid);
  EXPECT_EQ(encode({0, 1, 1, 1}, int64_t{1} << 32), kInvalid);
  EXPECT_EQ(encode({1, 0, 1}, -1), kInvalid);
  EXPECT_EQ(encode({1, 1'000'001, 1}, -1), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace tessera
