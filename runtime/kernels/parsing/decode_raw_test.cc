#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Any other byte in a bool is undefined behaviour, and its negation would be true, too.
TEST(DecodeRawTest, EachByteOfABoolIsZeroOrOne) {
  const Tensor bools = RunOp("DecodeRaw", {Tensor::Scalar(std::string("\x00\x01\x02\x80\xff", 5))},
                             {{"out_type", DType::kBool}})
                           .value();
  ASSERT_EQ(bools.shape(), (Shape{5}));
  const std::string bytes(bools.raw(), bools.size_bytes());
  EXPECT_THAT(bytes, ::testing::ElementsAre(0, 1, 1, 1, 1));
}

TEST(DecodeRawTest, NumbersMayHaveTheOtherByteOrder) {
  const std::string bytes("\x01\x02\x03\x04", 4);
  const auto decode = [&](bool little_endian) {
    const Tensor numbers = RunOp("DecodeRaw", {Tensor::Scalar(bytes)},
                                 {{"out_type", DType::kInt16}, {"little_endian", little_endian}})
                               .value();
    return std::vector<int16_t>(numbers.flat<int16_t>().begin(), numbers.flat<int16_t>().end());
  };
  EXPECT_THAT(decode(true), ::testing::ElementsAre(0x0201, 0x0403));
  EXPECT_THAT(decode(false), ::testing::ElementsAre(0x0102, 0x0304));
}

}  // namespace
}  // namespace tessera
