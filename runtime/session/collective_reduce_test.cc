// Reductions whose members are nodes of one run, on one device and on several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CollectiveReduceTest : public ::testing::Test {
 protected:
  struct Member {
    std::string device = "/device:CPU:0";
    std::string merge_op = "Add";
    std::string final_op = "Id";
    int group_size = 3;
    int instance_key = 1;
  };

  CollectiveReduceTest() {
    options_.devices.count["CPU"] = 2;
    options_.devices.count["ACCEL"] = 2;
  }

  // Makes a session where member i gets the placeholder "xi" and gives "yi".
  void Make(const std::vector<Member>& members) {
    std::string text;
    for (size_t i = 0; i < members.size(); ++i) {
      const Member& member = members[i];
      absl::StrAppend(&text, "node { name: 'x", i, "' op: 'Placeholder' ",
                      "attr { key: 'dtype' value { type: DT_FLOAT } } }");
      // On the device, so that what is reduced has to come from there.
      absl::StrAppend(&text, "node { name: 'n", i, "' op: 'Neg' input: 'x", i, "' device: '",
                      member.device, "' attr { key: 'T' value { type: DT_FLOAT } } }");
      absl::StrAppend(&text, "node { name: 'y", i, "' op: 'CollectiveReduce' input: 'n", i,
                      "' device: '", member.device, "' attr { key: 'T' value { type: DT_FLOAT } }");
      const auto add_int = [&](const char* key, int value) {
        absl::StrAppend(&text, "attr { key: '", key, "' value { i: ", value, " } }");
      };
      const auto add_string = [&](const char* key, const std::string& value) {
        absl::StrAppend(&text, "attr { key: '", key, "' value { s: '", value, "' } }");
      };
      add_int("group_size", member.group_size);
      add_int("group_key", 1);
      add_int("instance_key", member.instance_key);
      add_string("merge_op", member.merge_op);
      add_string("final_op", member.final_op);
      absl::StrAppend(&text, "attr { key: 'subdiv_offsets' value { list { i: 0 } } } }");
    }
    tensorflow::GraphDef graph;
    CHECK(google::protobuf::TextFormat::ParseFromString(text, &graph)) << text;
    graph.mutable_versions()->set_producer(1000);
    session_ = *Session::Create(options_);
    const absl::Status extended = session_->Extend(graph);
    ASSERT_TRUE(extended.ok()) << extended;
    num_members_ = members.size();
  }

  // Member i gives -(i + 1) and -10 (i + 1), or more of such if it is to give more.
  absl::StatusOr<std::vector<Tensor>> Run(size_t longer = 100) {
    std::vector<NamedTensor> feeds;
    std::vector<std::string> fetches;
    for (size_t i = 0; i < num_members_; ++i) {
      const auto value = static_cast<float>(i + 1);
      feeds.emplace_back(absl::StrCat("x", i, ":0"),
                         i == longer ? Tensor::Vector<float>({value, value, value})
                                     : Tensor::Vector<float>({value, 10 * value}));
      fetches.push_back(absl::StrCat("y", i, ":0"));
    }
    std::vector<Tensor> outputs;
    RunOptions options;
    options.timeout = absl::Seconds(60);
    RETURN_IF_ERROR(session_->Run(options, feeds, fetches, {}, &outputs, nullptr));
    return outputs;
  }

  void ExpectAll(float first, float second) {
    for (int run = 0; run < 3; ++run) {
      const auto outputs = Run();
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      for (const Tensor& output : *outputs) {
        EXPECT_THAT(output.flat<float>(), ElementsAre(first, second));
      }
    }
  }

  SessionOptions options_;
  std::unique_ptr<Session> session_;
  size_t num_members_ = 0;
};

