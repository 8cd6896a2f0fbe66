#include "runtime/graph/reference_reads.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

// A variable `v`, `read` = Identity(v), an update of v, and `use` = Neg(read).
struct Fixture {
  Fixture() {
    const AttrMap t = {{"T", DType::kFloat}};
    variable = Add("v", "VariableV2", {{"dtype", DType::kFloat}, {"shape", PartialShape({})}}, {});
    delta = Add("delta", "Placeholder", {{"dtype", DType::kFloat}}, {});
    read = Add("read", "Identity", t, {{variable, 0}});
    update = Add("update", "AssignAdd", t, {{variable, 0}, {delta, 0}});
    use = Add("use", "Neg", t, {{read, 0}});
  }
  Node* Add(absl::string_view name, absl::string_view op, AttrMap attrs,
            const std::vector<Endpoint>& inputs) {
    absl::StatusOr<Node*> node = graph.AddNode(name, op, std::move(attrs), inputs);
    EXPECT_TRUE(node.ok()) << node.status();
    return *node;
  }

  Graph graph;
  Node *variable, *delta, *read, *update, *use;
};

TEST(ReferenceReadsTest, NodeBehindAnUpdateReadsAfterIt) {
  Fixture f;
  f.graph.AddControlEdge(f.update, f.use);

  ASSERT_TRUE(ReadReferencesBehindWrites(&f.graph).ok());

  const Node* const late = f.use->input(0).node;
  ASSERT_NE(late, f.read);
  EXPECT_TRUE(late->IsOp("Identity"));
  EXPECT_EQ(late->input(0).node, f.variable);
  EXPECT_EQ(late->control_inputs(), std::vector<Node*>{f.update});
}

TEST(ReferenceReadsTest, NodeBesideAnUpdateKeepsItsRead) {
  Fixture f;
  ASSERT_TRUE(ReadReferencesBehindWrites(&f.graph).ok());
  EXPECT_EQ(f.use->input(0).node, f.read);
}

TEST(ReferenceReadsTest, ReadBehindTheUpdateStays) {
  Fixture f;
  f.graph.AddControlEdge(f.update, f.read);
  ASSERT_TRUE(ReadReferencesBehindWrites(&f.graph).ok());
  EXPECT_EQ(f.use->input(0).node, f.read);
  EXPECT_EQ(f.graph.num_nodes(), 5);
}

TEST(ReferenceReadsTest, WhatAWriterGivesIsNotTheVariable) {
  Fixture f;
  Node* const step =
      f.Add("step", "VariableV2", {{"dtype", DType::kInt64}, {"shape", PartialShape({})}}, {});
  const AttrMap count = {{"T", DType::kInt64}, {"limit", 5}};
  Node* const before = f.Add("before", "CountUpTo", count, {{step, 0}});
  Node* const user = f.Add("user", "Neg", {{"T", DType::kInt64}}, {{before, 0}});
  ASSERT_TRUE(ReadReferencesBehindWrites(&f.graph).ok());
  EXPECT_EQ(user->input(0).node, before);
}

TEST(ReferenceReadsTest, UsersBehindTheSameUpdateShareARead) {
  Fixture f;
  Node* const other = f.Add("other", "Neg", {{"T", DType::kFloat}}, {{f.read, 0}});
  f.graph.AddControlEdge(f.update, f.use);
  f.graph.AddControlEdge(f.update, other);
  ASSERT_TRUE(ReadReferencesBehindWrites(&f.graph).ok());
  EXPECT_EQ(f.use->input(0).node, other->input(0).node);
  EXPECT_EQ(f.graph.num_nodes(), 7);
}

}  // namespace
}  // namespace tessera
