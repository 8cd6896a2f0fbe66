#include "serving/commands/npy_file.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

std::string Npy(const std::string& descr, const std::string& order, const std::string& shape,
                absl::string_view data) {
  std::string header = absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order,
                                    ", 'shape': ", shape, ", }\n");
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return absl::StrCat(bytes, header, data);
}

TEST(ParseNpyTest, ReadsRowsInOrder) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const absl::string_view data(reinterpret_cast<const char*>(values), sizeof(values));
  absl::StatusOr<Tensor> tensor = ParseNpy(Npy("<f4", "False", "(2, 3)", data));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->dtype(), DType::kFloat);
  EXPECT_EQ(tensor->shape(), Shape({2, 3}));
  EXPECT_EQ(tensor->flat<float>()[5], 6);
}

TEST(ParseNpyTest, FortranOrderIsTurned) {
  const int32_t values[] = {1, 4, 2, 5, 3, 6};
  const absl::string_view data(reinterpret_cast<const char*>(values), sizeof(values));
  absl::StatusOr<Tensor> tensor = ParseNpy(Npy("<i4", "True", "(2, 3)", data));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(tensor->flat<int32_t>()[i], i + 1);
}

TEST(ParseNpyTest, OtherByteOrderIsTurned) {
  absl::StatusOr<Tensor> tensor =
      ParseNpy(Npy(">i4", "False", "(1,)", absl::string_view("\0\0\1\2", 4)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->flat<int32_t>()[0], 258);
}

TEST(ParseNpyTest, ByteStringsLoseTheirPadding) {
  absl::StatusOr<Tensor> tensor =
      ParseNpy(Npy("|S4", "False", "(2,)", absl::string_view("ab\0\0wxyz", 8)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->flat<std::string>()[0], "ab");
  EXPECT_EQ(tensor->flat<std::string>()[1], "wxyz");
}

TEST(ParseNpyTest, ScalarsHaveNoDimensions) {
  absl::StatusOr<Tensor> tensor = ParseNpy(Npy("|u1", "False", "()", "\7"));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->rank(), 0);
  EXPECT_EQ(tensor->scalar<uint8_t>(), 7);
}

TEST(ParseNpyTest, CutShortAtEveryByteIsAnError) {
  const std::string whole = Npy("<f8", "False", "(2,)", std::string(16, '\0'));
  ASSERT_TRUE(ParseNpy(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseNpy(absl::string_view(whole).substr(0, size)).ok()) << size;
  }
}

TEST(ParseNpyTest, HugeShapeIsAnError) {
  EXPECT_FALSE(ParseNpy(Npy("<f4", "False", "(4611686018427387904, 8)", "")).ok());
  EXPECT_EQ(ParseNpy(Npy("|O8", "False", "(1,)", "12345678")).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tessera::serving
