#include "runtime/graph/side_effects.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

// Traits as an op library may declare them, or forget to.
REGISTER_OP("TestSilent").Output("y: float").Stateful();
REGISTER_OP("TestClock").Output("y: float").ReadsOutside();
REGISTER_OP("TestLog").Input("x: float").WritesOutside();
REGISTER_OP("TestPrecise").Output("y: float").Stateful().ComputesOnly();

TEST(SideEffectsTest, TellsWritesFromReads) {
  Graph graph;
  const AttrMap dtype = {{"dtype", DType::kFloat}};
  const AttrMap t = {{"T", DType::kFloat}};
  const AttrMap variable = {{"dtype", DType::kFloat}, {"shape", PartialShape({})}};
  const struct {
    const char* op;
    AttrMap attrs;
    bool side_effect;
    bool pure;
    bool depends = !pure;
  } kCases[] = {
      {"Neg", t, false, true},
      {"NoOp", {}, false, true},
      {"ReadVariableOp", dtype, false, false},
      {"AssignVariableOp", dtype, true, false},
      {"VarHandleOp", variable, false, false, false},
      {"VariableV2", variable, false, false},
      {"Assign", t, true, false},  // not declared stateful: its reference input tells
      {"RefIdentity", t, false, false},
      {"RandomUniform", {{"T", DType::kInt32}, {"dtype", DType::kFloat}}, false, false},
      {"CheckNumerics", {{"T", DType::kFloat}, {"message", ""}}, true, false},
      {"Switch", t, false, false},
      {"Placeholder", dtype, false, false},
      {"_Arg", {{"T", DType::kFloat}, {"index", 0}}, false, false, false},
      {"ReadFile", {}, false, false},
      {"GenerateVocabRemapping", {{"new_vocab_offset", 0}, {"num_new_vocab", 1}}, false, false},
      {"HashTableV2", {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kInt64}}, false, false},
      {"TensorArrayWriteV3", t, true, false},
      {"PrintV2", {}, true, false},
      {"TestSilent", {}, true, false},
      {"TestClock", {}, false, false},
      {"TestLog", {}, true, false},
      {"TestPrecise", {}, false, false, false},
      {"PartitionedCall",
       {{"Tin", EmptyList{}}, {"Tout", EmptyList{}}, {"f", FunctionRef{"f", {}}}},
       false,
       false},
      {"_Unsupported",
       {{"_op", "Foo"}, {"_inputs", EmptyList{}}, {"_outputs", std::vector<DType>{DType::kFloat}}},
       false,
       false},
  };
  for (const auto& c : kCases) {
    const Node* node = graph.AddNode(c.op, c.op, c.attrs).value();
    EXPECT_EQ(HasSideEffect(*node), c.side_effect) << c.op;
    EXPECT_EQ(IsPure(*node), c.pure) << c.op;
    EXPECT_EQ(DependsOnState(*node), c.depends) << c.op;
  }
}

}  // namespace
}  // namespace tessera
