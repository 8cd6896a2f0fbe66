#include "serving/commands/rollout_text.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

RolloutStatus Trying() {
  RolloutStatus status;
  status.set_model("resnet");
  status.set_phase(ROLLOUT_STEP);
  status.set_stable_version(3);
  status.set_candidate_version(14);
  status.set_share_percent(2.5);
  status.set_step(1);
  for (int i = 0; i < 4; ++i) status.mutable_config()->add_steps();
  status.add_rejected_versions(1);
  status.add_rejected_versions(2);
  return status;
}

TEST(RolloutTextTest, TheTableHasALineForEachModel) {
  RolloutStatus idle;
  idle.set_model("m");
  idle.set_stable_version(1);
  EXPECT_EQ(RolloutTable({Trying(), idle}),
            "MODEL   PHASE  STABLE  CANDIDATE  SHARE  STEP  REJECTED\n"
            "resnet  step        3         14  2.5 %   2/4  1, 2\n"
            "m       idle        1          -    0 %     -\n");
}

TEST(RolloutTextTest, DetailsCompareTheVersions) {
  RolloutStatus status = Trying();
  status.mutable_live()->set_requests(1000);
  status.mutable_live()->set_p50_micros(1500);
  status.mutable_live()->set_p99_micros(40'000);
  status.mutable_candidate()->set_requests(25);
  status.mutable_candidate()->set_error_rate(0.04);
  status.mutable_candidate()->set_p50_micros(2);
  status.mutable_candidate()->set_compared(7);
  status.mutable_candidate()->set_top1_agreement(0.5);
  status.set_reason("25 requests of 100");
  EXPECT_EQ(RolloutDetails(status),
            "MODEL   PHASE  STABLE  CANDIDATE  SHARE  STEP  REJECTED\n"
            "resnet  step        3         14  2.5 %   2/4  1, 2\n"
            "\n"
            "VERSION       REQUESTS  ERRORS       P50    P99  NOT FINITE\n"
            "3 stable          1000     0 %    1.5 ms  40 ms         0 %\n"
            "14 candidate        25     4 %  0.002 ms   0 ms         0 %\n"
            "\n"
            "7 mirrored requests: mean difference 0, top-1 agreement 50 %, PSI 0; 0 failed, 0 were "
            "dropped\n"
            "\n"
            "25 requests of 100\n");
}

TEST(RolloutTextTest, AnEventIsOneLine) {
  RolloutEvent event;
  event.set_model("m");
  event.set_version(4);
  event.set_kind("rolled_back");
  event.set_unix_seconds(1.5);
  EXPECT_EQ(RolloutEventLine(event, absl::UTCTimeZone()), "1970-01-01 00:00:01  m 4 rolled_back");
  event.set_by_hand(true);
  event.set_reason("NaN");
  EXPECT_EQ(RolloutEventLine(event, absl::UTCTimeZone()),
            "1970-01-01 00:00:01  m 4 rolled_back by hand: NaN");
}

}  // namespace
}  // namespace tessera::serving
