#include "serving/rollout/judgement.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

// A healthy version: 1 ms, p99 2 ms, without errors. Its quantiles are known well.
VersionMeasures Healthy(int64_t requests) {
  VersionMeasures measures;
  measures.set_requests(requests);
  measures.set_answers_checked(requests);
  measures.set_p50_micros(1000);
  measures.set_p50_low_micros(990);
  measures.set_p99_micros(2000);
  measures.set_p99_low_micros(1900);
  return measures;
}

// Judges a candidate with 500 requests beside a live version with 10,000.
struct Case {
  RolloutConditions conditions;
  VersionMeasures live = Healthy(10'000);
  VersionMeasures candidate = Healthy(500);

  Verdict Judged() const { return Judge(WithDefaults(conditions), 3, live, candidate); }
  void SetErrors(int64_t errors) {
    candidate.set_errors(errors);
    candidate.set_error_rate(static_cast<double>(errors) /
                             static_cast<double>(candidate.requests()));
  }
  void SetCompared(int64_t compared) {
    candidate.set_compared(compared);
    candidate.set_mean_abs_difference(0.5);
    candidate.set_top1_agreement(0.9);
    candidate.set_psi(0.2);
  }
};

#define EXPECT_VERDICT(c, expected, text)                     \
  {                                                           \
    const Verdict verdict = (c).Judged();                     \
    EXPECT_EQ(verdict.judgement, expected) << verdict.reason; \
    EXPECT_THAT(verdict.reason, text);                        \
  }

TEST(JudgementTest, DefaultsFillInWhatIsUnsetAlone) {
  const RolloutConditions filled = WithDefaults({});
  EXPECT_EQ(filled.window_seconds(), 60);
  EXPECT_EQ(filled.min_requests(), 100);
  EXPECT_EQ(filled.max_error_rate_increase(), 0.01);
  EXPECT_EQ(filled.max_p99_ratio(), 1.5);
  EXPECT_TRUE(filled.has_max_non_finite_share());
  EXPECT_FALSE(filled.has_max_p50_ratio() || filled.has_max_mean_abs_difference() ||
               filled.has_min_top1_agreement() || filled.has_max_psi());
  RolloutConditions own;
  own.set_window_seconds(5);
  own.set_min_requests(7);
  own.set_max_error_rate_increase(0);
  own.set_max_p99_ratio(9);
  own.set_max_non_finite_share(0.5);
  EXPECT_EQ(WithDefaults(own).SerializeAsString(), own.SerializeAsString());
}

TEST(JudgementTest, AHealthyCandidatePasses) {
  Case c;
  EXPECT_VERDICT(c, Judgement::kPass,
                 "all limits are kept: error rate 0 %, that of version 3 0 %, p99 2 ms and 2 ms "
                 "(500 requests in 60 s)");
}

TEST(JudgementTest, TooFewRequests) {
  Case c;
  c.candidate = Healthy(99);
  EXPECT_VERDICT(c, Judgement::kTooFew, "99 of 100 requests so far in 60 s");
  c.SetErrors(99);  // not judged before
  EXPECT_VERDICT(c, Judgement::kTooFew, HasSubstr("99 of 100"));
  c.candidate = {};
  c.conditions.set_min_requests(1);
  EXPECT_VERDICT(c, Judgement::kTooFew, HasSubstr("0 of 1"));
}

TEST(JudgementTest, ErrorsOverThoseOfLive) {
  Case c;
  c.SetErrors(250);
  EXPECT_VERDICT(c, Judgement::kFail,
                 "error rate is 50 %, that of version 3 is 0 %, over the limit of 1 % more "
                 "(500 requests in 60 s)");
  c.live.set_error_rate(0.5);  // clients' errors, which both versions have
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("error rate 50 %"));
}

TEST(JudgementTest, AnErrorRateThatChanceExplainsPasses) {
  Case c;
  c.candidate = Healthy(100);
  c.SetErrors(3);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("error rate 3 %"));
  c.SetErrors(4);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("error rate is 4 %"));
  // Many requests leave chance little room.
  c.candidate = Healthy(100'000);
  c.SetErrors(1'200);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("error rate is 1.2 %"));
}

TEST(JudgementTest, AFewErrorsOfLiveExcuseNone) {
  Case c;
  c.SetErrors(200);
  c.live = Healthy(2);
  c.live.set_error_rate(0.5);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("error rate is 40 %, that of version 3 is 50 %"));
  c.live = Healthy(99);
  c.live.set_error_rate(0.4);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("error rate is 40 %"));
  // With min_requests the share counts as it is. Bounds of both would be equally far below.
  c.live = Healthy(100);
  c.live.set_error_rate(0.4);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.SetErrors(220);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("error rate 44 %"));
}

TEST(JudgementTest, WithALimitOfZeroOneErrorFails) {
  Case c;
  c.conditions.set_max_error_rate_increase(0);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.SetErrors(1);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("error rate is 0.2 %"));
}

