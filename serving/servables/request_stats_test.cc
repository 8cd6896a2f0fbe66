#include "serving/servables/request_stats.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

const absl::Time kArrived = absl::FromUnixSeconds(1000);

// A request that took 10, 20, 30, 40 and 50 us in the phases, in their order.
RequestTimes FivePhases() {
  RequestTimes times{.arrived = kArrived};
  times.waited = absl::Microseconds(20);
  times.run_began = kArrived + absl::Microseconds(10 + 20);
  times.batched = absl::Microseconds(30);
  times.run_ended = times.run_began + absl::Microseconds(30 + 40);
  return times;
}

TEST(RequestStatsTest, PhasesAddUpToTheWhole) {
  RequestStats stats;
  RequestCell& cell = stats.Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
  cell.End(absl::OkStatus(), FivePhases(), kArrived + absl::Microseconds(150));
  EXPECT_DOUBLE_EQ(cell.latency().Read().sample_sum, 150);
  const RequestPhase phases[] = {RequestPhase::kDecode, RequestPhase::kWait, RequestPhase::kBatch,
                                 RequestPhase::kRun, RequestPhase::kEncode};
  for (int i = 0; i < 5; ++i) {
    EXPECT_DOUBLE_EQ(cell.latency(phases[i]).Read().sample_sum, 10 * (i + 1)) << kPhaseNames[i];
    EXPECT_EQ(cell.latency(phases[i]).Read().sample_count, 1u) << kPhaseNames[i];
  }
}

TEST(RequestStatsTest, FailuresAreCountedByCodeAndHaveNoLatency) {
  RequestStats stats;
  for (const absl::Status& status : {absl::NotFoundError(""), absl::NotFoundError(""),
                                     absl::Status(static_cast<absl::StatusCode>(99), "")}) {
    stats.Begin(RequestMethod::kRegress, Entrypoint::kRest)
        .End(status, {.arrived = kArrived}, kArrived);
  }
  const RequestCell& cell = stats.Begin(RequestMethod::kRegress, Entrypoint::kRest);
  EXPECT_EQ(cell.ended(absl::StatusCode::kNotFound), 2);
  EXPECT_EQ(cell.ended(absl::StatusCode::kUnknown), 1) << "no code of absl's";
  EXPECT_EQ(cell.ended(absl::StatusCode::kOk), 0);
  EXPECT_EQ(cell.latency().Read().sample_count, 0u);
  EXPECT_EQ(cell.in_flight(), 1);
}

TEST(RequestStatsTest, KnowsWhenARequestSucceededLast) {
  RequestStats stats;
  RequestCell& cell = stats.Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
  EXPECT_EQ(cell.last_success(), absl::UnixEpoch());
  cell.End(absl::OkStatus(), {.arrived = kArrived}, kArrived + absl::Seconds(1));
  cell.End(absl::NotFoundError(""), {.arrived = kArrived}, kArrived + absl::Seconds(2));
  EXPECT_EQ(cell.last_success(), kArrived + absl::Seconds(1));
}

TEST(RequestStatsTest, AClockThatWasSetBackRecordsNoNegativeTimes) {
  RequestStats stats;
  RequestCell& cell = stats.Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
  cell.End(absl::OkStatus(), FivePhases(), kArrived - absl::Hours(1));
  EXPECT_EQ(cell.latency().Read().sample_sum, 0);
  EXPECT_EQ(cell.latency().Read().bucket[0].cumulative_count, 1u);
}

TEST(RequestStatsTest, ShowsTheCellsThatHadRequests) {
  RequestStats stats;
  const auto seen = [&stats] {
    std::vector<std::string> names;
    stats.ForEach([&](absl::string_view method, absl::string_view entrypoint, const RequestCell&) {
      names.push_back(std::string(method) + " " + std::string(entrypoint));
    });
    return names;
  };
  EXPECT_TRUE(seen().empty());
  stats.Begin(RequestMethod::kClassify, Entrypoint::kRest);
  stats.Begin(RequestMethod::kClassify, Entrypoint::kRest);
  stats.Begin(RequestMethod::kMultiInference, Entrypoint::kGrpc);
  EXPECT_EQ(seen(), (std::vector<std::string>{"classify rest", "multi_inference grpc"}));
}

TEST(RequestStatsTest, FirstRequestsOfSeveralThreadsShareACell) {
  for (int round = 0; round < 50; ++round) {
    RequestStats stats;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&stats] {
        stats.Begin(RequestMethod::kPredict, Entrypoint::kGrpc)
            .End(absl::OkStatus(), FivePhases(), kArrived + absl::Microseconds(150));
      });
    }
    for (std::thread& thread : threads) thread.join();
    const RequestCell& cell = stats.Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
    EXPECT_EQ(cell.ended(absl::StatusCode::kOk), 4);
    EXPECT_EQ(cell.in_flight(), 1);
  }
}

TEST(RequestStatsTest, NotesTheWaitForAThread) {
  RequestTimes times;
  bool answered = false;
  auto closure = NotingWait(&times, [&answered] { answered = true; });
  const absl::Time scheduled = absl::Now();
  while (absl::Now() < scheduled + absl::Milliseconds(1)) {
  }
  closure();
  EXPECT_TRUE(answered);
  EXPECT_GE(times.waited, absl::Milliseconds(1));
}

}  // namespace
}  // namespace tessera::serving
