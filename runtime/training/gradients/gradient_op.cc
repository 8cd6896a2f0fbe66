#include "runtime/training/gradients/gradient_op.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/training/gradients/differentiation.h"

namespace tessera {
namespace {

// The axes over which the gradient of an operand of shape `own` is summed after it was broadcast
// with one of shape `other`.
struct BroadcastAxes {
  std::vector<int32_t> missing;  // the operand lacks these dimensions
  std::vector<int32_t> ones;     // the operand has size 1 there
};

// Returns nothing if it cannot be told before the graph runs.
std::optional<BroadcastAxes> FindBroadcastAxes(const PartialShape& own, const PartialShape& other) {
  if (!own.known_rank() || !other.known_rank()) return std::nullopt;
  const int rank = std::max(own.rank(), other.rank());
  BroadcastAxes axes;
  for (int i = 0; i < rank; ++i) {
    const int in_own = i - (rank - own.rank());
    const int in_other = i - (rank - other.rank());
    if (in_own < 0) {
      axes.missing.push_back(i);
      continue;
    }
    const int64_t size = own.dim(in_own);
    const int64_t other_size = in_other < 0 ? 1 : other.dim(in_other);
    if (size == 1 && other_size != 1) axes.ones.push_back(i);
    if (size < 0 && other_size != 1) return std::nullopt;
  }
  return axes;
}

}  // namespace

Expr GradientOp::CallAlike(absl::string_view name, std::initializer_list<Expr> inputs, AttrMap more,
                           int output) {
  const OpDef* const alike = builder_.graph()->FindOp(name);
  if (alike == nullptr) {
    Fail(absl::NotFoundError(absl::StrCat("op '", name, "' is not declared")));
    return Expr();
  }
  for (const auto& [attr, value] : node_->attrs()) {
    if (alike->FindAttr(attr) != nullptr) more.emplace(attr, value);
  }
  return Call(name, inputs, std::move(more), output);
}

PartialShape GradientOp::StaticShape(const Expr& forward) const {
  return differentiation_->shapes().Of(forward.endpoint());
}

Expr GradientOp::dy(int i) {
  if (!gradients_[i].is_none()) return DenseGradient(builder_, gradients_[i]);
  if (RemoveRef(node_->output_type(i)) == DType::kResource) {
    Fail(absl::UnimplementedError("an output that is a handle has no gradient"));
    return Expr();
  }
  gradients_[i].values = ZerosLike(out(i)).endpoint();
  return builder_.Of(gradients_[i].values);
}

Expr GradientOp::Unbroadcast(const Expr& d, int i, int other) {
  const PartialShape own = StaticShape(in(i));
  const std::optional<BroadcastAxes> axes = FindBroadcastAxes(own, StaticShape(in(other)));
  if (!axes.has_value()) {
    const Expr sum_axes = Call("BroadcastGradientArgs", {ShapeOf(in(i)), ShapeOf(in(other))});
    return Reshape(SumOver(d, sum_axes), ShapeOf(in(i)));
  }
  Expr sum = d;
  if (!axes->ones.empty()) sum = SumOver(sum, builder_.Ints(axes->ones), /*keep_dims=*/true);
  if (!axes->missing.empty()) sum = SumOver(sum, builder_.Ints(axes->missing));
  return sum;
}

void GradientOp::SetBroadcast(int i, const Expr& di, int j, const Expr& dj) {
  if (!di.empty() && Wants(i)) Set(i, Unbroadcast(di, i, j));
  if (!dj.empty() && Wants(j)) Set(j, Unbroadcast(dj, j, i));
}

Expr DenseGradient(GraphBuilder& build, const Gradient& gradient) {
  const Expr values = build.Of(gradient.values);
  if (!gradient.is_sparse()) return values;
  const Expr rows = SliceVector(build.Of(gradient.dense_shape), 0, 1);
  return Call("UnsortedSegmentSum", {values, build.Of(gradient.indices), Call("Squeeze", {rows})});
}

}  // namespace tessera
