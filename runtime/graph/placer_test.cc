#include "runtime/graph/placer.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/graph/function.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NothingKernel : public OpKernel {
 public:
  explicit NothingKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext&) override { return absl::OkStatus(); }
};

REGISTER_OP("PlaceAnywhere").Input("x: T").Output("y: T").Attr("T: type");
REGISTER_KERNEL("PlaceAnywhere", kCpu, NothingKernel);
REGISTER_KERNEL("PlaceAnywhere", kGpu, NothingKernel).TypeConstraint<float>("T");
REGISTER_OP("PlaceOnGpu").Input("x: T").Output("y: T").Attr("T: type");
REGISTER_KERNEL("PlaceOnGpu", kGpu, NothingKernel);
REGISTER_OP("PlaceNowhere").Output("y: T").Attr("T: type");

class PlacerTest : public ::testing::Test {
 protected:
  // One CPU and two GPUs, in this order.
  PlacerTest() {
    for (const char* name :
         {"/job:a/replica:0/task:0/device:CPU:0", "/job:a/replica:0/task:0/device:GPU:0",
          "/job:a/replica:0/task:0/device:GPU:1"}) {
      devices_.push_back(std::make_unique<CpuDevice>(*DeviceName::Parse(name)));
      pointers_.push_back(devices_.back().get());
    }
    source_ = Add("source", "PlaceNowhere", {}, "");
  }
  Node* Add(absl::string_view name, absl::string_view op, const std::vector<Endpoint>& inputs,
            absl::string_view device, AttrMap attrs = {}, DType type = DType::kFloat) {
    attrs["T"] = type;
    return graph_.AddNode(name, op, std::move(attrs), inputs, device).value();
  }
  absl::Status Run(bool soft = false) {
    return Place(pointers_, {.allow_soft_placement = soft}, &graph_);
  }
  static std::string Short(const Node* node) { return node->device().substr(24); }

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
  Graph graph_;
  Node* source_;
};

TEST_F(PlacerTest, TakesTheFirstDeviceThatMatchesAndHasAKernel) {
  Node* anywhere = Add("any", "PlaceAnywhere", {{source_, 0}}, "");
  Node* gpu_only = Add("gpu_only", "PlaceOnGpu", {{source_, 0}}, "");
  Node* asked = Add("asked", "PlaceAnywhere", {{source_, 0}}, "/gpu:1");
  Node* partly = Add("partly", "PlaceAnywhere", {{source_, 0}}, "/job:a/device:GPU:*");
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(anywhere->device(), "/job:a/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(Short(source_), "device:CPU:0") << "no kernel anywhere: the first device";
  EXPECT_EQ(Short(gpu_only), "device:GPU:0");
  EXPECT_EQ(Short(asked), "device:GPU:1");
  EXPECT_EQ(Short(partly), "device:GPU:0");
}

TEST_F(PlacerTest, HardPlacementNamesNodeRequestAndDevices) {
  Node* i = Add("i", "PlaceNowhere", {}, "", {}, DType::kInt32);
  Add("ints", "PlaceAnywhere", {{i, 0}}, "/gpu:0", {}, DType::kInt32);
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("node 'ints' (PlaceAnywhere) on '/device:GPU:0'"),
                                       HasSubstr("for it: /job:a/replica:0/task:0/device:CPU:0;"),
                                       HasSubstr("task:0/device:GPU:1")));
}

TEST_F(PlacerTest, SoftPlacementMovesToADeviceWithAKernel) {
  Node* i = Add("i", "PlaceNowhere", {}, "", {}, DType::kInt32);
  Node* ints = Add("ints", "PlaceAnywhere", {{i, 0}}, "/gpu:0", {}, DType::kInt32);
  Node* elsewhere = Add("elsewhere", "PlaceOnGpu", {{source_, 0}}, "/job:b/task:3/cpu:0");
  ASSERT_TRUE(Run(/*soft=*/true).ok());
  EXPECT_EQ(Short(ints), "device:CPU:0");
  EXPECT_EQ(Short(elsewhere), "device:GPU:0");
}

TEST_F(PlacerTest, ColocatedNodesGoTogether) {
  Node* a = Add("a", "PlaceAnywhere", {{source_, 0}}, "");
  Node* b = Add("b", "PlaceOnGpu", {{source_, 0}}, "/gpu:1",
                {{"_class", std::vector<std::string>{"loc:@a", "loc:@gone"}}});
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Short(a), "device:GPU:1");
  EXPECT_EQ(Short(b), "device:GPU:1");
}

TEST_F(PlacerTest, ColocationAgainstRequestsFailsUnlessSoft) {
  Node* a = Add("a", "PlaceAnywhere", {{source_, 0}}, "/gpu:0");
  Node* b = Add("b", "PlaceAnywhere", {{source_, 0}}, "/gpu:1",
                {{"_class", std::vector<std::string>{"loc:@a"}}});
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("node 'b'"), HasSubstr("node 'a'")));
  ASSERT_TRUE(Run(/*soft=*/true).ok());
  EXPECT_EQ(Short(a), "device:GPU:0");
  EXPECT_EQ(Short(b), "device:GPU:0");
}

