#include "runtime/optimize/hoist_slices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/control_flow.h"
#include "runtime/optimize/inferred_shapes.h"
#include "runtime/optimize/slice_rules.h"

namespace tessera {
namespace {

// Of shorter axes a slice leaves too much to be worth its copies.
constexpr int64_t kMinPeriod = 4;
// How far a slice is moved at most, in nodes on a path.
constexpr int kMaxDepth = 150;
// Each attempt finds more values that are needed whole, unless it is the last.
constexpr int kMaxAttempts = 8;

using NodeSet = absl::flat_hash_set<const Node*>;

// A StridedSlice that keeps one index of one axis, or the gradient of one.
struct Seed {
  Node* node = nullptr;
  SliceOf slice;
  int axis = 0;
  bool drops_axis = false;  // the result has no such axis

  bool is_gradient() const { return node->IsOp("StridedSliceGrad"); }
};

bool HasBit(const Node& node, absl::string_view mask, int64_t bit) {
  const auto bits = node.attr<int64_t>(mask);
  return bits.ok() && ((*bits >> bit) & 1) != 0;
}

bool IsZero(const Node& node, absl::string_view mask) {
  const auto bits = node.attr<int64_t>(mask);
  return bits.ok() && *bits == 0;
}

// Returns `node` as a seed. `dims` are those of the value that is sliced.
std::optional<Seed> AsSeed(Node* node, const PartialShape& dims) {
  if (!dims.known_rank() || !IsZero(*node, "ellipsis_mask") || !IsZero(*node, "new_axis_mask")) {
    return std::nullopt;
  }
  const auto begin = ConstantInts(node->input(1)), end = ConstantInts(node->input(2)),
             strides = ConstantInts(node->input(3));
  if (!begin.has_value() || !end.has_value() || !strides.has_value()) return std::nullopt;
  const int specified = static_cast<int>(begin->size());
  if (specified > dims.rank() || end->size() != begin->size() || strides->size() != begin->size()) {
    return std::nullopt;
  }
  std::optional<Seed> seed;
  for (int i = 0; i < specified; ++i) {
    const bool drops = HasBit(*node, "shrink_axis_mask", i);
    const bool from_start = HasBit(*node, "begin_mask", i), to_end = HasBit(*node, "end_mask", i);
    if ((*strides)[i] != 1) return std::nullopt;
    if (from_start && to_end && !drops) continue;
    const int64_t length = dims.dim(i);
    int64_t first = from_start && !drops ? 0 : (*begin)[i];
    if (first < 0) first += length;
    if (seed.has_value() || length < kMinPeriod || first < 0 || first >= length)
      return std::nullopt;
    const int64_t last = (*end)[i] < 0 ? (*end)[i] + length : (*end)[i];
    if (!drops && (to_end || last != first + 1)) return std::nullopt;
    seed = Seed{.node = node, .slice = {length, first}, .axis = i, .drops_axis = drops};
  }
  return seed;
}

std::vector<Seed> FindSeeds(const std::vector<Node*>& order, const InferredShapes& shapes) {
  std::vector<Seed> seeds;
  for (Node* node : order) {
    const bool is_gradient = node->IsOp("StridedSliceGrad");
    if ((!is_gradient && !node->IsOp("StridedSlice")) || !node->control_inputs().empty()) continue;
    const Endpoint whole = is_gradient ? Endpoint{node, 0} : node->input(0);
    if (const auto seed = AsSeed(node, shapes.of(whole))) seeds.push_back(*seed);
  }
  return seeds;
}

// One attempt to move the seeds of one slice. It adds nodes to the graph, which nothing uses before
// Commit().
class Attempt {
 public:
  // `whole` holds the nodes whose values are needed whole.
  Attempt(OptimizationItem& item, const std::vector<Node*>& order, const InferredShapes& shapes,
          SliceOf slice, const NodeSet& whole)
      : item_(item),
        graph_(*item.graph),
        order_(order),
        shapes_(shapes),
        slice_(slice),
        rules_(shapes, slice),
        whole_(whole) {}

  absl::Status Plan(const std::vector<Seed>& seeds) {
    for (const Seed& seed : seeds) {
      if (seed.slice == slice_ && seed.is_gradient()) RETURN_IF_ERROR(KeepRows(seed));
    }
    for (Node* node : order_) RETURN_IF_ERROR(Push(node));
    for (const Seed& seed : seeds) {
      if (seed.slice == slice_ && !seed.is_gradient()) RETURN_IF_ERROR(Replace(seed));
    }
    FindAlive();
    return absl::OkStatus();
  }

