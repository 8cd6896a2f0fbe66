#include "runtime/optimize/fuse_embedding.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/factors.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

bool IsAdd(const Node& node) { return node.IsOp("Add") || node.IsOp("AddV2"); }

// Columns of the constant matrix whose rows `node` looks up; nullopt if it does anything else.
std::optional<int64_t> LookedUpColumns(const Node& node) {
  if (!node.IsOp("Gather") && !node.IsOp("GatherV2")) return std::nullopt;
  if (node.output_type(0) != DType::kFloat) return std::nullopt;
  const DType index = node.input_type(1);
  if (index != DType::kInt32 && index != DType::kInt64) return std::nullopt;
  if (node.IsOp("GatherV2")) {
    const auto batch_dims = node.attr<int64_t>("batch_dims");
    const auto axis = ConstantInts(node.input(2));
    if (!batch_dims.ok() || *batch_dims != 0 || axis != std::vector<int64_t>{0}) {
      return std::nullopt;
    }
  }
  const PartialShape table = KnownShape(node.input(0));
  // One column would repeat in the sum.
  if (table.rank() != 2 || table.dim(1) <= 1) return std::nullopt;
  return table.dim(1);
}

struct LookUp {
  Node* gather = nullptr;
  Node* result = nullptr;  // the gather, or its product with `scale`
  double scale = 1;
};

struct Sum {
  std::vector<LookUp> lookups;
  std::vector<Endpoint> addends;
  int64_t columns = -1;
};

// True if `value` goes to `user` alone, once; its shape may go elsewhere.
bool IsFor(const OptimizationItem& item, const Endpoint& value, const Node& user) {
  const Node& node = *value.node;
  if (item.IsPreserved(&node) || node.num_outputs() != 1 || !node.control_outputs().empty() ||
      node.device() != user.device()) {
    return false;
  }
  int uses = 0;
  for (const Use& use : node.uses(0)) {
    if (use.node->IsOp("Shape") && !item.IsPreserved(use.node)) continue;
    if (use.node != &user || ++uses > 1) return false;
  }
  return uses == 1;
}

// What is looked up, perhaps times a constant, as an operand of `user`.
std::optional<LookUp> AsLookUp(const OptimizationItem& item, const Endpoint& value,
                               const Node& user) {
  if (LookedUpColumns(*value.node).has_value()) {
    if (!IsFor(item, value, user)) return std::nullopt;
    return LookUp{value.node, value.node};
  }
  Node* product = value.node;
  if (!product->IsOp("Mul") || !IsFor(item, value, user)) return std::nullopt;
  for (int side : {0, 1}) {
    const auto scale = ScalarConstant(product->input(side));
    const Endpoint looked_up = product->input(1 - side);
    if (!scale.has_value() || !LookedUpColumns(*looked_up.node).has_value() ||
        !IsFor(item, looked_up, *product)) {
      continue;
    }
    return LookUp{looked_up.node, product, *scale};
  }
  return std::nullopt;
}

// True if `value` is itself a sum for `user`, and its shape for nobody.
bool IsInner(const OptimizationItem& item, const Endpoint& value, const Node& user) {
  return IsAdd(*value.node) && value.node->uses(0).size() == 1 && IsFor(item, value, user);
}

// Takes apart the sum that `add` is. False if it looks nothing up.
bool Collect(const OptimizationItem& item, const Node& add, int depth, Sum* sum) {
  constexpr int kMaxDepth = 8;
  bool looks_up = false;
  for (int side : {0, 1}) {
    const Endpoint value = add.input(side);
    if (const auto lookup = AsLookUp(item, value, add); lookup.has_value()) {
      const int64_t columns = *LookedUpColumns(*lookup->gather);
      if (sum->columns == -1 || sum->columns == columns) {
        sum->columns = columns;
        sum->lookups.push_back(*lookup);
        looks_up = true;
        continue;
      }
    }
    Sum inner{.columns = sum->columns};
    if (IsInner(item, value, add) && depth < kMaxDepth &&
        Collect(item, *value.node, depth + 1, &inner)) {
      sum->columns = inner.columns;
      sum->lookups.insert(sum->lookups.end(), inner.lookups.begin(), inner.lookups.end());
      sum->addends.insert(sum->addends.end(), inner.addends.begin(), inner.addends.end());
      looks_up = true;
      continue;
    }
    sum->addends.push_back(value);
  }
  return looks_up;
}