TEST_F(CollectiveReduceTest, EachMemberGetsTheResultOfAll) {
  Make({{}, {}, {}});
  ExpectAll(-6, -60);
  Make({{.final_op = "Div"}, {.final_op = "Div"}, {.final_op = "Div"}});
  ExpectAll(-2, -20);
  Make({{.merge_op = "Mul"}, {.merge_op = "Mul"}, {.merge_op = "Mul"}});
  ExpectAll(-6, -6000);
  Make({{.merge_op = "Min"}, {.merge_op = "Min"}, {.merge_op = "Min"}});
  ExpectAll(-3, -30);
  Make({{.merge_op = "Max"}, {.merge_op = "Max"}, {.merge_op = "Max"}});
  ExpectAll(-1, -10);
}

TEST_F(CollectiveReduceTest, MembersOnSeveralDevicesMeet) {
  Make({{.device = "/device:CPU:1"}, {.device = "/device:ACCEL:0"}, {.device = "/device:ACCEL:1"}});
  ExpectAll(-6, -60);
}

TEST_F(CollectiveReduceTest, MembersThatAllLieOnAcceleratorsMeet) {
  Make({{.device = "/device:ACCEL:0", .group_size = 2},
        {.device = "/device:ACCEL:1", .group_size = 2}});
  ExpectAll(-3, -30);
}

TEST_F(CollectiveReduceTest, MembersOnSeveralGpusMeet) {
  Make({});
  int gpus = 0;
  for (const Device* device : session_->ListDevices()) gpus += device->type() == "GPU" ? 1 : 0;
  if (gpus < 2) GTEST_SKIP() << "needs two GPUs";
  for (const char* const merge : {"Add", "Max"}) {
    Make({{.device = "/device:GPU:0", .merge_op = merge, .group_size = 2},
          {.device = "/device:GPU:1", .merge_op = merge, .group_size = 2}});
    ExpectAll(*merge == 'A' ? -3 : -1, *merge == 'A' ? -30 : -10);
  }
  // Both of one GPU, which NCCL does not take.
  Make(
      {{.device = "/device:GPU:0", .group_size = 2}, {.device = "/device:GPU:0", .group_size = 2}});
  ExpectAll(-3, -30);
}

TEST_F(CollectiveReduceTest, AGroupMayHaveOneMemberAndNoElements) {
  Make({{.group_size = 1}});
  ExpectAll(-1, -10);
  std::vector<Tensor> outputs;
  const absl::Status status =
      session_->Run({{"x0:0", *Tensor::Allocate(DType::kFloat, {0, 2})}}, {"y0:0"}, {}, &outputs);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(outputs[0].shape(), Shape({0, 2}));
}

TEST_F(CollectiveReduceTest, InstancesAreApart) {
  Make({{.group_size = 2, .instance_key = 1},
        {.group_size = 2, .instance_key = 2},
        {.group_size = 2, .instance_key = 1},
        {.group_size = 2, .instance_key = 2}});
  const auto outputs = Run();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].flat<float>(), ElementsAre(-4, -40));
  EXPECT_THAT((*outputs)[1].flat<float>(), ElementsAre(-6, -60));
}

TEST_F(CollectiveReduceTest, RunThatEndsBeforeAllHaveComeLeavesNothingBehind) {
  Make({{}, {.device = "/device:ACCEL:0"}, {}});
  RunOptions options;
  options.timeout = absl::Milliseconds(20);
  std::vector<Tensor> outputs;
  const absl::Status status = session_->Run(
      options, {{"x0:0", Tensor::Vector<float>({1})}, {"x1:0", Tensor::Vector<float>({1})}},
      {"y0:0", "y1:0"}, {}, &outputs, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  ExpectAll(-6, -60);
}

TEST_F(CollectiveReduceTest, MembersThatDoNotFitFailTogether) {
  Make({{}, {}, {}});
  const auto shapes = Run(/*longer=*/1);
  EXPECT_EQ(shapes.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shapes.status().message()),
              HasSubstr("members of a collective reduction give float["));
  // The next run meets anew.
  ExpectAll(-6, -60);

  Make({{.group_size = 2}, {}});
  EXPECT_THAT(std::string(Run().status().message()), HasSubstr("different group sizes"));
}

}  // namespace
}  // namespace tessera