TEST_F(PlacerTest, ReferencesAndResourcesStayWithTheirVariable) {
  const AttrMap variable = {{"dtype", DType::kFloat}, {"shape", PartialShape({})}};
  Node* ref = graph_.AddNode("ref", "VariableV2", variable, {}, "/gpu:1").value();
  Node* assign =
      graph_.AddNode("assign", "Assign", {{"T", DType::kFloat}}, {{ref, 0}, {source_, 0}}).value();
  Node* handle = graph_.AddNode("handle", "VarHandleOp", variable, {}, "/gpu:0").value();
  Node* read =
      graph_.AddNode("read", "ReadVariableOp", {{"dtype", DType::kFloat}}, {{handle, 0}}).value();
  ASSERT_TRUE(Run(/*soft=*/true).ok());
  EXPECT_EQ(ref->device(), assign->device());
  EXPECT_EQ(handle->device(), read->device());
}

// A variable's value is where earlier runs have put it, so a reader cannot draw it elsewhere.
TEST_F(PlacerTest, AVariableDecidesForItsReadersWhateverTheyAskFor) {
  Node* read =
      graph_.AddNode("read", "ReadVariableOp", {{"dtype", DType::kFloat}}, "/gpu:1").value();
  Node* handle = graph_
                     .AddNode("handle", "VarHandleOp",
                              {{"dtype", DType::kFloat}, {"shape", PartialShape({})}}, {}, "/gpu:0")
                     .value();
  ASSERT_TRUE(graph_.Connect({handle, 0}, read, 0).ok());
  ASSERT_TRUE(Run(/*soft=*/true).ok());
  EXPECT_EQ(Short(handle), "device:GPU:0");
  EXPECT_EQ(Short(read), "device:GPU:0");
}

TEST_F(PlacerTest, HandlesOfOneVariableAreOnOneDevice) {
  const AttrMap variable = {
      {"dtype", DType::kFloat}, {"shape", PartialShape({})}, {"shared_name", std::string("v")}};
  Node* a = graph_.AddNode("a", "VarHandleOp", variable, {}, "").value();
  Node* b = graph_.AddNode("b", "VarHandleOp", variable, {}, "/gpu:1").value();
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Short(a), "device:GPU:1");
  EXPECT_EQ(Short(b), "device:GPU:1");
}

REGISTER_OP("PlaceUseOnCpu").Input("x: resource").Output("y: float").Reads("x");
REGISTER_KERNEL("PlaceUseOnCpu", kCpu, NothingKernel);
REGISTER_OP("PlaceUseAnywhere").Input("x: resource").Output("y: float").Reads("x");
REGISTER_KERNEL("PlaceUseAnywhere", kCpu, NothingKernel);
REGISTER_KERNEL("PlaceUseAnywhere", kGpu, NothingKernel);

TEST_F(PlacerTest, ACallIsWhereItsBodyCanUseTheResourcesItIsGiven) {
  tensorflow::FunctionDefLibrary library;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    function {
      signature { name: "on_cpu" input_arg { name: "r" type: DT_RESOURCE }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "use" op: "PlaceUseOnCpu" input: "r" }
      ret { key: "y" value: "use:y:0" }
    }
    function {
      signature { name: "anywhere" input_arg { name: "r" type: DT_RESOURCE }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "use" op: "PlaceUseAnywhere" input: "r" }
      ret { key: "y" value: "use:y:0" }
    }
    function {
      signature { name: "nested" input_arg { name: "r" type: DT_RESOURCE }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "call" op: "on_cpu" input: "r" }
      ret { key: "y" value: "call:y:0" }
    })",
                                                            &library));
  graph_.set_library(*FunctionLibrary::Create(library));
  const auto placed = [&](const std::string& function) {
    Node* handle = graph_
                       .AddNode(function + "_handle", "VarHandleOp",
                                {{"dtype", DType::kFloat}, {"shape", PartialShape({})}}, {}, "")
                       .value();
    return graph_.AddNode(function + "_call", function, {}, {{handle, 0}}, "/gpu:1").value();
  };
  const Node* on_cpu = placed("on_cpu");
  const Node* anywhere = placed("anywhere");
  const Node* nested = placed("nested");
  ASSERT_TRUE(Run(/*soft=*/true).ok());
  EXPECT_EQ(Short(on_cpu), "device:CPU:0");
  EXPECT_EQ(Short(anywhere), "device:GPU:1");
  EXPECT_EQ(Short(nested), "device:CPU:0");
}

TEST_F(PlacerTest, MalformedNamesAreRefused) {
  Add("odd", "PlaceAnywhere", {{source_, 0}}, "/gpu:one");
  const absl::Status status = Run(/*soft=*/true);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("node 'odd'"));
}

}  // namespace
}  // namespace tessera
