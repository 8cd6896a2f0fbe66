#include "tests/random_cases/case_maker.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "runtime/framework/op.h"

namespace tessera {
namespace {

CaseMaker MakerOf(std::vector<const OpDef*> ops, bool hostile) {
  CaseMaker::Options options;
  options.ops = std::move(ops);
  options.hostile = hostile;
  options.share_of_graphs = hostile ? 0 : 0.4;
  return CaseMaker(std::move(options));
}

bool Calls(const tensorflow::GraphDef& graph, const std::string& op) {
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (node.op() == op) return true;
  }
  return false;
}

TEST(CaseMakerTest, SeedAndNumberDecide) {
  const CaseMaker a = MakerOf(ReproducibleOps(), false), b = MakerOf(ReproducibleOps(), false);
  a.Make(7, 1);  // what was made before does not matter
  EXPECT_EQ(a.Make(7, 2).DebugString(), b.Make(7, 2).DebugString());
  EXPECT_NE(a.Make(7, 2).DebugString(), b.Make(8, 2).DebugString());
}

TEST(CaseMakerTest, AnotherOpChangesNoCaseOfTheOthers) {
  std::vector<const OpDef*> ops;
  for (const char* name : {"AddV2", "Sub", "Sum"}) ops.push_back(OpRegistry::Global().Find(name));
  const CaseMaker fewer = MakerOf({ops[0], ops[1]}, true), more = MakerOf(ops, true);
  for (uint64_t number = 0; number < 50; ++number) {
    const tensorflow::GraphDef graph = more.Make(1, number);
    if (Calls(graph, "Sum")) continue;
    EXPECT_EQ(graph.DebugString(), fewer.Make(1, number).DebugString());
  }
}

TEST(CaseMakerTest, GraphsHaveFunctions) {
  const CaseMaker maker = MakerOf(ReproducibleOps(), false);
  std::set<std::string> callers;
  for (uint64_t number = 0; number < 300; ++number) {
    const tensorflow::GraphDef graph = maker.Make(3, number);
    for (const char* op : {"PartitionedCall", "StatelessIf", "StatelessCase", "While"}) {
      if (Calls(graph, op)) callers.insert(op);
    }
  }
  EXPECT_EQ(callers.size(), 4);
}

}  // namespace
}  // namespace tessera
