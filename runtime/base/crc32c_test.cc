#include "runtime/base/crc32c.h"

#include <random>
#include <string>

#include "gtest/gtest.h"

namespace tessera {
namespace {

// Bit by bit from the definition.
uint32_t Slow(absl::string_view data) {
  uint32_t state = ~0u;
  for (const char c : data) {
    state ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82f63b78 : 0);
  }
  return ~state;
}

// RFC 3720, appendix B.4.
TEST(Crc32cTest, PublishedVectors) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending(32, 0);
  for (int i = 0; i < 32; ++i) ascending[i] = static_cast<char>(i);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, AnyLengthAtAnyAddress) {
  std::mt19937 random(1);
  std::string bytes(20000, 0);
  for (char& c : bytes) c = static_cast<char>(random());
  for (int i = 0; i < 300; ++i) {
    const size_t begin = random() % 64;
    const size_t size = i < 100 ? i : random() % (bytes.size() - begin);
    const absl::string_view part = absl::string_view(bytes).substr(begin, size);
    ASSERT_EQ(Crc32c(part), Slow(part)) << begin << " " << size;
    ASSERT_EQ(ExtendCrc32cNarrowly(0, part), Slow(part)) << begin << " " << size;
  }
}

TEST(Crc32cTest, ExtendingEqualsTheWhole) {
  const std::string bytes(10007, 'x');
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{3072}, size_t{5000}, bytes.size()}) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(absl::string_view(bytes).substr(0, cut)),
                           absl::string_view(bytes).substr(cut)),
              Crc32c(bytes));
  }
}

TEST(Crc32cTest, MaskIsUndone) {
  const uint32_t crc = Crc32c("foo");
  EXPECT_NE(MaskCrc32c(crc), crc);
  EXPECT_EQ(UnmaskCrc32c(MaskCrc32c(crc)), crc);
  EXPECT_EQ(MaskCrc32c(0), 0xa282ead8u);
}

}  // namespace
}  // namespace tessera
