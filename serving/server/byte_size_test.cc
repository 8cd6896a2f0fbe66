#include "serving/server/byte_size.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(ByteSizeTest, ReadsNumbersWithUnits) {
  EXPECT_EQ(*ParseByteSize("1073741824"), 1073741824);
  EXPECT_EQ(*ParseByteSize("7B"), 7);
  EXPECT_EQ(*ParseByteSize("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(*ParseByteSize("512mi"), int64_t{512} << 20);
  EXPECT_EQ(*ParseByteSize("1.5 GB"), 1500000000);
  EXPECT_EQ(*ParseByteSize("2k"), 2000);
  EXPECT_EQ(*ParseByteSize("1TiB"), int64_t{1} << 40);
}

TEST(ByteSizeTest, RefusesTheRest) {
  for (const char* text : {"", "GB", "-1", "0", "0.5", "1X", "1GiBB", "1 G B", "1e3", "1.2.3",
                           "9999999TiB", "iB", "5i", "nan", "inf"}) {
    EXPECT_FALSE(ParseByteSize(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tessera::serving
