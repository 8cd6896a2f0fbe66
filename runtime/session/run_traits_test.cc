#include "runtime/session/run_traits.h"

#include <string>

#include "gtest/gtest.h"
#include "runtime/framework/op.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

REGISTER_OP("TestSaysNothing").Input("x: float").Output("y: float").Stateful();

// Makes `node` call its function with the function `given` as attribute `f`.
void GiveFunction(const std::string& node, const std::string& given, tensorflow::GraphDef* graph) {
  for (tensorflow::NodeDef& candidate : *graph->mutable_node()) {
    if (candidate.name() != node) continue;
    tensorflow::NameAttrList* const called = (*candidate.mutable_attr())["f"].mutable_func();
    (*called->mutable_attr())["f"].mutable_func()->set_name(given);
  }
}

tensorflow::GraphDef Graph() {
  tensorflow::GraphDef graph = GraphFromText(R"(
  def reader():
    r = ReadVariableOp()
  return ()

  def writer():
    w = AssignVariableOp()
  return ()

  def repeater():
    w = StatelessWhile() {cond: @reader, body: @reader}
  return ()

  def calls_writer():
    c = PartitionedCall() {f: @writer}
  return ()

  def calls_given():
    c = PartitionedCall() {f: $f}
  return ()

  def calls_itself():
    c = PartitionedCall() {f: @calls_itself}
  return ()

  x = Placeholder()
  v = VarHandleOp()
  read = ReadVariableOp(v)
  y = AddV2(x, read)
  add = AssignAddVariableOp(v, x)
  after_add = Identity(x, ^add)
  ref = VariableV2()
  deref = Identity(ref)
  assign = Assign(ref, x)
  table = HashTableV2()
  find = LookupTableFindV2(table, x, x)
  insert = LookupTableInsertV2(table, x, x)
  random = RandomUniform(x)
  unknown = NobodyKnows(x)
  save = SaveV2(x)
  check = CheckNumerics(x)
  array = TensorArrayV3(x)
  element = TensorArrayReadV3(array, x, x)
  file = ReadFile(x)
  queue = FIFOQueueV2()
  wait = QueueDequeueV2(queue)
  batch = BatchFunction(x)
  silent = TestSaysNothing(x)
  reads = StatefulPartitionedCall(x) {f: @reader}
  writes = StatefulPartitionedCall(x) {f: @calls_writer}
  cases = Case(x) {branches: [@reader, @writer]}
  direct = writer(x)
  loops = PartitionedCall() {f: @calls_itself}
  gives_reader = calls_given() {f: @reader}
  gives_writer = calls_given() {f: @writer}
  passes_reader = StatefulPartitionedCall() {f: @calls_given}
  passes_writer = StatefulPartitionedCall() {f: @calls_given}
  missing = PartitionedCall() {f: @nowhere}
  repeats = While(x) {cond: @reader, body: @reader}
  calls_loop = PartitionedCall(x) {f: @repeater}
  enters = Enter(x)
  again = NextIteration(enters)
  reduced = ReduceDataset(x) {f: @reader}
  branch = Switch(x, x)
)");
  GiveFunction("passes_reader", "reader", &graph);
  GiveFunction("passes_writer", "writer", &graph);
  return graph;
}

bool IsPure(const std::string& fetch, const std::vector<std::string>& feeds = {"x:0"}) {
  const tensorflow::GraphDef graph = Graph();
  const RunTraits traits(graph);
  RunSignature signature;
  signature.feeds = feeds;
  signature.fetches = {fetch};
  return traits.IsPure(signature);
}

TEST(RunTraitsTest, ReadersArePure) {
  EXPECT_TRUE(IsPure("y:0"));
  EXPECT_TRUE(IsPure("y:0", {}));
  EXPECT_TRUE(IsPure("deref:0"));
  EXPECT_TRUE(IsPure("find:0"));
  EXPECT_TRUE(IsPure("file:0"));
  EXPECT_TRUE(IsPure("check:0"));
  EXPECT_TRUE(IsPure("element:0")) << "the array belongs to the step";
  EXPECT_TRUE(IsPure("reads:0"));
  EXPECT_TRUE(IsPure("loops:0"));
}

TEST(RunTraitsTest, WritersAreNot) {
  EXPECT_FALSE(IsPure("add"));
  EXPECT_FALSE(IsPure("after_add:0"));
  EXPECT_FALSE(IsPure("assign:0"));
  EXPECT_FALSE(IsPure("insert"));
  EXPECT_FALSE(IsPure("random:0"));
  EXPECT_FALSE(IsPure("save"));
  EXPECT_FALSE(IsPure("writes:0"));
  EXPECT_FALSE(IsPure("cases:0"));
  EXPECT_FALSE(IsPure("direct:0"));
  EXPECT_FALSE(IsPure("silent:0"));
}

TEST(RunTraitsTest, FunctionsGivenToFunctionsCount) {
  EXPECT_TRUE(IsPure("gives_reader:0"));
  EXPECT_FALSE(IsPure("gives_writer:0"));
  EXPECT_TRUE(IsPure("passes_reader:0"));
  EXPECT_FALSE(IsPure("passes_writer:0"));
}

TEST(RunTraitsTest, NobodyEndsTheWaitingOfARunOfItsOwn) {
  EXPECT_FALSE(IsPure("wait:0"));
  EXPECT_FALSE(IsPure("batch:0"));
}

TEST(RunTraitsTest, LoopsWaitsAndWritesAreOpenEnded) {
  const tensorflow::GraphDef graph = Graph();
  const RunTraits traits(graph);
  const auto is_open_ended = [&](const std::string& fetch) {
    RunSignature signature;
    signature.fetches = {fetch};
    return traits.IsOpenEnded(signature);
  };
  for (const char* fetch : {"y:0", "add", "random:0", "cases:0", "loops:0", "branch:0"}) {
    EXPECT_FALSE(is_open_ended(fetch)) << fetch;
  }
  for (const char* fetch : {"repeats:0", "calls_loop:0", "again:0", "reduced:0", "wait:0",
                            "batch:0", "save", "silent:0", "unknown:0", "missing:0"}) {
    EXPECT_TRUE(is_open_ended(fetch)) << fetch;
  }
}

TEST(RunTraitsTest, WhatIsFedIsNotRun) { EXPECT_TRUE(IsPure("after_add:0", {"after_add:0"})); }

TEST(RunTraitsTest, WhatNobodyKnowsIsNotPure) {
  EXPECT_FALSE(IsPure("unknown:0"));
  EXPECT_FALSE(IsPure("nowhere:0"));
  EXPECT_FALSE(IsPure("missing:0"));
}

TEST(RunTraitsTest, OneRunSaysNothingOfAnother) {
  const tensorflow::GraphDef graph = Graph();
  const RunTraits traits(graph);
  RunSignature reads, writes;
  reads.fetches = {"reads:0"};
  writes.fetches = {"cases:0"};
  EXPECT_TRUE(traits.IsPure(reads));
  EXPECT_FALSE(traits.IsPure(writes));
  EXPECT_TRUE(traits.IsPure(reads));
  EXPECT_FALSE(traits.IsPure(writes));
}

}  // namespace
}  // namespace tessera