// Lets users of the shape of `of`, which is that of what `gather` looks up, get it from the
// indices.
absl::Status DetachShapes(Graph* graph, const Node& of, const Node& gather, int64_t columns) {
  const std::vector<Use> uses = of.uses(0);
  for (const Use& use : uses) {
    Node* shape = use.node;
    if (!shape->IsOp("Shape")) continue;
    const DType type = shape->output_type(0);
    const bool is_narrow = type == DType::kInt32;
    const auto constant = [&](const char* name, Tensor value) {
      return AddConstant(graph, shape->name() + name, std::move(value), shape->device());
    };
    ASSIGN_OR_RETURN(Node * outer,
                     graph->AddNode(graph->UniqueName(shape->name() + "/indices"), "Shape",
                                    {{"T", gather.input_type(1)}, {"out_type", type}},
                                    {gather.input(1)}, shape->device()));
    ASSIGN_OR_RETURN(
        Node * last,
        constant("/columns", is_narrow ? Tensor::Vector<int32_t>({static_cast<int32_t>(columns)})
                                       : Tensor::Vector<int64_t>({columns})));
    ASSIGN_OR_RETURN(Node * axis, constant("/axis", Tensor::Scalar<int32_t>(0)));
    RETURN_IF_ERROR(ReplaceNode(graph, shape, "ConcatV2",
                                {{"N", 2}, {"T", type}, {"Tidx", DType::kInt32}},
                                {{outer, 0}, {last, 0}, {axis, 0}})
                        .status());
  }
  return absl::OkStatus();
}

absl::Status Fuse(Graph* graph, Node* root, const Sum& sum) {
  std::vector<Endpoint> inputs, indices;
  std::vector<DType> index_types;
  std::vector<float> scales;
  std::vector<std::string> gathers;
  for (const LookUp& lookup : sum.lookups) {
    inputs.push_back(lookup.gather->input(0));
    indices.push_back(lookup.gather->input(1));
    index_types.push_back(lookup.gather->input_type(1));
    scales.push_back(static_cast<float>(lookup.scale));
    gathers.push_back(lookup.gather->name());
    RETURN_IF_ERROR(DetachShapes(graph, *lookup.gather, *lookup.gather, sum.columns));
    if (lookup.result == lookup.gather) continue;
    RETURN_IF_ERROR(DetachShapes(graph, *lookup.result, *lookup.gather, sum.columns));
  }
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  inputs.insert(inputs.end(), sum.addends.begin(), sum.addends.end());
  AttrMap attrs = {{"T", DType::kFloat},
                   {"num_tables", static_cast<int64_t>(sum.lookups.size())},
                   {"Tindices", std::move(index_types)},
                   {"num_addends", static_cast<int64_t>(sum.addends.size())},
                   {"scales", std::move(scales)},
                   {"gathers", std::move(gathers)}};
  return ReplacePattern(graph, root, "_EmbeddingSum", std::move(attrs), inputs).status();
}

}  // namespace

absl::Status FuseEmbeddingPass::Run(OptimizationItem& item, bool* changed) const {
  const auto is_root = [&](const Node* node) {
    return node != nullptr && IsAdd(*node) && node->output_type(0) == DType::kFloat &&
           !item.IsPreserved(node) && item.HasKernel("_EmbeddingSum", *node);
  };
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    Node* root = item.graph->node(id);
    if (!is_root(root)) continue;
    // The last addition takes in those before it.
    if (root->uses(0).size() == 1) {
      const Node* user = root->uses(0)[0].node;
      if (is_root(user) && IsInner(item, {root, 0}, *user)) continue;
    }
    Sum sum;
    if (!Collect(item, *root, 0, &sum)) continue;
    RETURN_IF_ERROR(Fuse(item.graph, root, sum));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera
