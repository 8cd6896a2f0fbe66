#include "serving/frontend/traceparent.h"

#include <string>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kValue[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceparentTest, GivesTheTraceId) { EXPECT_EQ(TraceIdOf(kValue), kTrace); }

TEST(TraceparentTest, LaterVersionsMayHaveMoreFields) {
  std::string later = kValue;
  later[1] = '1';
  EXPECT_EQ(TraceIdOf(later), kTrace);
  EXPECT_EQ(TraceIdOf(later + "-what-the-future-brings"), kTrace);
  EXPECT_EQ(TraceIdOf(later + "."), "");
}

TEST(TraceparentTest, MalformedValuesCountAsAbsent) {
  const std::string value = kValue;
  EXPECT_EQ(TraceIdOf(value + "-01"), "") << "version 00 has four fields";
  EXPECT_EQ(TraceIdOf("ff" + value.substr(2)), "") << "no version";
  EXPECT_EQ(TraceIdOf("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), "");
  EXPECT_EQ(TraceIdOf("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"), "");
  EXPECT_EQ(TraceIdOf("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"), "");
  EXPECT_EQ(TraceIdOf(value + ", " + value), "") << "two headers, joined on their way";
  // Every truncation, and every character that is replaced by one that fits nowhere.
  for (size_t i = 0; i < value.size(); ++i) {
    EXPECT_EQ(TraceIdOf(value.substr(0, i)), "") << i;
    std::string wrong = value;
    wrong[i] = 'g';
    EXPECT_EQ(TraceIdOf(wrong), "") << wrong;
  }
}

}  // namespace
}  // namespace tessera::serving