  // The nodes of the graph that were sliced, but whose whole values are needed all the same.
  std::vector<const Node*> NeededWhole() const {
    std::vector<const Node*> needed;
    for (const Node* node : narrowed_) {
      if (alive_.contains(node)) needed.push_back(node);
    }
    return needed;
  }

  // True if a product of the graph is not needed any more.
  bool SavesProducts() const {
    return std::ranges::any_of(
        order_, [&](const Node* node) { return IsMatrixProduct(*node) && !alive_.contains(node); });
  }

  absl::Status Commit() {
    for (Node* node : order_) {
      const Endpoint value{node, 0};
      if (!pushed_.contains(node) || !rows_.contains(value)) continue;
      std::vector<Use> uses;
      for (const Use& use : node->uses(0)) {
        if (alive_.contains(use.node) && !pushed_.contains(use.node)) uses.push_back(use);
      }
      if (uses.empty()) continue;
      ASSIGN_OR_RETURN(const Endpoint spread, Spread(value));
      for (const Use& use : uses) {
        RETURN_IF_ERROR(graph_.Connect(spread, use.node, use.index));
      }
    }
    for (const auto& [from, to] : replaced_) RETURN_IF_ERROR(graph_.ReplaceUses(from, to));
    return absl::OkStatus();
  }

 private:
  // The rows of a value that is zero elsewhere.
  struct Rows {
    int axis;
    Endpoint rows;
  };

  // Returns true if a node of this op with these operands may be computed in slices.
  bool IsFree(const Node& node) const {
    return node.num_outputs() == 1 && node.control_inputs().empty() &&
           node.control_outputs().empty() && !item_.IsPreserved(&node);
  }

  absl::StatusOr<Endpoint> Add(const Node& like, absl::string_view op, AttrMap attrs,
                               const std::vector<Endpoint>& inputs) {
    ASSIGN_OR_RETURN(Node * node,
                     graph_.AddNode(graph_.UniqueName(absl::StrCat(like.name(), "/rows")), op,
                                    std::move(attrs), inputs, like.device()));
    return Endpoint{node, 0};
  }

  absl::StatusOr<Endpoint> AddInts(const Node& like, const std::vector<int32_t>& values) {
    ASSIGN_OR_RETURN(Node * node, AddConstant(&graph_, absl::StrCat(like.name(), "/rows/ints"),
                                              Tensor::Vector<int32_t>(values), like.device()));
    return Endpoint{node, 0};
  }

  // The bounds of the slice along `axis`, as a StridedSlice takes them.
  absl::StatusOr<std::vector<Endpoint>> Bounds(const Node& like, int axis, AttrMap* attrs) {
    std::vector<int32_t> begin(axis + 1, 0), end(axis + 1, 0), strides(axis + 1, 1);
    begin[axis] = static_cast<int32_t>(slice_.first);
    strides[axis] = static_cast<int32_t>(slice_.period);
    const int64_t all = (int64_t{1} << (axis + 1)) - 1;
    *attrs = {{"T", like.output_type(0)},
              {"Index", DType::kInt32},
              {"begin_mask", all >> 1},
              {"end_mask", all}};
    std::vector<Endpoint> bounds;
    for (const auto& values : {begin, end, strides}) {
      ASSIGN_OR_RETURN(bounds.emplace_back(), AddInts(like, values));
    }
    return bounds;
  }

  // Returns the slice of `value` along `axis`.
  absl::StatusOr<Endpoint> Narrow(const Endpoint& value, int axis, int depth = 0) {
    if (const auto found = rows_.find(value); found != rows_.end() && found->second.axis == axis) {
      return found->second.rows;
    }
    const auto key = std::make_pair(value, axis);
    if (const auto found = slices_.find(key); found != slices_.end()) return found->second;
    const Node& node = *value.node;
    std::optional<OperandAxes> axes;
    if (IsFree(node) && !whole_.contains(&node) && depth < kMaxDepth) {
      axes = rules_.ForSliceOfResult(node, axis);
    }
    Endpoint slice;
    if (axes.has_value()) {
      ASSIGN_OR_RETURN(slice, Rebuild(node, *axes, axis, depth));
      narrowed_.insert(&node);
    } else {
      AttrMap attrs;
      std::vector<Endpoint> inputs = {value};
      ASSIGN_OR_RETURN(const auto bounds, Bounds(node, axis, &attrs));
      attrs["T"] = node.output_type(value.index);
      inputs.insert(inputs.end(), bounds.begin(), bounds.end());
      ASSIGN_OR_RETURN(slice, Add(node, "StridedSlice", std::move(attrs), inputs));
    }
    slices_.emplace(key, slice);
    return slice;
  }

