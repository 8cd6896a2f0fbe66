#include "serving/frontend/dashboard/version_history.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(VersionHistoryTest, KeepsTheLatestOfBothKindsInOrder) {
  VersionHistory history;
  EXPECT_EQ(history.revision(), 0);
  const int num_states = VersionHistory::kMaxStates + 3;
  for (int i = 0; i < num_states; ++i) {
    history.Add(ServableState{.id = {"m", i}, .state = State::kLoading});
  }
  const int num_loads = VersionHistory::kMaxLoads + 2;
  for (int i = 0; i < num_loads; ++i) {
    history.Add(LoadReport{.id = {"m", i}, .stages = {{"read", absl::Seconds(i)}}});
  }
  EXPECT_EQ(history.revision(), num_states + num_loads);

  const auto states = history.states();
  ASSERT_EQ(states.size(), VersionHistory::kMaxStates);
  EXPECT_EQ(states.front().id.version, 3);
  EXPECT_EQ(states.back().id.version, num_states - 1);
  const auto loads = history.loads();
  ASSERT_EQ(loads.size(), VersionHistory::kMaxLoads);
  EXPECT_EQ(loads.front().number, 3);
  EXPECT_EQ(loads.front().report.id.version, 2);
  EXPECT_EQ(loads.back().report.stages[0].second, absl::Seconds(num_loads - 1));
}

}  // namespace
}  // namespace tessera::serving
