#include "serving/server/flag_facts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/server/server_options.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(FlagFactsTest, EveryExampleIsTaken) {
  ServerOptions options;
  FlagParser flags = options.Flags();
  for (const FlagParser::Flag& flag : flags.flags()) {
    const auto facts = ServerFlagFacts(flag);
    ASSERT_EQ(facts.front().first, "example");
    const std::string& example = facts.front().second;
    EXPECT_NE(example.back(), '=') << example << " needs a value in flag_facts.cc";
    EXPECT_TRUE(flags.Parse({example}).ok()) << example;
    EXPECT_THAT(flags.unknown(), IsEmpty()) << example;
  }
}

TEST(FlagFactsTest, TellTheKeyOfTheFileAndWhoHasTheFlag) {
  ServerOptions options;
  const FlagParser flags = options.Flags();
  EXPECT_THAT(ServerFlagFacts(*flags.Find("port")),
              ElementsAre(Pair("example", "--port=8500"), Pair("YAML key", "port"),
                          Pair("tensorflow_model_server", "port")));
  EXPECT_THAT(ServerFlagFacts(*flags.Find("batching_mode")),
              ElementsAre(Pair("example", "--batching_mode=adaptive"),
                          Pair("YAML key", "batching_mode, or mode under batching"),
                          Pair("tensorflow_model_server", "has no such flag")));
  EXPECT_THAT(ServerFlagFacts(*flags.Find("config"))[1].second, "none: for the command line alone");
}

}  // namespace
}  // namespace tessera::serving