  // Adds a node like `node` with sliced operands. `axis` is that of the result, or kWhole.
  absl::StatusOr<Endpoint> Rebuild(const Node& node, const OperandAxes& axes, int axis, int depth) {
    std::vector<Endpoint> inputs = node.inputs();
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (axes[i] == kWhole) continue;
      ASSIGN_OR_RETURN(inputs[i], Narrow(inputs[i], axes[i], depth + 1));
    }
    if (node.IsOp("Reshape") && axis != kWhole) {
      ASSIGN_OR_RETURN(Node * target, AddConstant(&graph_, absl::StrCat(node.name(), "/rows/shape"),
                                                  rules_.SlicedTarget(node, axis), node.device()));
      inputs[1] = {target, 0};
    }
    return Add(node, node.op_name(), node.attrs(), inputs);
  }

  // The gradient of a slice is given by the gradient of its result.
  absl::Status KeepRows(const Seed& seed) {
    const Node& node = *seed.node;
    Endpoint rows = node.input(4);
    if (!IsFree(node) || !shapes_.of(node, 0).IsFullyDefined()) return absl::OkStatus();
    if (seed.drops_axis) {
      ASSIGN_OR_RETURN(Node * axis, AddConstant(&graph_, absl::StrCat(node.name(), "/rows/axis"),
                                                Tensor::Scalar<int32_t>(seed.axis), node.device()));
      ASSIGN_OR_RETURN(rows,
                       Add(node, "ExpandDims", {{"T", node.output_type(0)}}, {rows, {axis, 0}}));
    }
    rows_.emplace(Endpoint{seed.node, 0}, Rows{seed.axis, rows});
    return absl::OkStatus();
  }

  // Computes `node` from the rows of its operands, if some of them are zero elsewhere.
  absl::Status Push(Node* node) {
    std::vector<bool> is_sparse;
    int first = -1;
    for (int i = 0; i < node->num_inputs(); ++i) {
      is_sparse.push_back(rows_.contains(node->input(i)));
      if (is_sparse[i] && first < 0) first = i;
    }
    if (first < 0 || !IsFree(*node)) return absl::OkStatus();
    const Endpoint result{node, 0};
    for (int i = first; i < node->num_inputs(); ++i) {
      if (!is_sparse[i]) continue;
      const auto axes = rules_.ForSumOverSlice(*node, i, rows_.at(node->input(i)).axis);
      if (!axes.has_value()) continue;
      ASSIGN_OR_RETURN(const Endpoint sum, Rebuild(*node, *axes, kWhole, 0));
      replaced_.emplace(result, sum);
      pushed_.insert(node);
      return absl::OkStatus();
    }
    if (!SliceRules::IsZeroWithOperands(*node, is_sparse)) return absl::OkStatus();
    const PartialShape& shape = shapes_.of(result);
    if (!shape.IsFullyDefined()) return absl::OkStatus();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto axes = rules_.ForSliceOfResult(*node, axis);
      if (!axes.has_value() || !Agrees(*node, is_sparse, *axes)) continue;
      ASSIGN_OR_RETURN(const Endpoint rows, Rebuild(*node, *axes, axis, 0));
      rows_.emplace(result, Rows{axis, rows});
      pushed_.insert(node);
      break;
    }
    return absl::OkStatus();
  }

