#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// A window of the default length has 400 samples, a step 160.
absl::StatusOr<Tensor> Features(int64_t samples, AttrMap attrs) {
  std::vector<int16_t> sound;
  for (int64_t i = 0; i < samples; ++i) sound.push_back(static_cast<int16_t>(i * 37 % 1000 - 500));
  attrs.insert({"out_type", DType::kUint16});
  return RunOp("AudioMicrofrontend", {Tensor::Vector<int16_t>(sound)}, std::move(attrs));
}

Shape ShapeOfFeatures(int64_t samples, AttrMap attrs) {
  const absl::StatusOr<Tensor> features = Features(samples, std::move(attrs));
  EXPECT_TRUE(features.ok()) << features.status();
  return features.ok() ? features->shape() : Shape{};
}

absl::StatusCode ErrorOf(int64_t samples, AttrMap attrs) {
  return Features(samples, std::move(attrs)).status().code();
}

// The expected values are TensorFlow's; where it crashes, INVALID_ARGUMENT is expected.
TEST(AudioMicrofrontendTest, NegativeStridesGiveTheFirstFrame) {
  for (const auto& [samples, stride] : {std::pair{400, -1}, {560, -2}}) {
    const absl::StatusOr<Tensor> features =
        Features(samples, {{"frame_stride", int64_t{stride}}, {"num_channels", int64_t{2}}});
    ASSERT_TRUE(features.ok()) << features.status();
    ASSERT_EQ(features->shape(), (Shape{1, 2}));
    EXPECT_EQ(features->data<uint16_t>()[0], 680);
    EXPECT_EQ(features->data<uint16_t>()[1], 634);
  }
  EXPECT_EQ(ErrorOf(560, {{"frame_stride", int64_t{-1}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(720, {{"frame_stride", int64_t{-2}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(400, {{"frame_stride", int64_t{0}}}), absl::StatusCode::kInvalidArgument);
}

TEST(AudioMicrofrontendTest, StepsAndStridesDoNotMatterWithoutFrames) {
  EXPECT_EQ(ShapeOfFeatures(1, {{"window_step", int64_t{0}}}), (Shape{0, 32}));
  EXPECT_EQ(ShapeOfFeatures(1, {{"window_step", int64_t{-1}}}), (Shape{0, 32}));
  EXPECT_EQ(ShapeOfFeatures(399, {{"frame_stride", int64_t{0}}}), (Shape{0, 32}));
  EXPECT_EQ(ShapeOfFeatures(399, {{"out_scale", int64_t{0}}}), (Shape{0, 32}));
  EXPECT_EQ(ErrorOf(400, {{"window_step", int64_t{0}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(400, {{"window_step", int64_t{-1}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(400, {{"out_scale", int64_t{0}}}), absl::StatusCode::kInvalidArgument);
}

TEST(AudioMicrofrontendTest, RowsMayBeEmpty) {
  EXPECT_EQ(ShapeOfFeatures(720, {{"num_channels", int64_t{0}}}), (Shape{3, 0}));
  EXPECT_EQ(ShapeOfFeatures(720, {{"num_channels", int64_t{0}}, {"out_scale", int64_t{0}}}),
            (Shape{3, 0}));
  EXPECT_EQ(ShapeOfFeatures(399, {{"num_channels", int64_t{0}}, {"left_context", int64_t{-3}}}),
            (Shape{0, 0}));
  EXPECT_EQ(ShapeOfFeatures(720, {{"left_context", int64_t{-1}}}), (Shape{3, 0}));
  EXPECT_EQ(ErrorOf(720, {{"left_context", int64_t{-3}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(720, {{"num_channels", int64_t{-1}}}), absl::StatusCode::kInvalidArgument);
}

TEST(AudioMicrofrontendTest, ContextsMayLieBehindTheFrame) {
  const absl::StatusOr<Tensor> features = Features(
      720,
      {{"num_channels", int64_t{2}}, {"left_context", int64_t{-2}}, {"right_context", int64_t{2}}});
  ASSERT_TRUE(features.ok()) << features.status();
  ASSERT_EQ(features->shape(), (Shape{3, 2}));
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(features->data<uint16_t>()[2 * row], 676);
    EXPECT_EQ(features->data<uint16_t>()[2 * row + 1], 626);
  }
}

TEST(AudioMicrofrontendTest, ImpossibleFrontendsAreInternalErrors) {
  EXPECT_EQ(ErrorOf(720, {{"window_size", int64_t{0}}}), absl::StatusCode::kInternal);
  EXPECT_EQ(ErrorOf(0, {{"window_size", int64_t{0}}}), absl::StatusCode::kInternal);
  EXPECT_EQ(ErrorOf(720, {{"window_size", int64_t{-1}}}), absl::StatusCode::kInternal);
  EXPECT_EQ(ErrorOf(720, {{"sample_rate", int64_t{-1}}}), absl::StatusCode::kInternal);
  EXPECT_EQ(ErrorOf(720, {{"num_channels", int64_t{-1}}, {"left_context", int64_t{-2}}}),
            absl::StatusCode::kInternal);
}

TEST(AudioMicrofrontendTest, SizesOfNoSoundAreRefused) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  for (const char* attr : {"window_size", "num_channels", "left_context"}) {
    EXPECT_EQ(ErrorOf(720, {{attr, kLargest}}), absl::StatusCode::kInvalidArgument) << attr;
  }
  EXPECT_EQ(ErrorOf(720, {{"right_context", kLowest}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ShapeOfFeatures(720, {{"frame_stride", kLowest}}), (Shape{1, 32}));
}

}  // namespace
}  // namespace tessera
