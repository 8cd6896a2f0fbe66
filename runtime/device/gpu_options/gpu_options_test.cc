#include "runtime/device/gpu_options/gpu_options.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace tessera {
namespace {

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
