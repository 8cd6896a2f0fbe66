#include "runtime/checkpoint/tensor_slice.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

TensorSlice Slice(absl::string_view text) { return *TensorSlice::Parse(text); }

TEST(TensorSliceTest, TextReadsBack) {
  for (const char* text : {"", "-", "0,5", "0,10:-", "3,1:-:-:2,7"}) {
    EXPECT_EQ(Slice(text).ToString(), text);
  }
  EXPECT_THAT(Slice("2,3:-").start, ElementsAre(2, 0));
  EXPECT_THAT(Slice("2,3:-").length, ElementsAre(3, -1));
}

TEST(TensorSliceTest, BadTextIsRefused) {
  for (const char* text : {":", "1", "1,", ",1", "1,2,3", "-1,2", "1,-2", "1,0", "a,b",
                           "1,2:", "99999999999999999999,1"}) {
    EXPECT_EQ(TensorSlice::Parse(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(TensorSliceTest, BoxesMustFitTheShape) {
  EXPECT_EQ(Slice("2,3:-").Within({5, 7})->shape(), (Shape{3, 7}));
  EXPECT_EQ(TensorSlice::Whole(2).Within({0, 7})->shape(), (Shape{0, 7}));
  EXPECT_FALSE(Slice("2,3:-").Within({4, 7}).ok());
  EXPECT_FALSE(Slice("2,3:-").Within({5}).ok());
  EXPECT_FALSE(Slice("6,1").Within({5}).ok());
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE((TensorSlice{{kMax}, {kMax}}.Within({5}).ok()));
  EXPECT_FALSE((TensorSlice{{-1}, {2}}.Within({5}).ok()));
}

TEST(ShapeAndSliceTest, GivesShapeAndBox) {
  const ShapeAndSlice parsed = *ShapeAndSlice::Parse("4 3 0,2:-");
  EXPECT_EQ(parsed.shape, (Shape{4, 3}));
  EXPECT_EQ(parsed.slice.shape(), (Shape{2, 3}));
  for (const char* text :
       {"", "0,2:-", "4 0,2:-", "4 3 0,5:-", "4 x 0,2:-", "-4 3 0,2:-", "4 3 "}) {
    EXPECT_EQ(ShapeAndSlice::Parse(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(TensorSliceTest, Intersections) {
  TensorSlice common;
  EXPECT_TRUE(Intersect(Slice("0,4:2,3"), Slice("2,4:0,3"), &common));
  EXPECT_EQ(common.ToString(), "2,2:2,1");
  EXPECT_FALSE(Intersect(Slice("0,2:0,3"), Slice("2,4:0,3"), &common));
  EXPECT_TRUE(Intersect(Slice(""), Slice(""), &common));
}

TEST(TensorSliceTest, BoxesAreCopiedBetweenParts) {
  // Rows 1 and 2 of a 4x3 matrix, columns 1 and 2, from a part that holds rows 1 to 3.
  const Tensor from = Tensor::Of<int32_t>({3, 3}, {10, 11, 12, 20, 21, 22, 30, 31, 32});
  Tensor to = *Tensor::Zeros(DType::kInt32, {4, 2});
  CopyBox(Slice("1,2:1,2"), from, Slice("1,3:0,3"), to, Slice("0,4:1,2"));
  EXPECT_THAT(to.flat<int32_t>(), ElementsAre(0, 0, 11, 12, 21, 22, 0, 0));

  Tensor strings = *Tensor::Zeros(DType::kString, {2});
  CopyBox(Slice("1,1"), Tensor::Vector<std::string>({"a", "b"}), Slice("0,2"), strings,
          Slice("0,2"));
  EXPECT_THAT(strings.flat<std::string>(), ElementsAre("", "b"));

  Tensor scalar = *Tensor::Zeros(DType::kFloat, {});
  CopyBox(Slice(""), Tensor::Scalar(2.0f), Slice(""), scalar, Slice(""));
  EXPECT_EQ(scalar.scalar<float>(), 2.0f);
}

std::string Hex(absl::string_view bytes) {
  std::string hex;
  for (const unsigned char c : bytes) {
    hex += "0123456789abcdef"[c >> 4];
    hex += "0123456789abcdef"[c & 15];
  }
  return hex;
}

// Keys as TensorFlow wrote them.
TEST(SliceKeyTest, KeysAreTensorFlows) {
  EXPECT_EQ(Hex(SliceKey("big", Slice("-:0,100"))),
            "006269670001"
            "0102"
            "807f"
            "80c064");
  EXPECT_EQ(Hex(SliceKey("big", Slice("-:100,200"))),
            "006269670001"
            "0102"
            "807f"
            "c064c0c8");
  EXPECT_EQ(Hex(SliceKey("s", Slice("1,3"))),
            "00730001"
            "0101"
            "8183");
}

TEST(SliceKeyTest, SpecialBytesOfNamesAreEscaped) {
  const std::string name("a\0b\xff", 4);
  EXPECT_EQ(Hex(SliceKey(name, Slice(""))),
            "00"
            "6100ff62ff00"
            "0001"
            "00");
}

TEST(SliceKeyTest, KeysSortAsTheirStarts) {
  const int64_t starts[] = {0,
                            1,
                            63,
                            64,
                            8191,
                            8192,
                            int64_t{1} << 20,
                            int64_t{1} << 34,
                            int64_t{1} << 55,
                            int64_t{1} << 61,
                            int64_t{1} << 62,
                            std::numeric_limits<int64_t>::max()};
  std::string last;
  for (const int64_t start : starts) {
    const std::string key = SliceKey("n", {{start}, {1}});
    EXPECT_LT(last, key) << start;
    last = key;
  }
}

}  // namespace
}  // namespace tessera
