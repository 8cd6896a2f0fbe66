#include "serving/core/servable_state_monitor.h"

#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

void Tell(ServableEventBus& bus, const char* name, int64_t version, State state,
          absl::Status health = absl::OkStatus()) {
  bus.Publish({{name, version}, state, health, absl::Now()});
}

TEST(ServableStateMonitorTest, KeepsTheLatestStateHighestVersionFirst) {
  ServableEventBus bus;
  ServableStateMonitor monitor(&bus);
  Tell(bus, "m", 1, State::kStart);
  Tell(bus, "m", 10, State::kStart);
  Tell(bus, "m", 1, State::kEnd, absl::DataLossError("torn"));
  Tell(bus, "other", 5, State::kStart);

  const auto states = monitor.StatesOf("m");
  ASSERT_EQ(states.size(), 2);
  EXPECT_EQ(states.begin()->first, 10);
  EXPECT_EQ(states.rbegin()->second.state, State::kEnd);
  EXPECT_EQ(states.rbegin()->second.health.message(), "torn");
  EXPECT_TRUE(monitor.StatesOf("nobody").empty());
}

TEST(ServableStateMonitorTest, WaitEndsWithTheEventOrTheDeadline) {
  ServableEventBus bus;
  ServableStateMonitor monitor(&bus);
  auto available = [](const ServableStateMonitor::AllStates& states) {
    auto it = states.find("m");
    return it != states.end() && it->second.begin()->second.state == State::kAvailable;
  };
  EXPECT_FALSE(monitor.WaitUntil(available, absl::Now() + absl::Milliseconds(10)));
  std::thread teller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    Tell(bus, "m", 1, State::kAvailable);
  });
  EXPECT_TRUE(monitor.WaitUntil(available, absl::InfiniteFuture()));
  teller.join();
}

TEST(ServableStateMonitorTest, ForgetsTheLowestEndedVersionsOnly) {
  ServableEventBus bus;
  ServableStateMonitor monitor(&bus);
  Tell(bus, "m", 0, State::kAvailable);
  const int64_t many = ServableStateMonitor::kMaxEndedVersions;
  for (int64_t v = 1; v <= many + 5; ++v) Tell(bus, "m", v, State::kEnd);
  const auto states = monitor.StatesOf("m");
  EXPECT_EQ(states.size(), many);
  EXPECT_EQ(states.rbegin()->second.state, State::kAvailable);
  EXPECT_EQ(states.begin()->first, many + 5);
}

TEST(ServableEventBusTest, NoEventAfterTheSubscriptionEnds) {
  ServableEventBus bus;
  int events = 0;
  auto subscription = bus.Subscribe([&](const ServableState&) { ++events; });
  Tell(bus, "m", 1, State::kStart);
  subscription.reset();
  Tell(bus, "m", 1, State::kLoading);
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace tessera::serving
