// Lists and arrays of tensors whose elements lie in the memory of an accelerator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/tensor_list.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAccelerator[] = "/device:ACCEL:0";
constexpr char kCpuDevice[] = "/device:CPU:0";

class DeviceListsTest : public ::testing::Test {
 protected:
  void Add(const std::string& name, const std::string& op, const std::string& inputs_and_attrs,
           const std::string& device = kAccelerator) {
    absl::StrAppend(&text_, "node { name: '", name, "' op: '", op, "' device: '", device, "' ",
                    inputs_and_attrs, " }\n");
  }
  static std::string Type(const std::string& attr, const std::string& type = "DT_FLOAT") {
    return absl::StrCat(" attr { key: '", attr, "' value { type: ", type, " } }");
  }
  void AddInts(const std::string& name, const std::vector<int>& values, bool is_scalar = false) {
    std::string proto = "dtype: DT_INT32 ";
    for (const int value : values) absl::StrAppend(&proto, "int_val: ", value, " ");
    absl::StrAppend(&proto, "tensor_shape { ",
                    is_scalar ? "" : absl::StrCat("dim { size: ", values.size(), " }"), " }");
    Add(name, "Const",
        Type("dtype", "DT_INT32") + " attr { key: 'value' value { tensor { " + proto + " } } }");
  }
  // Adds the rows of placeholder `x`, [n, 2], as the list `name`.
  void AddList(const std::string& name, const std::string& x,
               const std::string& device = kAccelerator) {
    Add(name, "TensorListFromTensor",
        absl::StrCat("input: '", x, "' input: 'two'") + Type("element_dtype") +
            Type("shape_type", "DT_INT32"),
        device);
  }
  void Make() {
    SessionOptions options;
    options.devices.count["ACCEL"] = 1;
    options.inter_op_threads = 2;
    options.optimize = false;
    session_ = *Session::Create(options);
    tensorflow::GraphDef graph;
    CHECK(google::protobuf::TextFormat::ParseFromString(text_, &graph)) << text_;
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

  std::string text_;
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
  Add("x", "Placeholder", Type("dtype"), "");
  AddInts("two", {2});
  Add("y", "Neg", "input: 'x'" + Type("T"));
  AddList("list", "y");
  Make();
  const auto fetched = Run({{"x:0", Rows({1, 2, 3, 4})}}, "list:0");
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  const auto list = GetTensorList(fetched->scalar<Variant>());
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ((*list)->size(), 2);
  ASSERT_TRUE(IsHostAccessible((*list)->elements[1].memory_kind()));
  EXPECT_THAT((*list)->elements[1].flat<float>(), ElementsAre(-3, -4));
}

TEST_F(DeviceListsTest, AListGoesFromTheDeviceToTheCpuAndBack) {
  Add("x", "Placeholder", Type("dtype"), "");
  AddInts("two", {2});
  AddInts("one", {1}, /*is_scalar=*/true);
  Add("y", "Neg", "input: 'x'" + Type("T"));
  AddList("list", "y");
  Add("on_cpu", "TensorListSetItem",
      "input: 'list' input: 'one' input: 'row'" + Type("element_dtype"), kCpuDevice);
  Add("row", "Placeholder", Type("dtype"), "");
  Add("stack", "TensorListStack",
      "input: 'on_cpu' input: 'two'" + Type("element_dtype") +
          " attr { key: 'num_elements' value { i: -1 } }");
  Add("z", "Neg", "input: 'stack'" + Type("T"));
  Make();
  const auto z =
      Run({{"x:0", Rows({1, 2, 3, 4})}, {"row:0", Tensor::Vector<float>({5, 6})}}, "z:0");
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_THAT(z->flat<float>(), ElementsAre(1, 2, -5, -6));
}

TEST_F(DeviceListsTest, AListOfTheHostAndOneOfTheDeviceAddUpOnTheDevice) {
  Add("x", "Placeholder", Type("dtype"), "");
  AddInts("two", {2});
  Add("y", "Neg", "input: 'x'" + Type("T"));
  AddList("on_device", "y");
  AddList("on_host", "x", kCpuDevice);
  Add("sum", "AddN",
      "input: 'on_host' input: 'on_device' input: 'on_host'" + Type("T", "DT_VARIANT") +
          " attr { key: 'N' value { i: 3 } }");
  Add("stack", "TensorListStack",
      "input: 'sum' input: 'two'" + Type("element_dtype") +
          " attr { key: 'num_elements' value { i: -1 } }");
  Make();
  const auto sum = Run({{"x:0", Rows({1, 2, 3, 4})}}, "stack:0");
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(sum->flat<float>(), ElementsAre(1, 2, 3, 4));
  // What the host holds was not added to.
  const auto again = Run({{"x:0", Rows({1, 2, 3, 4})}}, "stack:0");
  EXPECT_THAT(again->flat<float>(), ElementsAre(1, 2, 3, 4));
}

TEST_F(DeviceListsTest, ElementsWithoutAValueAreZerosOnTheDevice) {
  AddInts("two", {2});
  AddInts("three", {3}, /*is_scalar=*/true);
  AddInts("one", {1}, /*is_scalar=*/true);
  Add("x", "Placeholder", Type("dtype"), "");
  Add("y", "Neg", "input: 'x'" + Type("T"));
  Add("empty", "TensorListReserve",
      "input: 'two' input: 'three'" + Type("element_dtype") + Type("shape_type", "DT_INT32"));
  Add("list", "TensorListSetItem",
      "input: 'empty' input: 'one' input: 'y'" + Type("element_dtype"));
  Add("stack", "TensorListStack",
      "input: 'list' input: 'two'" + Type("element_dtype") +
          " attr { key: 'num_elements' value { i: 3 } }");
  Make();
  const auto stack = Run({{"x:0", Tensor::Vector<float>({1, 2})}}, "stack:0");
  ASSERT_TRUE(stack.ok()) << stack.status();
  EXPECT_THAT(stack->flat<float>(), ElementsAre(0, 0, -1, -2, 0, 0));
  const auto wrong = Run({{"x:0", Tensor::Vector<float>({1, 2, 3})}}, "stack:0");
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("does not fit"));
}

TEST_F(DeviceListsTest, GradientsThatAreWrittenTwiceAddUpOnTheDevice) {
  AddInts("size", {2}, /*is_scalar=*/true);
  AddInts("zero", {0}, /*is_scalar=*/true);
  AddInts("both", {0, 1});
  Add("x", "Placeholder", Type("dtype"), "");
  Add("y", "Neg", "input: 'x'" + Type("T"));
  Add("array", "TensorArrayV3", "input: 'size'" + Type("dtype"));
  Add("gradient", "TensorArrayGradV3",
      "input: 'array' input: 'array:1' attr { key: 'source' value { s: 'g' } }");
  Add("scattered", "TensorArrayScatterV3",
      "input: 'gradient' input: 'both' input: 'y' input: 'gradient:1'" + Type("T"));
  Add("again", "TensorArrayScatterV3",
      "input: 'gradient' input: 'both' input: 'y' input: 'scattered'" + Type("T"));
  Add("gathered", "TensorArrayGatherV3",
      "input: 'gradient' input: 'both' input: 'again'" + Type("dtype"));
  Make();
  const auto sum = Run({{"x:0", Rows({1, 2, 3, 4})}}, "gathered:0");
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(sum->flat<float>(), ElementsAre(-2, -4, -6, -8));
}

}  // namespace
}  // namespace tessera
