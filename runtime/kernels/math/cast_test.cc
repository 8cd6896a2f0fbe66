// Conversions that the recorded calls leave out.
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

TEST(CastTest, FloatsAreRoundedToTheNearestBfloat16AtAnyPosition) {
  // Bits of a float and of its bfloat16: ties go to the even one, a carry may reach infinity, and a
  // NaN keeps its sign and becomes quiet.
  const std::pair<uint32_t, uint16_t> kCases[] = {
      {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x3f807fff, 0x3f80},
      {0xbf818000, 0xbf82}, {0x3fffffff, 0x4000}, {0x00008001, 0x0001}, {0x80000000, 0x8000},
      {0x7f7fffff, 0x7f80}, {0xff7fffff, 0xff80}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80},
      {0x7f800001, 0x7fc0}, {0xff80ffff, 0xffc0}, {0x7fffffff, 0x7fff}, {0xffc12345, 0xffc1}};
  constexpr int kCount = 2 * 16 + 7;  // two vectors and a rest
  for (int first = 0; first < std::size(kCases); ++first) {
    std::vector<float> values;
    std::vector<int16_t> expected;
    for (int i = 0; i < kCount; ++i) {
      const auto& [bits, rounded] = kCases[(first + i) % std::size(kCases)];
      values.push_back(std::bit_cast<float>(bits));
      expected.push_back(static_cast<int16_t>(rounded));
    }
    const Tensor rounded = Converted(Tensor::Vector<float>(values), DType::kBfloat16);
    EXPECT_EQ(rounded.Bitcast(DType::kInt16, rounded.shape()).flat<int16_t>(),
              absl::MakeConstSpan(expected))
        << "from case " << first << " on";
  }
}

TEST(CastTest, IntegersOfFourBitsAreSignExtendedAndWrapped) {
  const Tensor wide = Tensor::Vector<int32_t>({-9, -8, -1, 0, 7, 8, 23});
  const Tensor bytes = Tensor::Vector<int8_t>({-9, -8, -1, 0, 7, 8, 23});
  for (const Tensor& x : {wide, bytes}) {
    const Tensor narrow = Converted(x, DType::kInt4);
    EXPECT_EQ(narrow.dtype(), DType::kInt4);
    EXPECT_EQ(Converted(narrow, DType::kInt64).flat<int64_t>(),
              std::vector<int64_t>({7, -8, -1, 0, 7, -8, 7}));
    EXPECT_EQ(Converted(narrow, DType::kUint16).flat<uint16_t>(),
              std::vector<uint16_t>({7, 65528, 65535, 0, 7, 65528, 7}));
    EXPECT_EQ(Converted(Converted(narrow, DType::kUint4), DType::kInt8).flat<int8_t>(),
              std::vector<int8_t>({7, 8, 15, 0, 7, 8, 7}));
  }
}

TEST(CastTest, IntegersOfFourBitsAreConvertedToIntegersAlone) {
  const Tensor narrow = Converted(Tensor::Vector<int32_t>({1}), DType::kInt4);
  EXPECT_FALSE(RunOp("Cast", {narrow}, {{"DstT", DType::kFloat}}).ok());
  EXPECT_FALSE(RunOp("Cast", {Tensor::Scalar<bool>(true)}, {{"DstT", DType::kUint4}}).ok());
}

TEST(CastTest, OneDtypeIsLeftAlone) {
  EXPECT_EQ(Converted(Tensor::Scalar("text"), DType::kString).scalar<std::string>(), "text");
  EXPECT_EQ(Converted(Tensor::Zeros(DType::kFloat, {0, 3}).value(), DType::kQuint8).shape(),
            (Shape{0, 3}));
  EXPECT_FALSE(RunOp("Cast", {Tensor::Scalar("1")}, {{"DstT", DType::kQint8}}).ok());
}

}  // namespace
}  // namespace tessera
