#include "runtime/host/share.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr int kCrowd = 2;
constexpr int64_t kSecond = 1'000'000'000;

class GivesWayTest : public testing::Test {
 protected:
  GivesWayTest() {
    for (int i = 0; i <= kCrowd; ++i) flood_.BeginRequest();
    flood_.NoteRun(now_);
  }
  // Looks a moment after the last look, so that what that found does not count any more.
  bool FloodGivesWay() {
    now_ += kSecond / 100;
    return shares_.GivesWay(flood_, kCrowd, now_);
  }

  Shares shares_;
  Share& flood_ = *shares_.Get("flood");
  Share& other_ = *shares_.Get("other");
  int64_t now_ = 1000 * kSecond;
};

TEST_F(GivesWayTest, ACrowdAloneDoesNot) { EXPECT_FALSE(FloodGivesWay()); }

TEST_F(GivesWayTest, ACrowdDoesWhileAnotherShareRuns) {
  other_.NoteRun(now_);
  EXPECT_TRUE(FloodGivesWay());
  now_ += 2 * kSecond;
  EXPECT_FALSE(FloodGivesWay()) << "the other one has not run for more than a second";
}

TEST_F(GivesWayTest, FewRequestsNever) {
  other_.NoteRun(now_);
  flood_.EndRequest();
  EXPECT_FALSE(FloodGivesWay());
}

TEST_F(GivesWayTest, TwoCrowdsCompeteAsEquals) {
  other_.NoteRun(now_);
  for (int i = 0; i <= kCrowd; ++i) other_.BeginRequest();
  EXPECT_FALSE(FloodGivesWay());
  other_.EndRequest();
  EXPECT_TRUE(FloodGivesWay());
}

TEST_F(GivesWayTest, ALargerWeightIsNotForALesserOne) {
  other_.NoteRun(now_);
  flood_.set_weight(2);
  EXPECT_FALSE(FloodGivesWay());
  other_.set_weight(2);
  EXPECT_TRUE(FloodGivesWay());
}

TEST_F(GivesWayTest, TheShareThatRunsDoesNotGiveWayItself) {
  other_.NoteRun(now_);
  other_.BeginRequest();
  EXPECT_FALSE(shares_.GivesWay(other_, kCrowd, now_));
}

}  // namespace
}  // namespace tessera