TEST(JudgementTest, P99OverLives) {
  Case c;
  c.candidate.set_p99_micros(4600);
  c.candidate.set_p99_low_micros(3800);
  EXPECT_VERDICT(c, Judgement::kFail,
                 "p99 is 4.6 ms, 2.3 times that of version 3 (at least 1.9), over the limit of 1.5 "
                 "(500 requests in 60 s)");
  c.candidate.set_p99_low_micros(2900);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("p99 4.6 ms"));
}

TEST(JudgementTest, DifferencesThatNobodyNoticesAreNone) {
  Case c;
  c.live.set_p99_micros(60);
  c.candidate.set_p99_micros(320);
  c.candidate.set_p99_low_micros(309);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.candidate.set_p99_low_micros(311);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("p99 is 320 us"));
}

TEST(JudgementTest, P50IsJudgedIfItHasALimit) {
  Case c;
  c.candidate.set_p50_micros(2000);
  c.candidate.set_p50_low_micros(1990);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.conditions.set_max_p50_ratio(1.3);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("p50 is 2 ms, 2 times that of version 3"));
}

TEST(JudgementTest, LatenciesAreNotJudgedWithoutEnoughOfLive) {
  Case c;
  c.candidate.set_p99_low_micros(1e6);
  c.live = Healthy(99);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.live = {};
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  // Requests that failed have no latency.
  c.live = Healthy(10'000);
  c.candidate.set_errors(401);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
}

TEST(JudgementTest, NonFiniteAnswers) {
  Case c;
  c.candidate.set_non_finite_share(0.002);
  EXPECT_VERDICT(c, Judgement::kFail,
                 "NaN or infinities are in 0.2 % of the answers, in 0 % of those of version 3, "
                 "over the limit of 0 % (500 answers in 60 s)");
  c.live.set_non_finite_share(0.002);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.candidate.set_non_finite_share(0.5);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("50 %"));
  c.conditions.set_max_non_finite_share(0.6);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  // Two answers of live say little.
  c.conditions.clear_max_non_finite_share();
  c.live.set_non_finite_share(0.5);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.live.set_answers_checked(2);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("50 %"));
}

TEST(JudgementTest, MirroredRequestsThatTheCandidateAloneFails) {
  Case c;
  c.candidate.set_compared(60);
  c.candidate.set_mirror_errors(39);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.candidate.set_mirror_errors(40);
  EXPECT_VERDICT(c, Judgement::kFail,
                 "40 % of the mirrored requests that version 3 answered failed, over the limit of "
                 "1 % (100 mirrored in 60 s)");
  // Mirrored requests show it before the candidate has had enough of its own.
  c.candidate.set_requests(1);
  EXPECT_VERDICT(c, Judgement::kFail, HasSubstr("mirrored"));
}

TEST(JudgementTest, DriftIsJudgedByTheLimitsThatAreSet) {
  Case c;
  c.SetCompared(200);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.conditions.set_max_mean_abs_difference(0.6);
  c.conditions.set_min_top1_agreement(0.8);
  c.conditions.set_max_psi(0.25);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  Case difference = c, agreement = c, psi = c;
  difference.conditions.set_max_mean_abs_difference(0.4);
  EXPECT_VERDICT(difference, Judgement::kFail,
                 "answers differ from those of version 3 by 0.5 in the mean, over the limit of 0.4 "
                 "(200 compared in 60 s)");
  agreement.conditions.set_min_top1_agreement(0.95);
  EXPECT_VERDICT(agreement, Judgement::kFail,
                 "top-1 agreement with version 3 is 90 %, below the limit of 95 % (200 compared in "
                 "60 s)");
  psi.conditions.set_max_psi(0.1);
  EXPECT_VERDICT(psi, Judgement::kFail,
                 "PSI of the outputs against version 3 is 0.2, over the limit of 0.1 (200 compared "
                 "in 60 s)");
}

TEST(JudgementTest, MismatchedAnswersBreakEveryLimitOfDrift) {
  Case c;
  c.SetCompared(200);
  c.candidate.set_mismatched(2);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
  c.conditions.set_max_psi(100);
  EXPECT_VERDICT(c, Judgement::kFail,
                 "2 of 200 mirrored answers have outputs of other names, types or shapes than "
                 "those of version 3");
}

TEST(JudgementTest, ALimitOfDriftNeedsComparisons) {
  Case c;
  c.conditions.set_max_psi(0.1);
  EXPECT_VERDICT(c, Judgement::kTooFew,
                 "0 of 100 mirrored requests compared so far in 60 s, 0 dropped");
  c.SetCompared(99);
  c.candidate.set_mirror_dropped(4);
  EXPECT_VERDICT(c, Judgement::kTooFew, HasSubstr("99 of 100 mirrored"));
  c.SetCompared(100);
  c.candidate.clear_psi();
  EXPECT_VERDICT(c, Judgement::kTooFew, HasSubstr("too few values for a PSI"));
  EXPECT_EQ(
      Judge(WithDefaults(c.conditions), 3, c.live, c.candidate, /*are_mirrored=*/false).judgement,
      Judgement::kPass);
  // Without requests to live there is nothing to mirror.
  c.live = Healthy(5);
  EXPECT_VERDICT(c, Judgement::kPass, HasSubstr("kept"));
}

}  // namespace
}  // namespace tessera::serving
