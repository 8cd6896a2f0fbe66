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
      "gpu_host_mem_limit_in_mb: 512 gpu_host_mem_disallow_growth: true "
      "internal_fragmentation_fraction: 0.125 num_virtual_devices_per_gpu: 3 "
      "virtual_devices { memory_limit_mb: 1024 memory_limit_mb: 256 priority: -1 priority: 0 "
      "device_ordinal: 7 device_ordinal: 5 } virtual_devices {} } }");
  const auto options = ReadGpuOptions(config.gpu_options());
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->memory_fraction, 0.25);
  EXPECT_TRUE(options->allow_growth);
  EXPECT_THAT(options->visible, ElementsAre(2, 0));
  ASSERT_EQ(options->virtual_devices.size(), 2);
  ASSERT_EQ(options->virtual_devices[0].size(), 2);
  EXPECT_THAT(options->virtual_devices[1], IsEmpty());
  const GpuOptions::VirtualDevice& second = options->virtual_devices[0][1];
  EXPECT_EQ(second.memory_limit_mb, 256);
  EXPECT_EQ(second.priority, 0);
  EXPECT_EQ(second.ordinal, 5);
  EXPECT_EQ(options->num_equal_devices, 3);
  EXPECT_EQ(options->fragmentation_fraction, 0.125);
  EXPECT_EQ(options->pinned_limit, int64_t{512} << 20);
  EXPECT_FALSE(options->pinned_allow_growth);
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
  EXPECT_THAT(options->virtual_devices, IsEmpty());
  EXPECT_EQ(options->num_equal_devices, 1);
  EXPECT_TRUE(options->pinned_allow_growth);
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
           std::pair("experimental { virtual_devices { memory_limit_mb: 1 priority: [0, 1] } }",
                     "as many of priority as of memory_limit_mb; are 2 and 1"),
           std::pair(
               "experimental { virtual_devices { memory_limit_mb: 1 device_ordinal: [1, 2] } }",
               "as many of device_ordinal as of memory_limit_mb; are 2 and 1"),
           std::pair("experimental { internal_fragmentation_fraction: 2 }", "from 0 to 1; is 2"),
       }) {
    const auto options = Read(std::string("gpu_options { ") + text + " }");
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(culprit));
  }
}

}  // namespace
}  // namespace tessera::serving
