// Conversions that the recorded calls leave out.
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

Tensor Converted(const Tensor& x, DType to) { return RunOp("Cast", {x}, {{"DstT", to}}).value(); }

TEST(CastTest, QuantisedNumbersAreTheIntegersAsWhichTheyAreStored) {
  const Tensor x = Tensor::Vector<int32_t>({32439, -7});
  const Tensor quantised = x.Bitcast(DType::kQint32, x.shape());
  EXPECT_EQ(Converted(quantised, DType::kInt16).flat<int16_t>(),
            absl::MakeConstSpan({int16_t{32439}, int16_t{-7}}));
  EXPECT_EQ(Converted(quantised, DType::kFloat).flat<float>(),
            absl::MakeConstSpan({32439.f, -7.f}));
  const Tensor same = Converted(quantised, DType::kInt32);
  EXPECT_EQ(same.dtype(), DType::kInt32);
  EXPECT_EQ(same.flat<int32_t>(), x.flat<int32_t>());

  const Tensor back = Converted(Tensor::Vector<float>({3, -2}), DType::kQint8);
  EXPECT_EQ(back.dtype(), DType::kQint8);
  EXPECT_EQ(back.Bitcast(DType::kInt8, back.shape()).flat<int8_t>(),
            absl::MakeConstSpan({int8_t{3}, int8_t{-2}}));
  EXPECT_EQ(Converted(back, DType::kQint32).dtype(), DType::kQint32);
}

TEST(CastTest, OneDtypeIsLeftAlone) {
  EXPECT_EQ(Converted(Tensor::Scalar("text"), DType::kString).scalar<std::string>(), "text");
  EXPECT_EQ(Converted(Tensor::Zeros(DType::kFloat, {0, 3}).value(), DType::kQuint8).shape(),
            (Shape{0, 3}));
  EXPECT_FALSE(RunOp("Cast", {Tensor::Scalar("1")}, {{"DstT", DType::kQint8}}).ok());
}

}  // namespace
}  // namespace tessera
