#include "runtime/framework/rendezvous_key.h"

#include "gtest/gtest.h"
#include "runtime/framework/rendezvous.h"

namespace tessera {
namespace {

TEST(RendezvousKeyTest, ReadsWhatWasWritten) {
  const std::string key =
      RendezvousKey("/job:a/device:CPU:0", 0xabcdef, "/job:b/device:GPU:1", "edge_3_x", 7, 12);
  const auto parts = ParseRendezvousKey(key);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->send_device, "/job:a/device:CPU:0");
  EXPECT_EQ(parts->incarnation, 0xabcdefu);
  EXPECT_EQ(parts->recv_device, "/job:b/device:GPU:1");
  EXPECT_EQ(parts->tensor_name, "edge_3_x");
  EXPECT_EQ(parts->frame_id, 7);
  EXPECT_EQ(parts->iteration, 12);
}

TEST(RendezvousKeyTest, RefusesWhatIsNoKey) {
  for (const char* key : {"", ";;;;", "a;1;b;c;0:0", "a;0000000000000001;b;c;0", "a;b",
                          "a;0000000000000001;b;c;0:x", "a;0000000000000001;b;c;d;0:0"}) {
    EXPECT_EQ(ParseRendezvousKey(key).status().code(), absl::StatusCode::kInvalidArgument) << key;
  }
}

}  // namespace
}  // namespace tessera
