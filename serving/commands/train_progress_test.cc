#include "serving/commands/train_progress.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(TrainProgressTest, TheBarTellsRateLossAndTimeLeft) {
  EXPECT_EQ(ProgressText(50, 200, 0.125, 6400, 100),
            "[######                  ] step 50 of 200  loss 0.125  6400 examples/s  1s left");
}

TEST(TrainProgressTest, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(ProgressText(0, 200, 0, 0, 0), "[                        ] step 0 of 200");
  EXPECT_EQ(ProgressText(7, 0, 0.5, 0, 12.34), "step 7  loss 0.5  12.3 steps/s");
  EXPECT_EQ(ProgressText(200, 200, 0.5, 1, 1),
            "[########################] step 200 of 200  loss 0.5  1 examples/s");
}

TEST(TrainProgressTest, RecordsAreLinesForPeople) {
  EXPECT_EQ(RecordText({.event = "step", .step = 3, .numbers = {{"loss", 1}}}), "");
  EXPECT_EQ(RecordText({.event = "eval", .step = 3, .numbers = {{"accuracy", 0.98}}}),
            "step 3: eval  accuracy 0.98");
  EXPECT_EQ(RecordText({.event = "checkpoint", .step = 3, .texts = {{"path", "run/c/step-3"}}}),
            "step 3: checkpoint  run/c/step-3");
}

}  // namespace
}  // namespace tessera::serving
