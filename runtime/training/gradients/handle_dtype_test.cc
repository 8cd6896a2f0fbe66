#include "runtime/training/gradients/handle_dtype.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr char kFunctions[] = R"(
  def inner(x: float, v: resource) -> (y: double):
    read = ReadVariableOp(v) {dtype: double}
  return (y = read:value:0)
  def outer(v: resource, x: float) -> (y: double):
    call = PartitionedCall(x, v) {Tin: [float, resource], Tout: [double], f: @inner}
  return (y = call:output:0)
  def endless(v: resource) -> (y: resource):
    call = PartitionedCall(v) {Tin: [resource], Tout: [resource], f: @endless}
  return (y = call:output:0)
)";

// Returns the dtype of the variable whose handle is the first argument of the function `f`, which
// `text` defines.
absl::StatusOr<DType> DTypeOfArgument(const std::string& text) {
  const auto graph = ImportGraph(GraphFromText(absl::StrCat(kFunctions, text)));
  if (!graph.ok()) return graph.status();
  const auto body = (*graph)->library()->Instantiate(FunctionRef{"f", {}});
  if (!body.ok()) return body.status();
  return DTypeOfHandle(*body->graph, {body->args[0], 0});
}

TEST(HandleDTypeTest, TheMakerTells) {
  const auto graph = ImportGraph(GraphFromText(R"(
    v = VarHandleOp() {dtype: double, shape: <>}
    same = Identity(v) {T: resource}
  )"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(*DTypeOfHandle(**graph, {(*graph)->FindNode("same"), 0}), DType::kDouble);
}

TEST(HandleDTypeTest, AReaderTells) {
  const auto dtype = DTypeOfArgument(R"(
    def f(h: resource) -> (y: double):
      same = Identity(h) {T: resource}
      read = ReadVariableOp(same:output:0) {dtype: double}
    return (y = read:value:0)
  )");
  ASSERT_TRUE(dtype.ok()) << dtype.status();
  EXPECT_EQ(*dtype, DType::kDouble);
}

TEST(HandleDTypeTest, AReaderBehindTwoFunctionsTells) {
  const auto dtype = DTypeOfArgument(R"(
    def f(h: resource, x: float) -> (y: double):
      call = PartitionedCall(h, x) {Tin: [resource, float], Tout: [double], f: @outer}
    return (y = call:output:0)
  )");
  ASSERT_TRUE(dtype.ok()) << dtype.status();
  EXPECT_EQ(*dtype, DType::kDouble);
}

TEST(HandleDTypeTest, ABranchOfAConditionTells) {
  const auto dtype = DTypeOfArgument(R"(
    def f(h: resource, x: float, p: bool) -> (y: double):
      call = If(p, h, x) {Tcond: bool, Tin: [resource, float], Tout: [double],
                          then_branch: @outer, else_branch: @outer}
    return (y = call:output:0)
  )");
  ASSERT_TRUE(dtype.ok()) << dtype.status();
  EXPECT_EQ(*dtype, DType::kDouble);
}

TEST(HandleDTypeTest, AHandleThatNobodyReadsIsAnError) {
  const auto dtype = DTypeOfArgument(R"(
    def f(h: resource) -> (y: resource):
      call = PartitionedCall(h) {Tin: [resource], Tout: [resource], f: @endless}
    return (y = call:output:0)
  )");
  EXPECT_TRUE(absl::IsInvalidArgument(dtype.status())) << dtype.status();
  EXPECT_THAT(std::string(dtype.status().message()), HasSubstr("whose handle is 'h'"));
}

}  // namespace
}  // namespace tessera
