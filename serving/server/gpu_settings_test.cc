#include "serving/server/gpu_settings.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "serving/server/unused_fields.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

tensorflow::ConfigProto Parse(const std::string& text) {
  tensorflow::ConfigProto config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

absl::StatusOr<GpuOptions> Read(const std::string& text) {
  return ReadGpuOptions(Parse(text).gpu_options());
}

TEST(GpuSettingsTest, ReadsEveryFieldThatItNames) {
  const tensorflow::ConfigProto config = Parse(
      "gpu_options { per_process_gpu_memory_fraction: 0.25 allow_growth: true "
      "visible_device_list: '2, 0' polling_active_delay_usecs: 50 experimental { "
      "gpu_host_mem_limit_in_mb: 512 virtual_devices { memory_limit_mb: 1024 memory_limit_mb: 256 }"
      " virtual_devices {} } }");
  const auto options = ReadGpuOptions(config.gpu_options());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->memory_fraction, 0.25);
  EXPECT_TRUE(options->allow_growth);
  EXPECT_THAT(options->visible, ElementsAre(2, 0));
  EXPECT_THAT(options->virtual_limits_mb, ElementsAre(ElementsAre(1024, 256), IsEmpty()));
  EXPECT_EQ(options->pinned_limit, int64_t{512} << 20);
  EXPECT_EQ(options->poll_interval, absl::Microseconds(50));
  EXPECT_THAT(UnusedFields(config, UsedGpuFields()), IsEmpty());
}

TEST(GpuSettingsTest, ProgramWithoutTheDeviceTypeIsNotBuiltForGpus) {
  EXPECT_FALSE(IsBuiltForGpus());  // this one links no factory of GPUs
}

TEST(GpuSettingsTest, NothingSetTakesAllGpusWhole) {
  const auto options = Read("");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->memory_fraction, 0);
  EXPECT_FALSE(options->allow_growth);
  EXPECT_THAT(options->visible, IsEmpty());
  EXPECT_THAT(options->virtual_limits_mb, IsEmpty());
}

TEST(GpuSettingsTest, RefusesWhatNoGpuCanDo) {
  for (const auto& [text, culprit] : {
           std::pair("per_process_gpu_memory_fraction: 1.5", "from 0 to 1; is 1.5"),
           std::pair("per_process_gpu_memory_fraction: -1", "from 0 to 1; is -1"),
           std::pair("per_process_gpu_memory_fraction: nan", "from 0 to 1; is nan"),
           std::pair("visible_device_list: '0,x'", "is \"0,x\""),
           std::pair("visible_device_list: '1,1'", "is \"1,1\""),
           std::pair("visible_device_list: '-1'", "is \"-1\""),
           std::pair("experimental { virtual_devices { memory_limit_mb: 0 } }", "positive; is 0"),
       }) {
    const auto options = Read(std::string("gpu_options { ") + text + " }");
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(culprit));
  }
}

}  // namespace
}  // namespace tessera::serving
