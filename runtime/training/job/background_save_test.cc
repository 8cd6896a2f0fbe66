#include "runtime/training/job/background_save.h"

#include <memory>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(BackgroundSaveTest, NothingIsUnderWayAtFirst) {
  BackgroundSave save;
  EXPECT_FALSE(save.Finish(/*wait=*/false));
  EXPECT_FALSE(save.Finish(/*wait=*/true));
}

TEST(BackgroundSaveTest, TheCallerGoesOnWhileTheFileIsWritten) {
  BackgroundSave save;
  absl::Notification go_on;
  save.Start(7, [&]() -> absl::StatusOr<std::string> {
    go_on.WaitForNotification();
    return "step-7";
  });
  EXPECT_FALSE(save.Finish(/*wait=*/false));
  go_on.Notify();
  const auto result = save.Finish(/*wait=*/true);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->step, 7);
  EXPECT_EQ(*result->prefix, "step-7");
  EXPECT_FALSE(save.Finish(/*wait=*/true)) << "a result is returned once";
}

TEST(BackgroundSaveTest, ErrorsComeOutAndAnotherSaveMayFollow) {
  BackgroundSave save;
  save.Start(1, [] { return absl::ResourceExhaustedError("disk"); });
  EXPECT_TRUE(absl::IsResourceExhausted(save.Finish(/*wait=*/true)->prefix.status()));
  save.Start(2, [] { return "step-2"; });
  EXPECT_EQ(*save.Finish(/*wait=*/true)->prefix, "step-2");
}

TEST(BackgroundSaveTest, WhatWasSavedIsReleasedWithTheResult) {
  BackgroundSave save;
  auto snapshot = std::make_shared<int>(3);
  save.Start(1, [snapshot] { return std::to_string(*snapshot); });
  EXPECT_EQ(*save.Finish(/*wait=*/true)->prefix, "3");
  EXPECT_EQ(snapshot.use_count(), 1);
}

TEST(BackgroundSaveTest, TheDestructorWaits) {
  bool is_written = false;
  {
    BackgroundSave save;
    save.Start(1, [&] {
      is_written = true;
      return "step-1";
    });
  }
  EXPECT_TRUE(is_written);
}

}  // namespace
}  // namespace tessera
