#include "runtime/exec/step_streams.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/exec/planner.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

constexpr char kFunctions[] = R"(
  def without(x: float) -> (y: float):
    n = Neg(x) {T: float}
  return (y = n:y:0)

  def with(x: float) -> (y: float):
    v = VarHandleOp() {dtype: float, shape: <>, shared_name: "v"}
    r = ReadVariableOp(v:resource:0) {dtype: float}
    n = Mul(x, r:value:0) {T: float}
  return (y = n:z:0)

  def apply(x: float) -> (y: float):
    c = PartitionedCall(x) {Tin: [float], Tout: [float], f: $f}
  return (y = c:output:0)

  x = Placeholder() {dtype: float}
)";

class SharesStateTest : public ::testing::Test {
 protected:
  SharesStateTest()
      : accelerator_(*TestAccelerator::Make(
            *DeviceName::Parse("/job:localhost/replica:0/task:0/device:ACCEL:0"),
            TestAccelerator::kCapacity, {})) {}

  bool SharesStateOf(const std::string& text, const std::vector<Device*>& devices) const {
    tensorflow::GraphDef def = GraphFromText(text);
    for (tensorflow::FunctionDef& function : *def.mutable_library()->mutable_function()) {
      if (function.signature().name() != "apply") continue;
      tensorflow::OpDef::AttrDef* const attr = function.mutable_signature()->add_attr();
      attr->set_name("f");
      attr->set_type("func");
    }
    absl::StatusOr<std::unique_ptr<Graph>> graph = ImportGraph(def);
    EXPECT_TRUE(graph.ok()) << graph.status();
    Plan plan;
    plan.parts.push_back({accelerator_->full_name(), *std::move(graph)});
    return SharesState(plan, devices);
  }
  bool SharesStateOf(const std::string& calls) const {
    return SharesStateOf(absl::StrCat(kFunctions, calls), {accelerator_.get()});
  }

  const std::unique_ptr<TestAccelerator> accelerator_;
};

TEST_F(SharesStateTest, FunctionsCount) {
  EXPECT_FALSE(SharesStateOf("a = without(x)"));
  EXPECT_TRUE(SharesStateOf("a = with(x)"));
  EXPECT_FALSE(SharesStateOf(absl::StrCat(kFunctions, "a = with(x)"), {}))
      << "no device has a stream";
}

TEST_F(SharesStateTest, AFunctionCountsWithEachFunctionThatItIsGiven) {
  EXPECT_FALSE(SharesStateOf("a = apply(x) {f: @without} b = apply(x) {f: @without}"));
  EXPECT_TRUE(SharesStateOf("a = apply(x) {f: @without} b = apply(x) {f: @with}"));
  EXPECT_TRUE(SharesStateOf("a = apply(x) {f: @with} b = apply(x) {f: @without}"));
}

// The side effect spares Instantiate() the search of one in the functions that are called.
TEST_F(SharesStateTest, FunctionsMayCallOneAnotherMoreDeeplyThanAStackIs) {
  std::string text = "def f0(x: float) -> (y: float): return (y = x) ";
  constexpr int kDepth = 30'000;
  for (int i = 1; i < kDepth; ++i) {
    absl::StrAppend(&text, "def f", i, R"((x: float) -> (y: float):
                      yes = Const() {dtype: bool, value: bool(true)}
                      check = Assert(yes:output:0, x) {T: [float]}
                      n = f)",
                    i - 1, "(x) return (y = n:y:0) ");
  }
  absl::StrAppend(&text, "x = Placeholder() {dtype: float} a = f", kDepth - 1, "(x)");
  EXPECT_FALSE(SharesStateOf(text, {}));
  EXPECT_TRUE(SharesStateOf(text, {accelerator_.get()})) << "there are too many to look at";
}

}  // namespace
}  // namespace tessera
