#include "serving/core/version_policy.h"

#include <vector>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using State = VersionSnapshot::State;
using Versions = std::vector<VersionSnapshot>;

std::optional<VersionAction> Load(int64_t version) {
  return VersionAction{VersionAction::Kind::kLoad, version};
}
std::optional<VersionAction> Unload(int64_t version) {
  return VersionAction{VersionAction::Kind::kUnload, version};
}

TEST(VersionPolicyTest, LoadsTheNewVersionBeforeUnloadingTheOld) {
  EXPECT_EQ(NextAction(Versions{{1, State::kReady, false}, {2, State::kNew, true}}), Load(2));
  EXPECT_EQ(NextAction(Versions{{1, State::kReady, false}, {2, State::kLoading, true}}),
            std::nullopt);
  EXPECT_EQ(NextAction(Versions{{1, State::kReady, false}, {2, State::kReady, true}}), Unload(1));
}

TEST(VersionPolicyTest, FailedNewVersionLeavesTheOldOne) {
  EXPECT_EQ(NextAction(Versions{{1, State::kReady, false}, {2, State::kEnded, true}}),
            std::nullopt);
}

TEST(VersionPolicyTest, OfSeveralOldOnesAllButOneGoEarlyLowestFirst) {
  Versions versions{{3, State::kReady, false}, {1, State::kReady, false}, {2, State::kReady, false},
                    {4, State::kNew, true},    {6, State::kNew, true},    {5, State::kNew, true}};
  EXPECT_EQ(NextAction(versions), Unload(1));
  versions[1].state = State::kUnloading;
  EXPECT_EQ(NextAction(versions), Unload(2));
  versions[2].state = State::kUnloading;
  EXPECT_EQ(NextAction(versions), Load(6));
}

TEST(VersionPolicyTest, UnloadsEverythingWhenNothingIsAspired) {
  EXPECT_EQ(NextAction(Versions{{7, State::kReady, false}}), Unload(7));
  EXPECT_EQ(NextAction(Versions{{7, State::kUnloading, false}}), std::nullopt);
}

}  // namespace
}  // namespace tessera::serving
