#include "serving/server/flag_parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FlagParserTest : public ::testing::Test {
 protected:
  FlagParserTest() {
    parser_.Add("port", &port_, "a port");
    parser_.Add("wait", &wait_, "a wait");
    parser_.Add("share", &share_, "a share");
    parser_.Add("enable_batching", &batching_, "a switch");
    parser_.Add("name", &name_, "a name");
  }
  absl::Status Parse(std::vector<std::string> args) { return parser_.Parse(args); }

  int32_t port_ = 8500;
  int64_t wait_ = 60000000;
  float share_ = 0;
  bool batching_ = false;
  std::string name_ = "default";
  FlagParser parser_;
};

TEST_F(FlagParserTest, TakesOnlyDoubleDashAndEquals) {
  ASSERT_TRUE(Parse({"--port", "1", "-port=2", "--enable_batchingX", "port=3", "--nope=4"}).ok());
  EXPECT_EQ(port_, 8500);
  EXPECT_FALSE(batching_);
  EXPECT_THAT(parser_.unknown(),
              ElementsAre("--port", "1", "-port=2", "--enable_batchingX", "port=3", "--nope=4"));
}

TEST_F(FlagParserTest, NumbersAreReadAsScanfDoes) {
  for (const char* good : {"--port=7", "--port= 7", "--port=+7"}) {
    port_ = 0;
    EXPECT_TRUE(Parse({good}).ok()) << good;
    EXPECT_EQ(port_, 7);
  }
  EXPECT_TRUE(Parse({"--wait=-9000000000"}).ok());
  EXPECT_EQ(wait_, -9000000000);
  EXPECT_TRUE(Parse({"--share=2.5e-1"}).ok());
  EXPECT_EQ(share_, 0.25f);
  for (const char* bad : {"0x2", "12x", "1.5", "", "2147483648", "7 ", "seven"}) {
    EXPECT_EQ(Parse({std::string("--port=") + bad}),
              absl::InvalidArgumentError(std::string("Couldn't interpret value ") + bad +
                                         " for flag port."));
  }
}

TEST_F(FlagParserTest, BoolsAreOneZeroTrueFalseInAnyCase) {
  for (const char* yes : {"--enable_batching", "--enable_batching=1", "--enable_batching=TRUE",
                          "--enable_batching=True"}) {
    batching_ = false;
    EXPECT_TRUE(Parse({yes}).ok());
    EXPECT_TRUE(batching_) << yes;
  }
  EXPECT_TRUE(Parse({"--enable_batching=False"}).ok());
  EXPECT_FALSE(batching_);
  for (const char* bad : {"t", "yes", "on", "2", " true", ""}) {
    EXPECT_FALSE(Parse({std::string("--enable_batching=") + bad}).ok()) << bad;
  }
}

TEST_F(FlagParserTest, LastValueCountsAndStringsMayHoldAnything) {
  ASSERT_TRUE(Parse({"--name=a", "--name=b=c --port=1"}).ok());
  EXPECT_EQ(name_, "b=c --port=1");
}

TEST_F(FlagParserTest, DoubleDashEndsTheFlags) {
  ASSERT_TRUE(Parse({"--port=1", "--", "--port=2"}).ok());
  EXPECT_EQ(port_, 1);
  EXPECT_THAT(parser_.unknown(), ElementsAre("--", "--port=2"));
}

TEST_F(FlagParserTest, HelpAndUsage) {
  EXPECT_TRUE(absl::IsCancelled(Parse({"--help"})));
  const std::string usage = parser_.Usage("prog");
  EXPECT_EQ(usage.find("usage: prog\nFlags:\n\t--port=8500"), 0);
  EXPECT_THAT(usage, HasSubstr("\tint32\ta port\n"));
  EXPECT_THAT(usage, HasSubstr("--enable_batching=false"));
  EXPECT_THAT(usage, HasSubstr("--name=\"default\""));
}

TEST_F(FlagParserTest, TakesSeparateValuesWhereAllowed) {
  parser_.AllowSeparateValues();
  ASSERT_TRUE(
      Parse({"--port", "1", "--enable_batching", "x", "--name", "--wait", "--wait=5"}).ok());
  EXPECT_EQ(port_, 1);
  EXPECT_TRUE(batching_);
  EXPECT_EQ(name_, "--wait");
  EXPECT_EQ(wait_, 5);
  EXPECT_THAT(parser_.unknown(), ElementsAre("x"));
  EXPECT_EQ(Parse({"x", "--port"}), absl::InvalidArgumentError("--port lacks its value"));
}

TEST_F(FlagParserTest, ARepeatedFlagGathersItsValues) {
  std::vector<std::string> inputs;
  parser_.Add("input", &inputs, "an input", "NAME=VALUE");
  ASSERT_TRUE(Parse({"--input=a=1", "--port=2", "--input=b=2,3"}).ok());
  EXPECT_THAT(inputs, ElementsAre("a=1", "b=2,3"));
}

TEST_F(FlagParserTest, NamesMayBeWrittenWithDashes) {
  ASSERT_TRUE(Parse({"--enable-batching", "--enable-batchinG"}).ok());
  EXPECT_TRUE(batching_);
  EXPECT_THAT(parser_.unknown(), ElementsAre("--enable-batchinG"));
  EXPECT_EQ(parser_.Find("enable-batching")->name, "enable_batching");
}

TEST_F(FlagParserTest, AWrongValueKeepsNoLaterFlagFromBeingSet) {
  EXPECT_EQ(Parse({"--port=x", "--wait=y", "--share=0.5"}).message(),
            "Couldn't interpret value x for flag port.");
  EXPECT_EQ(parser_.errors().size(), 2);
  EXPECT_EQ(share_, 0.5f);
}

TEST_F(FlagParserTest, FlagsBelongToTheGroupThatWasBegunLast) {
  bool extra = false;
  parser_.BeginGroup("Extra", /*is_extension=*/true);
  parser_.Add("extra", &extra, "more");
  EXPECT_EQ(parser_.Find("port")->group, "");
  EXPECT_FALSE(parser_.Find("port")->is_extension);
  EXPECT_EQ(parser_.Find("extra")->group, "Extra");
  EXPECT_TRUE(parser_.Find("extra")->is_extension);
}

TEST_F(FlagParserTest, SetsOneByName) {
  EXPECT_TRUE(parser_.Set("port", "9").ok());
  EXPECT_EQ(port_, 9);
  EXPECT_TRUE(absl::IsNotFound(parser_.Set("nope", "9")));
}

}  // namespace
}  // namespace tessera::serving
