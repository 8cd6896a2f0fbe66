#include "runtime/optimize/derived_constants.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/fold_constants.h"
#include "runtime/optimize/freeze_variables.h"
#include "runtime/optimize/merge_duplicates.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// Neg(v), where v is a frozen variable of two elements, folded into a constant.
class DerivedConstantsTest : public ::testing::Test {
 protected:
  DerivedConstantsTest() {
    g_.item.is_frozen = [](const Node&) { return true; };
    AddVariable("v", &resources_of_graph_);
    g_.Result(g_.Op("Neg", {Read("v")}));
    g_.Apply(FreezeVariablesPass());
    g_.Apply(FoldConstantsPass());
  }
  void AddVariable(const std::string& name, IntrusivePtr<Variable>* variable) {
    *variable = MakeRefCounted<Variable>(DType::kFloat, PartialShape());
    (*variable)->Assign(Tensor::Vector<float>({1, 2}));
    EXPECT_TRUE(g_.resources.Create("", Variable::kTypeName, name, *variable).ok());
  }
  Endpoint Read(const std::string& name) {
    const Endpoint handle =
        g_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}}, name);
    return g_.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  }
  // The folded constant for other values of the variable.
  absl::StatusOr<Tensor> With(Tensor value) {
    ResourceManager others;
    auto variable = MakeRefCounted<Variable>(DType::kFloat, PartialShape());
    if (value.has_value()) variable->Assign(std::move(value));
    EXPECT_TRUE(others.Create("", Variable::kTypeName, "v", variable).ok());
    const int64_t number = DerivedNumber(*g_.Only("Const"));
    auto values =
        DerivedConstants::Of(g_.item)->Evaluate({number}, others, {.device = g_.item.host()});
    if (!values.ok()) return values.status();
    return values->at(number);
  }

  PassTestGraph g_;
  IntrusivePtr<Variable> resources_of_graph_;
};

TEST_F(DerivedConstantsTest, FollowTheVariables) {
  EXPECT_THAT(g_.Only("Const")->attr<Tensor>("value")->flat<float>(), ElementsAre(-1, -2));
  const auto other = With(Tensor::Vector<float>({5, 6}));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(other->flat<float>(), ElementsAre(-5, -6));
}

TEST_F(DerivedConstantsTest, AreHiddenFromPassesThatDecideByValues) {
  const Endpoint folded{g_.Only("Const"), 0};
  EXPECT_EQ(ConstantValue(folded), nullptr);
  EXPECT_NE(PresentValue(folded), nullptr);
}

TEST_F(DerivedConstantsTest, DoNotFitOtherShapesOrNoValue) {
  EXPECT_TRUE(absl::IsFailedPrecondition(With(Tensor::Vector<float>({5})).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(With(Tensor::Vector<double>({5, 6})).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(With(Tensor()).status()));
}

TEST_F(DerivedConstantsTest, ConditionsHoldAsTheyDid) {
  DerivedConstants::Of(g_.item)->NoteCondition(
      DerivedNumber(*g_.Only("Const")),
      [](const Tensor& value) { return value.flat<float>()[0] < 0; }, true);
  EXPECT_TRUE(With(Tensor::Vector<float>({5, 6})).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(With(Tensor::Vector<float>({-5, 6})).status()));
}

// Two variables with one value now may have two in the next session.
TEST_F(DerivedConstantsTest, EqualVariablesStayApart) {
  IntrusivePtr<Variable> other;
  AddVariable("w", &other);
  g_.Result(Read("w"));
  IntrusivePtr<Variable> same;
  AddVariable("u", &same);
  g_.Result(Read("u"));
  g_.Apply(FreezeVariablesPass());
  g_.Apply(MergeDuplicatesPass());
  EXPECT_EQ(g_.CountOf("Const"), 3);
}

}  // namespace
}  // namespace tessera
