#include "serving/server/unused_fields.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(UnusedFieldsTest, FieldsThatAreSetAndNotUsed) {
  tensorflow::ConfigProto config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "device_count { key: 'CPU' value: 1 } intra_op_parallelism_threads: 3 "
      "allow_soft_placement: true gpu_options { allow_growth: true } "
      "graph_options { rewrite_options { remapping: OFF } optimizer_options {} } "
      "rpc_options { compression_level: 2 }",
      &config));
  EXPECT_THAT(
      UnusedFields(config, {"allow_soft_placement", "intra_op_parallelism_threads", "rpc_options"}),
      ElementsAre("device_count", "gpu_options.allow_growth",
                  "graph_options.rewrite_options.remapping"));
  EXPECT_THAT(UnusedFields(tensorflow::ConfigProto(), {}), IsEmpty());
}

}  // namespace
}  // namespace tessera::serving