  // True if all operands that are zero outside of their rows are sliced to these rows.
  bool Agrees(const Node& node, const std::vector<bool>& is_sparse, const OperandAxes& axes) const {
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (is_sparse[i] && rows_.at(node.input(i)).axis != axes[i]) return false;
    }
    return true;
  }

  absl::Status Replace(const Seed& seed) {
    const Node& node = *seed.node;
    if (!IsFree(node)) return absl::OkStatus();
    ASSIGN_OR_RETURN(Endpoint rows, Narrow(node.input(0), seed.axis));
    if (rows.node->IsOp("StridedSlice")) return absl::OkStatus();  // it has not moved
    if (seed.drops_axis) {
      ASSIGN_OR_RETURN(
          rows, Add(node, "Squeeze",
                    {{"T", node.output_type(0)}, {"squeeze_dims", std::vector<int64_t>{seed.axis}}},
                    {rows}));
    }
    replaced_.emplace(Endpoint{seed.node, 0}, rows);
    return absl::OkStatus();
  }

  // The whole value, with zeros around its rows.
  absl::StatusOr<Endpoint> Spread(const Endpoint& value) {
    const Rows& rows = rows_.at(value);
    const auto dims = shapes_.of(value).dims();
    AttrMap attrs;
    ASSIGN_OR_RETURN(const Endpoint shape, AddInts(*value.node, {dims.begin(), dims.end()}));
    std::vector<Endpoint> inputs = {shape};
    ASSIGN_OR_RETURN(const auto bounds, Bounds(*value.node, rows.axis, &attrs));
    inputs.insert(inputs.end(), bounds.begin(), bounds.end());
    inputs.push_back(rows.rows);
    return Add(*value.node, "StridedSliceGrad", std::move(attrs), inputs);
  }

  // Finds what the results need once everything is replaced.
  void FindAlive() {
    std::vector<const Node*> open(item_.preserved.begin(), item_.preserved.end());
    alive_.insert(open.begin(), open.end());
    const auto reach = [&](const Node* node) {
      if (alive_.insert(node).second) open.push_back(node);
    };
    while (!open.empty()) {
      const Node* const node = open.back();
      open.pop_back();
      for (const Endpoint& input : node->inputs()) {
        const auto replaced = replaced_.find(input);
        if (replaced != replaced_.end()) {
          reach(replaced->second.node);
        } else if (pushed_.contains(input.node)) {
          reach(rows_.at(input).rows.node);
        } else {
          reach(input.node);
        }
      }
      for (const Node* control : node->control_inputs()) reach(control);
    }
  }

  OptimizationItem& item_;
  Graph& graph_;
  const std::vector<Node*>& order_;
  const InferredShapes& shapes_;
  const SliceOf slice_;
  const SliceRules rules_;
  const NodeSet& whole_;

  absl::flat_hash_map<std::pair<Endpoint, int>, Endpoint> slices_;  // by value and axis
  NodeSet narrowed_;  // nodes whose slice is computed from slices of their operands
  absl::flat_hash_map<Endpoint, Rows> rows_;  // values that are zero outside of some rows
  NodeSet pushed_;  // nodes that are computed from the rows of their operands
  absl::flat_hash_map<Endpoint, Endpoint> replaced_;
  NodeSet alive_;
};

bool CanRewrite(const OptimizationItem& item, const Seed& seed) {
  return std::ranges::all_of(
      std::initializer_list<absl::string_view>{"StridedSlice", "StridedSliceGrad", "Squeeze",
                                               "ExpandDims"},
      [&](absl::string_view op) { return item.HasKernel(op, *seed.node); });
}

// Moves the seeds of one slice, if that makes products smaller.
absl::Status Hoist(OptimizationItem& item, const std::vector<Node*>& order,
                   const InferredShapes& shapes, const std::vector<Seed>& seeds, SliceOf slice,
                   bool* changed) {
  NodeSet whole;
  for (int i = 0; i < kMaxAttempts; ++i) {
    Attempt attempt(item, order, shapes, slice, whole);
    RETURN_IF_ERROR(attempt.Plan(seeds));
    if (!attempt.SavesProducts()) return absl::OkStatus();
    const std::vector<const Node*> needed = attempt.NeededWhole();
    if (needed.empty()) {
      *changed = true;
      return attempt.Commit();
    }
    whole.insert(needed.begin(), needed.end());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status HoistSlicesPass::Run(OptimizationItem& item, bool* changed) const {
  if (HasControlFlow(*item.graph)) return absl::OkStatus();
  std::vector<SliceOf> done;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(*item.graph));
    if (std::ranges::none_of(order, [](const Node* node) { return IsMatrixProduct(*node); })) {
      return absl::OkStatus();
    }
    const InferredShapes shapes(order);
    std::vector<Seed> seeds = FindSeeds(order, shapes);
    std::erase_if(seeds, [&](const Seed& seed) { return !CanRewrite(item, seed); });
    const auto next = std::ranges::find_if(
        seeds, [&](const Seed& seed) { return std::ranges::find(done, seed.slice) == done.end(); });
    if (next == seeds.end()) return absl::OkStatus();
    const SliceOf slice = done.emplace_back(next->slice);
    RETURN_IF_ERROR(Hoist(item, order, shapes, seeds, slice, changed));
    RemoveAllBut(item.graph, item.preserved);
  }
}

}  // namespace tessera
