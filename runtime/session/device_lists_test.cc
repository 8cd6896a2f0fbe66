// Lists and arrays of tensors whose elements lie in the memory of an accelerator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/kernels/tensor_list.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAccelerator[] = "/device:ACCEL:0";

class DeviceListsTest : public ::testing::Test {
 protected:
  // Makes a session of these nodes, which run on the accelerator unless they say otherwise.
  void Make(const char* nodes) {
    SessionOptions options;
    options.devices.count["ACCEL"] = 1;
    options.inter_op_threads = 2;
    options.optimize = false;
    session_ = *Session::Create(options);
    tensorflow::GraphDef graph = GraphFromText(nodes);
    for (auto& node : *graph.mutable_node()) {
      if (node.device().empty() && node.op() != "Placeholder") node.set_device(kAccelerator);
    }
    graph.mutable_versions()->set_producer(1000);
    const absl::Status extended = session_->Extend(graph);
    ASSERT_TRUE(extended.ok()) << extended;
  }
  absl::StatusOr<Tensor> Run(const std::vector<NamedTensor>& feeds,
                             const std::string& fetch) const {
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(session_->Run(feeds, {fetch}, {}, &outputs));
    return outputs[0];
  }
  static Tensor Rows(std::vector<float> values) {
    const int64_t rows = static_cast<int64_t>(values.size()) / 2;
    return Tensor::Of<float>(Shape{rows, 2}, values);
  }

  std::unique_ptr<Session> session_;
};

TEST_F(DeviceListsTest, OpsOfListsAndArraysHaveKernelsForWhatADeviceHolds) {
  const KernelRegistry& registry = KernelRegistry::Global();
  AttrMap floats, strings;
  floats["element_dtype"] = floats["dtype"] = floats["T"] = DType::kFloat;
  strings["element_dtype"] = strings["dtype"] = strings["T"] = DType::kString;
  for (const char* op :
       {"TensorListReserve", "TensorListFromTensor", "TensorListGetItem", "TensorListSetItem",
        "TensorListPushBack", "TensorListPopBack", "TensorListStack", "TensorListGather",
        "TensorListConcatV2", "TensorListSplit", "TensorListScatterV2", "TensorArrayV3",
        "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayScatterV3",
        "TensorArrayConcatV3", "TensorArraySplitV3"}) {
    EXPECT_TRUE(registry.Find(op, kTestAccelerator, floats).ok()) << op;
    EXPECT_FALSE(registry.Find(op, kTestAccelerator, strings).ok()) << op;
    EXPECT_TRUE(registry.Find(op, kCpu, strings).ok()) << op;
  }
}

TEST_F(DeviceListsTest, AListThatIsFetchedHoldsTensorsOfTheHost) {
  Make(R"(
    x = Placeholder() {dtype: float}
    two = Const() {dtype: int32, value: int32([2])}
    y = Neg(x) {T: float}
    list = TensorListFromTensor(y, two) {element_dtype: float, shape_type: int32}
  )");
  const auto fetched = Run({{"x:0", Rows({1, 2, 3, 4})}}, "list:0");
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  const auto list = GetTensorList(fetched->scalar<Variant>());
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ((*list)->size(), 2);
  ASSERT_TRUE(IsHostAccessible((*list)->elements[1].memory_kind()));
  EXPECT_THAT((*list)->elements[1].flat<float>(), ElementsAre(-3, -4));
}

TEST_F(DeviceListsTest, AListGoesFromTheDeviceToTheCpuAndBack) {
  Make(R"(
    x = Placeholder() {dtype: float}
    row = Placeholder() {dtype: float}
    two = Const() {dtype: int32, value: int32([2])}
    one = Const() {dtype: int32, value: int32(1)}
    y = Neg(x) {T: float}
    list = TensorListFromTensor(y, two) {element_dtype: float, shape_type: int32}
    on_cpu = TensorListSetItem(list, one, row) {element_dtype: float} on "/device:CPU:0"
    stack = TensorListStack(on_cpu, two) {element_dtype: float, num_elements: -1}
    z = Neg(stack) {T: float}
  )");
  const auto z =
      Run({{"x:0", Rows({1, 2, 3, 4})}, {"row:0", Tensor::Vector<float>({5, 6})}}, "z:0");
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_THAT(z->flat<float>(), ElementsAre(1, 2, -5, -6));
}

TEST_F(DeviceListsTest, AListOfTheHostAndOneOfTheDeviceAddUpOnTheDevice) {
  Make(R"(
    x = Placeholder() {dtype: float}
    two = Const() {dtype: int32, value: int32([2])}
    y = Neg(x) {T: float}
    on_device = TensorListFromTensor(y, two) {element_dtype: float, shape_type: int32}
    on_host = TensorListFromTensor(x, two) {element_dtype: float, shape_type: int32}
        on "/device:CPU:0"
    sum = AddN(on_host, on_device, on_host) {T: variant, N: 3}
    stack = TensorListStack(sum, two) {element_dtype: float, num_elements: -1}
  )");
  const auto sum = Run({{"x:0", Rows({1, 2, 3, 4})}}, "stack:0");
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(sum->flat<float>(), ElementsAre(1, 2, 3, 4));
  // What the host holds was not added to.
  const auto again = Run({{"x:0", Rows({1, 2, 3, 4})}}, "stack:0");
  EXPECT_THAT(again->flat<float>(), ElementsAre(1, 2, 3, 4));
}

TEST_F(DeviceListsTest, ElementsWithoutAValueAreZerosOnTheDevice) {
  Make(R"(
    x = Placeholder() {dtype: float}
    two = Const() {dtype: int32, value: int32([2])}
    three = Const() {dtype: int32, value: int32(3)}
    one = Const() {dtype: int32, value: int32(1)}
    y = Neg(x) {T: float}
    empty = TensorListReserve(two, three) {element_dtype: float, shape_type: int32}
    list = TensorListSetItem(empty, one, y) {element_dtype: float}
    stack = TensorListStack(list, two) {element_dtype: float, num_elements: 3}
  )");
  const auto stack = Run({{"x:0", Tensor::Vector<float>({1, 2})}}, "stack:0");
  ASSERT_TRUE(stack.ok()) << stack.status();
  EXPECT_THAT(stack->flat<float>(), ElementsAre(0, 0, -1, -2, 0, 0));
  const auto wrong = Run({{"x:0", Tensor::Vector<float>({1, 2, 3})}}, "stack:0");
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("does not fit"));
}

TEST_F(DeviceListsTest, GradientsThatAreWrittenTwiceAddUpOnTheDevice) {
  Make(R"(
    x = Placeholder() {dtype: float}
    size = Const() {dtype: int32, value: int32(2)}
    zero = Const() {dtype: int32, value: int32(0)}
    both = Const() {dtype: int32, value: int32([0, 1])}
    y = Neg(x) {T: float}
    array = TensorArrayV3(size) {dtype: float}
    gradient = TensorArrayGradV3(array, array:1) {source: "g"}
    scattered = TensorArrayScatterV3(gradient, both, y, gradient:1) {T: float}
    again = TensorArrayScatterV3(gradient, both, y, scattered) {T: float}
    gathered = TensorArrayGatherV3(gradient, both, again) {dtype: float}
  )");
  const auto sum = Run({{"x:0", Rows({1, 2, 3, 4})}}, "gathered:0");
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(sum->flat<float>(), ElementsAre(-2, -4, -6, -8));
}

}  // namespace
}  // namespace tessera
