#include "serving/rollout/rollout_state_file.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

RolloutState Sample() {
  RolloutState state;
  RolloutState::Model& model = (*state.mutable_models())["a \"name\" \n"];
  model.set_stable_version(3);
  model.set_previous_version(2);
  model.set_candidate_version(9007199254740993);  // no double
  model.set_candidate_revision(18446744073709551615u);
  model.set_step(2);
  model.set_paused(true);
  auto* rejected = model.add_rejected();
  rejected->set_version(4);
  rejected->set_revision(9223372036854775809u);
  rejected->set_reason("p99 is 41.2 ms");
  (*state.mutable_models())["b"].set_stable_version(1);
  return state;
}

TEST(RolloutStateFileTest, WritesWhatItReads) {
  const std::string path = JoinPath(::testing::TempDir(), "state");
  EXPECT_TRUE(absl::IsNotFound(ReadRolloutState(path).status()));
  ASSERT_TRUE(WriteRolloutState(path, Sample()).ok());
  const auto read = ReadRolloutState(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*read, Sample()));
}

TEST(RolloutStateFileTest, AFileThatWasCutIsDamaged) {
  const std::string text = PrintRolloutState(Sample());
  const size_t end = text.find_last_of('}') + 1;
  ASSERT_GT(end, 100u);
  for (size_t size = 0; size < end; ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ParseRolloutState(text.substr(0, size)).status())) << size;
  }
  EXPECT_TRUE(ParseRolloutState(text.substr(0, end)).ok());
}

TEST(RolloutStateFileTest, HostileValuesAreDamage) {
  const std::pair<const char*, const char*> kBad[] = {
      {R"({"models": {"m": {"stable_version": "-1"}}})", "a version is negative"},
      {R"({"models": {"m": {"stable_version": "4", "candidate_version": "4"}}})",
       "model 'm': candidate 4 is not above the stable version 4"},
      {R"({"models": {"m": {"stable_version": "4", "previous_version": "4"}}})",
       "stable and previous at once"},
      {R"({"models": {"m": {"step": -1}}})", "the step is negative"},
      {R"({"models": {"m": {"rejected": [{"version": 1}, {"version": 1}]}}})", "rejected twice"},
      {R"({"models": {"m": {"stable_version": "99999999999999999999"}}})", "no state of rollouts"},
      {R"({"models": [1]})", "no state of rollouts"},
      {"[]", "no state of rollouts"},
      {"", "no state of rollouts"},
      {"\xff\xfe{}", "no state of rollouts"},
  };
  for (const auto& [text, message] : kBad) {
    const absl::Status status = ParseRolloutState(text).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << text << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(message)) << text;
  }
  EXPECT_TRUE(
      absl::IsDataLoss(ParseRolloutState(std::string(kMaxRolloutStateBytes + 1, ' ')).status()));
  const std::string deep(100000, '[');
  EXPECT_TRUE(absl::IsDataLoss(ParseRolloutState("{\"models\": " + deep).status()));
}

TEST(RolloutStateFileTest, FieldsOfLaterReleasesAreIgnored) {
  const auto state = ParseRolloutState(R"({"models": {"m": {"new": 1, "stable_version": "2"}}})");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->models().at("m").stable_version(), 2);
}

TEST(RolloutStateFileTest, ADamagedFileIsSetAside) {
  const std::string path = JoinPath(::testing::TempDir(), "torn");
  ASSERT_TRUE(WriteFileAtomically(path, "{").ok());
  const auto aside = SetAsideRolloutState(path);
  ASSERT_TRUE(aside.ok());
  EXPECT_EQ(*aside, path + ".damaged");
  EXPECT_EQ(*ReadFile(*aside), "{");
  EXPECT_FALSE(FileExists(path));
}

}  // namespace
}  // namespace tessera::serving
