#include "runtime/checkpoint/checkpoint_state.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CheckpointStateTest, NamesAreThoseWithinTheFolder) {
  const auto state = ParseCheckpointState(
      "model_checkpoint_path: \"/home/trainer/run/ckpt-17\"\n"
      "all_model_checkpoint_paths: \"ckpt-9\"\n"
      "all_model_checkpoint_paths: \"/home/trainer/run/ckpt-17\"\n"
      "all_model_checkpoint_timestamps: 1700000000.125\n"
      "all_model_checkpoint_timestamps: 1700000001\n"
      "last_preserved_timestamp: 1699999999.5\n");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->latest, "ckpt-17");
  EXPECT_THAT(state->all, ElementsAre("ckpt-9", "ckpt-17"));
}

TEST(CheckpointStateTest, TheLatestAloneIsEnough) {
  const auto state = ParseCheckpointState("model_checkpoint_path: \"m\"");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->latest, "m");
  EXPECT_THAT(state->all, IsEmpty());
}

TEST(CheckpointStateTest, WhatIsNoStateIsRefused) {
  for (const char* text : {"", "model_checkpoint_path: \"\"", "model_checkpoint_path: \"a/\"",
                           "model_checkpoint_path: \"ckpt-1", "steps: 4", "\x01\xff"}) {
    EXPECT_EQ(ParseCheckpointState(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

TEST(CheckpointStateTest, ErrorsNameTheFile) {
  const std::string folder = JoinPath(::testing::TempDir(), "state");
  ASSERT_TRUE(CreateDirectories(folder).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadCheckpointState(folder).status()));
  ASSERT_TRUE(WriteFileAtomically(JoinPath(folder, "checkpoint"), "model_check").ok());
  const absl::Status status = ReadCheckpointState(folder).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(JoinPath(folder, "checkpoint")));
}

TEST(CheckpointStateTest, StepsOfNames) {
  EXPECT_EQ(StepOfCheckpoint("ckpt-17"), 17);
  EXPECT_EQ(StepOfCheckpoint("model.ckpt-20000"), 20000);
  EXPECT_EQ(StepOfCheckpoint("cp-0003"), 3);
  EXPECT_EQ(StepOfCheckpoint("fine-tune-0"), 0);
  for (const char* name : {"", "17", "ckpt", "ckpt-", "ckpt-1a", "weights.03-0.25", "ckpt- 1",
                           "ckpt-99999999999999999999"}) {
    EXPECT_EQ(StepOfCheckpoint(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace tessera
