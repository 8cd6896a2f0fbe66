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

std::string Utf32(const std::u32string& text, bool big_endian) {
  std::string bytes;
  for (const char32_t c : text) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(c >> (big_endian ? 24 - 8 * i : 8 * i));
  }
  return bytes;
}

TEST(ParseNpyTest, TextBecomesUtf8WithoutItsPadding) {
  const std::u32string elements = std::u32string(U"a\u00fc\u4e16\U0001f600b\0\0\0", 8);
  for (const bool big_endian : {false, true}) {
    absl::StatusOr<Tensor> tensor =
        ParseNpy(Npy(big_endian ? ">U4" : "<U4", "False", "(2,)", Utf32(elements, big_endian)));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->flat<std::string>()[0], "a\u00fc\u4e16\U0001f600");
    EXPECT_EQ(tensor->flat<std::string>()[1], "b");
  }
}

TEST(ParseNpyTest, TextWithAZeroWithinKeepsIt) {
  absl::StatusOr<Tensor> tensor =
      ParseNpy(Npy("<U3", "False", "()", Utf32(std::u32string(U"\0x\0", 3), false)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->scalar<std::string>(), absl::string_view("\0x", 2));
}

TEST(ParseNpyTest, TextThatUtf8LacksIsAnError) {
  for (const char32_t c : {0xd800u, 0xdfffu, 0x110000u, 0xffffffffu}) {
    EXPECT_EQ(ParseNpy(Npy("<U1", "False", "(1,)", Utf32({c}, false))).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(ParseNpyTest, TwoBytesWithoutATypeAreBfloat16) {
  absl::StatusOr<Tensor> tensor =
      ParseNpy(Npy("|V2", "False", "(1,)", absl::string_view("\xc0\x3f", 2)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  ASSERT_EQ(tensor->dtype(), DType::kBfloat16);
  EXPECT_EQ(absl::string_view(tensor->raw(), 2), "\xc0\x3f") << "1.5";
}

TEST(ParseNpyTest, ObjectsAreToldWithARemedy) {
  const absl::Status status = ParseNpy(Npy("|O", "False", "(1,)", "pickled")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("astype(str)"), status.message().npos) << status;
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
  EXPECT_FALSE(ParseNpy(Npy("<U2147483647", "False", "(1,)", "")).ok());
  EXPECT_FALSE(ParseNpy(Npy("<U536870911", "False", "(1,)", "")).ok());
}

TEST(ParseNpyTest, ElementsWithoutBytesAreAnError) {
  for (const char* const descr : {"|S0", "<U0", "|V0"}) {
    const absl::Status status = ParseNpy(Npy(descr, "False", "(300000000,)", "")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << descr << ": " << status;
  }
}

}  // namespace
}  // namespace tessera::serving
