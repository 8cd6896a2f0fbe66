#include "runtime/framework/device_name.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(DeviceNameTest, ParsesFullPartialAndShortForms) {
  EXPECT_EQ(DeviceName::Parse("/job:worker/replica:0/task:1/device:CPU:0")->ToString(),
            "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(DeviceName::Parse("/cpu:0")->ToString(), "/device:CPU:0");
  EXPECT_EQ(DeviceName::Parse("/device:gpu:*")->ToString(), "/device:GPU:*");
  EXPECT_EQ(DeviceName::Parse("")->ToString(), "");
  EXPECT_FALSE(DeviceName::Parse("/task:x").ok());
  EXPECT_FALSE(DeviceName::Parse("/cpu:-1").ok());
}

TEST(DeviceNameTest, OpenPartsMatchAnything) {
  const DeviceName full = *DeviceName::Parse("/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_TRUE(DeviceName::Parse("")->Matches(full));
  EXPECT_TRUE(DeviceName::Parse("/job:localhost/cpu:0")->Matches(full));
  EXPECT_FALSE(DeviceName::Parse("/gpu:0")->Matches(full));
  EXPECT_FALSE(DeviceName::Parse("/task:1")->Matches(full));
}

TEST(DeviceNameTest, MergingClashingNamesFails) {
  DeviceName name = *DeviceName::Parse("/task:1");
  EXPECT_TRUE(name.MergeFrom(*DeviceName::Parse("/device:CPU:0")).ok());
  EXPECT_EQ(name.ToString(), "/task:1/device:CPU:0");
  EXPECT_EQ(name.MergeFrom(*DeviceName::Parse("/gpu:0")).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
