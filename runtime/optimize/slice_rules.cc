#include "runtime/optimize/slice_rules.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/linear_op.h"

namespace tessera {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

// Ops whose operands are broadcast together, those of one operand among them.
bool IsElementwise(const Node& node) {
  static const auto* const kOps = new Names{
      "Abs",  "Add",         "AddN",     "AddV2",   "Cast",     "Elu",     "Erf",
      "Erfc", "Exp",         "Identity", "Log",     "Maximum",  "Minimum", "Mul",
      "Neg",  "RealDiv",     "Relu",     "Relu6",   "ReluGrad", "Rsqrt",   "RsqrtGrad",
      "Selu", "Sigmoid",     "Softplus", "Sqrt",    "SqrtGrad", "Square",  "SquaredDifference",
      "Sub",  "SigmoidGrad", "Tanh",     "TanhGrad"};
  return kOps->contains(node.op_name());
}

bool IsReduction(const Node& node) {
  static const auto* const kOps = new Names{"Max", "Mean", "Min", "Prod", "Sum"};
  return kOps->contains(node.op_name());
}

bool IsBatchProduct(const Node& node) {
  return node.IsOp("BatchMatMul") || node.IsOp("BatchMatMulV2");
}

bool Flag(const Node& node, absl::string_view name) {
  const auto flag = node.attr<bool>(name);
  return flag.ok() && *flag;
}

// The axes of a reduction, each from 0 on.
std::optional<std::vector<int64_t>> ReducedAxes(const Node& node, int rank) {
  auto axes = ConstantInts(node.input(1));
  if (!axes.has_value()) return std::nullopt;
  for (int64_t& axis : *axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  return axes;
}

// Returns the product of the dimensions after `axis`, or -1 if it is not known.
int64_t Stride(const PartialShape& shape, int axis) {
  int64_t stride = 1;
  for (int i = axis + 1; i < shape.rank(); ++i)
    stride = MultiplyWithoutOverflow(stride, shape.dim(i));
  return stride;
}

}  // namespace

bool IsMatrixProduct(const Node& node) { return node.IsOp("MatMul") || IsBatchProduct(node); }

OperandAxes SliceRules::OnlyFirst(const Node& node, int axis) const {
  OperandAxes axes(node.num_inputs(), kWhole);
  axes[0] = axis;
  return axes;
}

std::optional<OperandAxes> SliceRules::ForBroadcast(const Node& node, int axis) const {
  const int rank = RankOfResult(node);
  OperandAxes axes;
  for (const Endpoint& operand : node.inputs()) {
    const PartialShape& shape = shapes_.of(operand);
    if (!shape.known_rank()) return std::nullopt;
    const int own = axis - (rank - shape.rank());
    const int64_t length = own < 0 ? 1 : shape.dim(own);
    if (length == 1) {
      axes.push_back(kWhole);
      continue;
    }
    // An unknown length may be 1, of which a slice from the first element on leaves all.
    if (length < 0 ? slice_.first != 0 : length % slice_.period != 0) return std::nullopt;
    axes.push_back(own);
  }
  return axes;
}

std::optional<OperandAxes> SliceRules::ForReduction(const Node& node, int axis) const {
  const int rank = Rank(node.input(0));
  const auto reduced = rank < 0 ? std::nullopt : ReducedAxes(node, rank);
  if (!reduced.has_value()) return std::nullopt;
  const bool keeps = Flag(node, "keep_dims");
  for (int own = 0, result = 0; own < rank; ++own) {
    const bool is_reduced = std::ranges::find(*reduced, own) != reduced->end();
    if (!is_reduced && result == axis) return OnlyFirst(node, own);
    if (!is_reduced || keeps) ++result;
  }
  return std::nullopt;
}

std::optional<OperandAxes> SliceRules::ForReshape(const Node& node, int axis) const {
  const PartialShape& from = shapes_.of(node.input(0));
  const PartialShape& to = shapes_.of(node, 0);
  if (!from.known_rank() || !ConstantInts(node.input(1)).has_value()) return std::nullopt;
  const int64_t stride = Stride(to, axis);
  if (stride <= 0) return std::nullopt;
  for (int own = from.rank() - 1; own >= 0; --own) {
    if (Stride(from, own) != stride) continue;
    // The first axis, with this stride, has as many elements as the result has up to `axis`.
    const int64_t length = from.dim(own);
    if (length < 0 ? own == 0 : length % slice_.period == 0) return OnlyFirst(node, own);
  }
  return std::nullopt;
}

std::optional<OperandAxes> SliceRules::ForProduct(const Node& node, int axis) const {
  if (node.IsOp("MatMul")) {
    if (axis != 0) return std::nullopt;
    return OnlyFirst(node, Flag(node, "transpose_a") ? 1 : 0);
  }
  const int rank = RankOfResult(node), a_rank = Rank(node.input(0));
  if (rank < 2 || a_rank < 2 || axis != rank - 2) return std::nullopt;
  return OnlyFirst(node, a_rank - (Flag(node, "adj_x") ? 1 : 2));
}

std::optional<OperandAxes> SliceRules::ForSliceOfResult(const Node& node, int axis) const {
  const int rank = RankOfResult(node);
  if (axis < 0 || axis >= rank) return std::nullopt;
  if (IsElementwise(node)) return ForBroadcast(node, axis);
  if (IsReduction(node)) return ForReduction(node, axis);
  if (IsMatrixProduct(node)) return ForProduct(node, axis);
  if (node.IsOp("Reshape")) return ForReshape(node, axis);
  if (node.IsOp("BiasAdd") && IsChannelsLast(node) && axis < rank - 1) return OnlyFirst(node, axis);
  if ((node.IsOp("Softmax") || node.IsOp("LogSoftmax")) && axis < rank - 1) {
    return OnlyFirst(node, axis);
  }
  if (!node.IsOp("Transpose") && !node.IsOp("Tile")) return std::nullopt;
  const auto ints = ConstantInts(node.input(1));
  if (!ints.has_value() || static_cast<int>(ints->size()) != rank) return std::nullopt;
  if (node.IsOp("Tile")) {
    return (*ints)[axis] == 1 ? std::optional(OnlyFirst(node, axis)) : std::nullopt;
  }
  const int64_t own = (*ints)[axis] < 0 ? (*ints)[axis] + rank : (*ints)[axis];
  return own >= 0 && own < rank ? std::optional(OnlyFirst(node, static_cast<int>(own)))
                                : std::nullopt;
}

std::optional<OperandAxes> SliceRules::ForSumOverSlice(const Node& node, int i, int axis) const {
  const int rank = Rank(node.input(i));
  if (rank < 0) return std::nullopt;
  if (node.IsOp("Sum")) {
    const auto reduced = ReducedAxes(node, rank);
    const bool sums =
        i == 0 && reduced.has_value() && std::ranges::find(*reduced, axis) != reduced->end();
    return sums ? std::optional(OnlyFirst(node, axis)) : std::nullopt;
  }
  if (node.IsOp("BiasAddGrad")) {
    const bool sums = IsChannelsLast(node) && axis < rank - 1;
    return sums ? std::optional(OnlyFirst(node, axis)) : std::nullopt;
  }
  if (!IsMatrixProduct(node)) return std::nullopt;
  const int a_rank = Rank(node.input(0)), b_rank = Rank(node.input(1));
  if (a_rank < 2 || b_rank < 2) return std::nullopt;
  const bool is_batch = IsBatchProduct(node);
  const OperandAxes axes = {a_rank - (Flag(node, is_batch ? "adj_x" : "transpose_a") ? 2 : 1),
                            b_rank - (Flag(node, is_batch ? "adj_y" : "transpose_b") ? 1 : 2)};
  return axes[i] == axis ? std::optional(axes) : std::nullopt;
}

bool SliceRules::IsZeroWithOperands(const Node& node, const std::vector<bool>& is_sparse) {
  static const auto* const kWithAll = new Names{"Add", "AddN", "AddV2", "Sub"};
  static const auto* const kWithFirst =
      new Names{"BatchMatMul", "BatchMatMulV2", "Identity", "MatMul", "Mean", "Mul",  "Neg",
                "RealDiv",     "ReluGrad",      "Reshape",  "Square", "Sum",  "Tile", "Transpose"};
  static const auto* const kWithSecond =
      new Names{"Mul", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad"};
  const auto& op = node.op_name();
  if (kWithAll->contains(op)) return std::ranges::find(is_sparse, false) == is_sparse.end();
  return (kWithFirst->contains(op) && is_sparse[0]) || (kWithSecond->contains(op) && is_sparse[1]);
}

Tensor SliceRules::SlicedTarget(const Node& reshape, int axis) const {
  Tensor target = *ConstantValue(reshape.input(1));
  std::vector<int64_t> dims = *ConstantInts(reshape.input(1));
  if (dims[axis] > 0) dims[axis] /= slice_.period;
  if (target.dtype() == DType::kInt64) return Tensor::Vector<int64_t>(dims);
  return Tensor::Vector<int32_t>(std::vector<int32_t>(dims.begin(), dims.end()));
}

}  // namespace tessera
