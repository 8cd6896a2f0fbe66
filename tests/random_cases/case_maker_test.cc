#include "tests/random_cases/case_maker.h"

#include <map>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "runtime/framework/op.h"
#include "runtime/tensor/tensor_proto.h"
#include "tests/random_cases/random_tensor.h"

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

TEST(CaseMakerTest, SizesAreKnownAndSmall) {
  std::vector<const OpDef*> ops;
  for (const char* name : {"AddV2", "Cast", "Fill", "RandomUniform"}) {
    ops.push_back(OpRegistry::Global().Find(name));
  }
  const CaseMaker maker = MakerOf(ops, false);
  int known = 0;
  for (uint64_t number = 0; number < 1000; ++number) {
    const tensorflow::GraphDef graph = maker.Make(5, number);
    std::map<std::string, Tensor> values;
    for (const tensorflow::NodeDef& node : graph.node()) {
      if (node.op() == "Const") {
        values[node.name()] = TensorFromProto(node.attr().at("value").tensor()).value();
      }
      if (node.op() != "Fill" && node.op() != "RandomUniform") continue;
      const auto sizes = values.find(node.input(0));
      ASSERT_NE(sizes, values.end()) << "another call's result is the shape: " << number;
      if (sizes->second.rank() != 1) continue;  // refused
      std::vector<int64_t> dims;
      for (int64_t i = 0; i < sizes->second.num_elements(); ++i) {
        dims.push_back(static_cast<int64_t>(ElementAsDouble(sizes->second, i)));
      }
      const absl::StatusOr<Shape> shape = Shape::Make(dims);
      if (!shape.ok()) continue;
      ++known;
      EXPECT_LE(shape->num_elements(), 1 << 26) << number;
    }
  }
  EXPECT_GT(known, 100);
}

TEST(CaseMakerTest, HostileTensorsAreSmallButTheirDimensionsAreNot) {
  std::vector<const OpDef*> ops;
  for (const char* name : {"MatMul", "ConcatV2", "SegmentSum", "BiasAdd"}) {
    ops.push_back(OpRegistry::Global().Find(name));
  }
  const CaseMaker maker = MakerOf(ops, true);
  int num_huge = 0;
  for (uint64_t number = 0; number < 1000; ++number) {
    const tensorflow::GraphDef graph = maker.Make(2, number);
    for (const tensorflow::NodeDef& node : graph.node()) {
      if (node.op() != "Const") continue;
      const Tensor value = TensorFromProto(node.attr().at("value").tensor()).value();
      EXPECT_LE(value.num_elements(), 1 << 20) << number;
      for (const int64_t dim : value.shape().dims()) num_huge += dim >= int64_t{1} << 31;
    }
  }
  EXPECT_GT(num_huge, 20);
}

}  // namespace
}  // namespace tessera
