#include "runtime/optimize/freeze_variables.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

class FreezeVariablesTest : public ::testing::Test {
 protected:
  FreezeVariablesTest() {
    g_.item.is_frozen = [](const Node&) { return true; };
  }
  // A variable that holds 3, under its node's name.
  Endpoint AddVariable(const std::string& name, bool by_reference = false) {
    auto variable = MakeRefCounted<Variable>(DType::kFloat, PartialShape({}));
    variable->Assign(Tensor::Scalar(3.0f));
    const auto type = by_reference ? Variable::kRefTypeName : Variable::kTypeName;
    EXPECT_TRUE(g_.resources.Create("", type, name, variable).ok());
    return g_.Op(by_reference ? "VariableV2" : "VarHandleOp", {},
                 {{"dtype", DType::kFloat}, {"shape", PartialShape({})}}, name);
  }
  Endpoint Read(const Endpoint& handle) {
    return g_.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  }

  PassTestGraph g_;
};

TEST_F(FreezeVariablesTest, ReadsBecomeOneConstantThatSharesTheValue) {
  const Endpoint v = AddVariable("v");
  g_.Result(Read(v));
  g_.Result(Read(v));
  EXPECT_TRUE(g_.ExpectSameResults(FreezeVariablesPass(), {}));
  EXPECT_EQ(g_.CountOf("VarHandleOp"), 0);
  const Tensor value = g_.Only("Const")->attr<Tensor>("value").value();
  EXPECT_EQ(value.scalar<float>(), 3);
  const auto variable = g_.resources.Lookup("", Variable::kTypeName, "v").value();
  EXPECT_TRUE(static_cast<const Variable*>(variable.get())->Read().SharesBufferWith(value));
}

TEST_F(FreezeVariablesTest, WhatReadsWaitForIsAwaitedByWhoUsesThem) {
  Node* const assign = g_.OpNode("AssignVariableOp", {AddVariable("w"), g_.Arg(DType::kFloat)},
                                 {{"dtype", DType::kFloat}});
  const Endpoint read = Read(AddVariable("v"));
  g_.graph.AddControlEdge(assign, read.node);
  g_.Result(g_.Op("Neg", {read}));
  EXPECT_TRUE(g_.ExpectSameResults(FreezeVariablesPass(), {Tensor::Scalar(5.0f)}));
  EXPECT_EQ(g_.CountOf("ReadVariableOp"), 0);
  EXPECT_EQ(g_.CountOf("AssignVariableOp"), 1);
}

TEST_F(FreezeVariablesTest, PlainUsesOfReferencesBecomeConstants) {
  const Endpoint v = AddVariable("v", /*by_reference=*/true);
  g_.Result(g_.Op("Identity", {v}));
  g_.Result(g_.Op("Neg", {v}));
  EXPECT_TRUE(g_.ExpectSameResults(FreezeVariablesPass(), {}));
  EXPECT_EQ(g_.CountOf("VariableV2"), 0);
}

TEST_F(FreezeVariablesTest, TheSharedNameCounts) {
  AddVariable("real_name");
  const Endpoint v =
      g_.Op("VarHandleOp", {},
            {{"dtype", DType::kFloat}, {"shape", PartialShape({})}, {"shared_name", "real_name"}},
            "other_name");
  g_.Result(Read(v));
  EXPECT_TRUE(g_.ExpectSameResults(FreezeVariablesPass(), {}));
}

TEST_F(FreezeVariablesTest, LookUpsInVariablesBecomeLookUpsInConstants) {
  for (const int64_t batch_dims : {0, 1}) {
    const std::string name = absl::StrCat("table", batch_dims);
    auto variable = MakeRefCounted<Variable>(DType::kFloat, PartialShape({2, 3}));
    variable->Assign(Ramp({2, 3}, 0.5f));
    ASSERT_TRUE(g_.resources.Create("", Variable::kTypeName, name, variable).ok());
    const Endpoint table =
        g_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({2, 3})}}, name);
    g_.Result(
        g_.Op("ResourceGather", {table, g_.Const(Tensor::Vector<int64_t>({1, 0}))},
              {{"dtype", DType::kFloat}, {"Tindices", DType::kInt64}, {"batch_dims", batch_dims}}));
  }
  EXPECT_TRUE(g_.ExpectSameResults(FreezeVariablesPass(), {}));
  EXPECT_EQ(g_.CountOf("GatherV2"), 2);
  EXPECT_EQ(g_.CountOf("VarHandleOp"), 0);
}

TEST_F(FreezeVariablesTest, WrittenVariablesStay) {
  const Endpoint v = AddVariable("v"), r = AddVariable("r", /*by_reference=*/true);
  const Endpoint one = g_.Const(Tensor::Scalar(1.0f));
  g_.Keep(g_.OpNode("AssignAddVariableOp", {v, one}, {{"dtype", DType::kFloat}}));
  g_.Keep(g_.OpNode("AssignAdd", {r, one}));
  g_.Result(Read(v));
  g_.Result(g_.Op("Identity", {r}));
  EXPECT_FALSE(g_.Apply(FreezeVariablesPass()));
}

TEST_F(FreezeVariablesTest, OnlyWhatTheSessionAllowsIsFrozen) {
  g_.Result(Read(AddVariable("v")));
  g_.Result(Read(AddVariable("w")));
  g_.item.is_frozen = [](const Node& node) { return node.name() == "w"; };
  EXPECT_TRUE(g_.ExpectSameResults(FreezeVariablesPass(), {}));
  EXPECT_EQ(g_.Only("VarHandleOp")->name(), "v");
  g_.item.is_frozen = nullptr;
  EXPECT_FALSE(g_.Apply(FreezeVariablesPass()));
}

TEST_F(FreezeVariablesTest, VariablesWithoutAValueStay) {
  const Endpoint v =
      g_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({})}}, "empty");
  g_.Result(Read(v));
  EXPECT_FALSE(g_.Apply(FreezeVariablesPass()));
}

}  // namespace
}  // namespace tessera
