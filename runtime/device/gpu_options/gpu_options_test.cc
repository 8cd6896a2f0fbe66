#include "runtime/device/gpu_options/gpu_options.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// "GPU:PART LIMIT 1/SHARES", and the priority if there is one.
std::vector<std::string> Describe(const std::vector<GpuPart>& parts) {
  std::vector<std::string> all;
  for (const GpuPart& part : parts) {
    all.push_back(absl::StrCat(part.gpu, ":", part.virtual_part, " ", part.memory_limit, " 1/",
                               part.num_shares));
    if (part.priority.has_value()) absl::StrAppend(&all.back(), " priority ", *part.priority);
  }
  return all;
}

TEST(PartsOfTest, GpusAreWholeUnlessTheyAreCut) {
  EXPECT_THAT(Describe(PartsOf({}, {2, 0})), ElementsAre("2:0 0 1/1", "0:0 0 1/1"));
  EXPECT_THAT(Describe(PartsOf({}, {})), ElementsAre());
}

TEST(PartsOfTest, VirtualDevicesComeInTheOrderOfTheirGpus) {
  GpuOptions options;
  options.virtual_devices = {{{.memory_limit_mb = 2}, {.memory_limit_mb = 1, .priority = -1}}, {}};
  EXPECT_THAT(
      Describe(PartsOf(options, {3, 1, 0})),
      ElementsAre("3:1 2097152 1/1", "3:2 1048576 1/1 priority -1", "1:0 0 1/1", "0:0 0 1/1"));
}

TEST(PartsOfTest, ALimitIsASizeAboveZero) {
  GpuOptions options;
  options.virtual_devices = {{{.memory_limit_mb = 1e-9}, {.memory_limit_mb = 1e30}}};
  EXPECT_THAT(Describe(PartsOf(options, {0})),
              ElementsAre("0:1 1 1/1", "0:2 4611686018427387904 1/1"));
}

TEST(PartsOfTest, OrdinalsGoBeforeTheOrderOfGpus) {
  GpuOptions options;
  options.virtual_devices = {{{.memory_limit_mb = 1, .ordinal = 10}, {.memory_limit_mb = 1}},
                             {{.memory_limit_mb = 1, .ordinal = 10}, {.memory_limit_mb = 1}}};
  EXPECT_THAT(
      Describe(PartsOf(options, {0, 1})),
      ElementsAre("0:2 1048576 1/1", "1:2 1048576 1/1", "0:1 1048576 1/1", "1:1 1048576 1/1"));
}

TEST(PartsOfTest, EqualDevicesShareWhatIsNotCutOtherwise) {
  GpuOptions options;
  options.num_equal_devices = 2;
  options.virtual_devices = {{{.memory_limit_mb = 1}}};
  EXPECT_THAT(Describe(PartsOf(options, {0, 1})),
              ElementsAre("0:1 1048576 1/1", "1:1 0 1/2", "1:2 0 1/2"));
}

constexpr size_t kMiB = size_t{1} << 20;

TEST(GpuMemoryLimitTest, WithoutAShareAReserveIsLeft) {
  EXPECT_EQ(GpuMemoryLimit({}, 8192 * kMiB, 16384 * kMiB).value(), (8192 - 1536) * kMiB);
  EXPECT_EQ(GpuMemoryLimit({}, 1024 * kMiB, 16384 * kMiB).value(), (1024 - 225) * kMiB);
  EXPECT_EQ(GpuMemoryLimit({}, 100 * kMiB, 16384 * kMiB).value(), 0);
}

TEST(GpuMemoryLimitTest, AShareIsOfAllMemory) {
  EXPECT_EQ(GpuMemoryLimit({.memory_fraction = 0.25}, 8192 * kMiB, 16384 * kMiB).value(),
            4096 * kMiB);
  EXPECT_EQ(GpuMemoryLimit({.memory_fraction = 1}, 1024 * kMiB, 1024 * kMiB).value(), 1024 * kMiB);
}

TEST(GpuMemoryLimitTest, AShareThatOthersUseIsRefusedUnlessMemoryGrows) {
  GpuOptions options{.memory_fraction = 0.75};
  const absl::Status status = GpuMemoryLimit(options, 4096 * kMiB, 16384 * kMiB).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "per_process_gpu_memory_fraction asks for 12.0 GiB of the GPU's memory, of which 4.0 "
            "GiB are free: other processes use the rest");
  options.allow_growth = true;
  EXPECT_EQ(GpuMemoryLimit(options, 4096 * kMiB, 16384 * kMiB).value(), 12288 * kMiB);
}

TEST(GpuMemoryLimitTest, SharesOutsideOfZeroToOneAreRefused) {
  for (const double share : {-0.5, 1.5}) {
    EXPECT_EQ(GpuMemoryLimit({.memory_fraction = share}, kMiB, kMiB).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

class GpuOptionsTest : public ::testing::Test {
 protected:
  ~GpuOptionsTest() override {
    ::unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
    SetGpuOptions(GpuOptions());
  }

  static bool AllowsGrowth(bool option, const char* environment) {
    GpuOptions options;
    options.allow_growth = option;
    SetGpuOptions(options);
    ::setenv("TF_FORCE_GPU_ALLOW_GROWTH", environment, /*overwrite=*/1);
    return CurrentGpuOptions().allow_growth;
  }
};

TEST_F(GpuOptionsTest, WithoutTheEnvironmentTheOptionHolds) {
  ::unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
  GpuOptions options;
  options.allow_growth = true;
  SetGpuOptions(options);
  EXPECT_TRUE(CurrentGpuOptions().allow_growth);
}

TEST_F(GpuOptionsTest, TheEnvironmentGoesBeforeTheOption) {
  EXPECT_TRUE(AllowsGrowth(false, "true"));
  EXPECT_FALSE(AllowsGrowth(true, "false"));
}

TEST_F(GpuOptionsTest, OtherValuesOfTheEnvironmentHaveNoEffect) {
  EXPECT_TRUE(AllowsGrowth(true, "0"));
  EXPECT_FALSE(AllowsGrowth(false, "yes"));
}

}  // namespace
}  // namespace tessera
