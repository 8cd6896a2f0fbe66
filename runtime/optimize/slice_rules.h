// How an op's operands and result correspond along one axis: what hoist_slices knows about ops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/optimize/inferred_shapes.h"

namespace tessera {

// Selects every `period`-th element of an axis, from element `first` < `period` on. The length of
// the axis is a multiple of the period. An axis of one period has one such element; where a Reshape
// has merged it with the axes before it, there are several.
struct SliceOf {
  int64_t period = 0, first = 0;
  friend bool operator==(const SliceOf&, const SliceOf&) = default;
};

// The axis of each operand along which it is sliced.
using OperandAxes = std::vector<int>;
// Stands for an operand that is not sliced, as the same elements of it belong to each element of
// the result's axis.
inline constexpr int kWhole = -1;

// Tells what the ops of a graph do along the axes of their operands. Pure functions of the graph.
class SliceRules {
 public:
  SliceRules(const InferredShapes& shapes, SliceOf slice) : shapes_(shapes), slice_(slice) {}

  // Returns the axes for which node(slices of the operands) is the slice of the node's result along
  // `axis`, or nullopt if there are none or they are not known. The target shape of a Reshape needs
  // to be changed besides, by SlicedTarget().
  std::optional<OperandAxes> ForSliceOfResult(const Node& node, int axis) const;
  // Returns the axes for which node(slices of the operands) is the node's whole result, if operand
  // `i` is zero outside of its slice along `axis`: that axis is summed over.
  std::optional<OperandAxes> ForSumOverSlice(const Node& node, int i, int axis) const;
  // Returns true if the result is zero wherever the operands for which `is_sparse` holds are.
  static bool IsZeroWithOperands(const Node& node, const std::vector<bool>& is_sparse);

  // Returns the target shape for the slice of a Reshape's result along `axis`, for a node that
  // ForSliceOfResult() accepts.
  Tensor SlicedTarget(const Node& reshape, int axis) const;

 private:
  OperandAxes OnlyFirst(const Node& node, int axis) const;
  std::optional<OperandAxes> ForBroadcast(const Node& node, int axis) const;
  std::optional<OperandAxes> ForReduction(const Node& node, int axis) const;
  std::optional<OperandAxes> ForReshape(const Node& node, int axis) const;
  std::optional<OperandAxes> ForProduct(const Node& node, int axis) const;
  int Rank(const Endpoint& value) const { return shapes_.of(value).rank(); }
  int RankOfResult(const Node& node) const { return shapes_.of(node, 0).rank(); }

  const InferredShapes& shapes_;
  const SliceOf slice_;
};

// Returns true for products of matrices.
bool IsMatrixProduct(const Node& node);

}  // namespace tessera
