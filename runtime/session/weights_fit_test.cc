#include "runtime/session/weights_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "runtime/device/testing/test_accelerator.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// A model of 2.6 KB of weights.
constexpr char kWeights[] = "tests/data/digits/1/variables/variables";

std::unique_ptr<TestAccelerator> AcceleratorOf(size_t capacity) {
  return *TestAccelerator::Make(*DeviceName::Parse("/job:test/replica:0/task:0/device:ACCEL:0"),
                                capacity, {});
}

TEST(WeightsFitTest, MemoryThatIsInUseCounts) {
  const auto device = AcceleratorOf(1 << 20);
  EXPECT_TRUE(CheckWeightsFit(kWeights, {device.get()}).ok());
  const auto other_version =
      device->allocator(MemoryKind::kDevice)->Allocate((1 << 20) - (1 << 11));
  ASSERT_TRUE(other_version.ok());
  const absl::Status status = CheckWeightsFit(kWeights, {device.get()});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("of the 1.0 MiB of memory"));
}

TEST(WeightsFitTest, SeveralAcceleratorsShareTheWeights) {
  const auto first = AcceleratorOf(1 << 11), second = AcceleratorOf(1 << 20);
  EXPECT_FALSE(CheckWeightsFit(kWeights, {first.get()}).ok());
  EXPECT_TRUE(CheckWeightsFit(kWeights, {first.get(), second.get()}).ok());
}

TEST(WeightsFitTest, WithoutAcceleratorsNothingIsRead) {
  EXPECT_TRUE(CheckWeightsFit("there/is/no/such/checkpoint", {}).ok());
}

}  // namespace
}  // namespace tessera
