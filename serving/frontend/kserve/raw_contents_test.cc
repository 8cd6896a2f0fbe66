#include "serving/frontend/kserve/raw_contents.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/frontend/kserve/classification.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;

// Reads the bytes as they would come in pieces of this size.
absl::StatusOr<Tensor> Read(DType dtype, const Shape& shape, absl::string_view bytes,
                            size_t piece_size = 1 << 20) {
  std::vector<absl::string_view> pieces;
  for (size_t i = 0; i < bytes.size(); i += piece_size) {
    pieces.push_back(bytes.substr(i, piece_size));
  }
  return TensorFromRaw(dtype, shape, WireReader(pieces), [](const char*) { return nullptr; });
}

std::string Raw(const Tensor& tensor) {
  std::string out(RawSize(tensor), '\0');
  EXPECT_EQ(WriteRaw(tensor, out.data()), out.data() + out.size());
  return out;
}

TEST(RawContentsTest, StringsFollowTheirLengthsHoweverTheyAreCut) {
  const Tensor texts = Tensor::Vector<std::string>({"", "ab", std::string(300, 'c')});
  const std::string raw = Raw(texts);
  EXPECT_EQ(raw.size(), 3 * 4 + 302);
  for (const size_t piece_size : {1, 3, 7, 1000}) {
    const auto read = Read(DType::kString, {3}, raw, piece_size);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_THAT(read->flat<std::string>(), ElementsAre("", "ab", std::string(300, 'c')));
  }
}

TEST(RawContentsTest, OtherNumbersOfBytesAreRefused) {
  const std::string raw = Raw(Tensor::Vector<std::string>({"a", "bc"}));
  for (size_t size = 0; size < raw.size(); ++size) {
    EXPECT_TRUE(absl::IsInvalidArgument(Read(DType::kString, {2}, raw.substr(0, size)).status()))
        << size;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Read(DType::kString, {1}, raw).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(DType::kString, {int64_t{1} << 60}, raw).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(DType::kFloat, {2}, "1234567").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(DType::kDouble, {int64_t{1} << 61}, "").status()));
  EXPECT_TRUE(Read(DType::kFloat, {0, 5}, "").ok());
}

TEST(RawContentsTest, LargeNumbersShareTheMemoryOfTheMessage) {
  const auto bytes = std::make_shared<std::string>(8192, '\1');
  const absl::string_view piece = *bytes;
  const auto read = TensorFromRaw(DType::kInt8, {8192}, WireReader(absl::MakeConstSpan(&piece, 1)),
                                  [&](const char*) { return bytes; });
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->raw(), bytes->data());
  EXPECT_EQ(bytes.use_count(), 2);
  EXPECT_FALSE(read->CanWriteInPlace());
}

TEST(RawContentsTest, ABoolIsOneByteAndAnyButZeroIsTrue) {
  const auto read = Read(DType::kBool, {3}, absl::string_view("\0\1\2", 3));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(Raw(*read), std::string("\0\1\1", 3));
}

TEST(ClassificationTest, LargestFirstEqualOnesByIndexAndNaNLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto top = Classification(Tensor::Of<float>({2, 2}, {nan, 1, 2.5, 1}), 9);
  ASSERT_TRUE(top.ok());
  EXPECT_THAT(top->flat<std::string>(),
              ElementsAre("2.500000:2", "1.000000:1", "1.000000:3", "nan:0"));
  const auto of_integers =
      Classification(Tensor::Vector<int64_t>({9007199254740993, -1, 9007199254740992}), 2);
  ASSERT_TRUE(of_integers.ok());
  EXPECT_THAT(of_integers->flat<std::string>(),
              ElementsAre("9007199254740993.000000:0", "9007199254740992.000000:2"));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckClassification("y", DType::kString)));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckClassification("y", DType::kBool)));
}

}  // namespace
}  // namespace tessera::serving
