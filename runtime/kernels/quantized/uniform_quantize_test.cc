#include <cstdint>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// The columns of the right side are {3, -5, 7} and {1, 2, 3}.
absl::StatusOr<Tensor> DotHybrid(int64_t axis, Tensor scales, Tensor zero_points) {
  const Tensor rows = Tensor::Of<float>({2, 3}, {1, 2, 3, -1, 0.5f, 2});
  Tensor columns = Tensor::Zeros(DType::kQint8, {3, 2}).value();
  const int8_t numbers[] = {3, 1, -5, 2, 7, 3};
  for (int i = 0; i < 6; ++i) columns.mutable_raw()[i] = static_cast<char>(numbers[i]);
  return RunOp("UniformQuantizedDotHybrid",
               {rows, columns, std::move(scales), std::move(zero_points)},
               {{"Tout", DType::kFloat},
                {"rhs_quantization_axis", axis},
                {"rhs_quantization_min_val", int64_t{-128}},
                {"rhs_quantization_max_val", int64_t{127}}});
}

void ExpectNear(const absl::StatusOr<Tensor>& got, std::initializer_list<float> want) {
  ASSERT_TRUE(got.ok()) << got.status();
  int i = 0;
  for (const float number : want) EXPECT_NEAR(got->data<float>()[i++], number, 1e-6);
}

// The numbers are TensorFlow's.
TEST(UniformQuantizedDotHybridTest, ScalarScalesAreOfTheWholeMatrixWhateverTheAxis) {
  for (const int64_t axis : {-1, 1}) {
    ExpectNear(DotHybrid(axis, Tensor::Scalar(0.5f), Tensor::Scalar<int32_t>(2)),
               {1, 1, 2.7294118f, 1.5f});
  }
}

TEST(UniformQuantizedDotHybridTest, VectorsOfScalesAreOfColumnsWhateverTheAxis) {
  for (const int64_t axis : {-1, 1}) {
    ExpectNear(
        DotHybrid(axis, Tensor::Vector<float>({0.5f, 0.25f}), Tensor::Vector<int32_t>({2, 1})),
        {1, 2, 2.7294118f, 1.1264706f});
  }
}

TEST(UniformQuantizedDotHybridTest, ScalesOfOtherShapesAreRefused) {
  for (const int64_t axis : {-1, 1}) {
    EXPECT_EQ(DotHybrid(axis, Tensor::Vector<float>({0.5f}), Tensor::Vector<int32_t>({2}))
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(
        DotHybrid(axis, Tensor::Scalar(0.5f), Tensor::Vector<int32_t>({2, 2})).status().code(),
        absl::StatusCode::kInvalidArgument);
  }
}

// As TensorFlow does it.
TEST(UniformQuantizedClipByValueTest, UpperBoundHoldsIfItIsBelowTheLowerOne) {
  const auto quantised = [](const Tensor& x) { return x.Bitcast(DType::kQint32, x.shape()); };
  const absl::StatusOr<Tensor> clipped = RunOp(
      "UniformQuantizedClipByValue",
      {quantised(Tensor::Vector<int32_t>({0, 1, 2, 3})), quantised(Tensor::Scalar<int32_t>(2)),
       quantised(Tensor::Scalar<int32_t>(1)), Tensor::Scalar(1.f), Tensor::Scalar<int32_t>(0)},
      {{"quantization_axis", int64_t{-1}},
       {"quantization_min_val", int64_t{-100}},
       {"quantization_max_val", int64_t{100}}});
  ASSERT_TRUE(clipped.ok()) << clipped.status();
  EXPECT_EQ(clipped->Bitcast(DType::kInt32, clipped->shape()).flat<int32_t>(),
            absl::MakeConstSpan({1, 1, 1, 1}));
}

}  // namespace
}  // namespace tessera
