// The gradient of Einsum, which is an Einsum again.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// "ab,bc->ac" taken apart. Spaces mean nothing.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

bool Parse(std::string text, Equation* equation) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  if (sides.size() != 2) return false;
  equation->inputs = absl::StrSplit(sides[0], ',');
  equation->output = sides[1];
  return true;
}

bool HasLabel(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

// Each label once, in the order of their first places.
std::string DistinctLabels(const std::string& labels) {
  std::string distinct;
  for (char label : labels) {
    if (label == '.' || !HasLabel(distinct, label)) distinct += label;
  }
  return distinct;
}

// Puts the dimensions of `x`, which are called `from`, as `to` says.
Expr Rearranged(const Expr& x, const std::string& from, const std::string& to) {
  if (from == to) return x;
  return Call("Einsum", {x}, {{"equation", absl::StrCat(from, "->", to)}});
}

// Sums `dx`, whose ellipsis stands for the dimensions that the output's does, to the shape of `x`.
// Ellipses stand in front here.
Expr WithoutBroadcast(const Expr& dx, const Expr& x) {
  const Expr x_shape = ShapeOf(x), dx_shape = ShapeOf(dx);
  const Expr axes = Call("BroadcastGradientArgs", {x_shape, dx_shape});
  return Reshape(SumOver(dx, axes), x_shape);
}

// The gradient of operand `i`, given as `x` with the labels `own`, of which none is twice there:
// the equation of the others and the output, which gives the labels of operand i that occur in
// them; the operand is constant along its other labels.
Expr DistinctOperandGradient(GradientOp& op, const Equation& equation, int i, const Expr& x,
                             const std::string& own) {
  const bool has_other = equation.inputs.size() == 2;
  const std::string other = has_other ? equation.inputs[1 - i] : "";
  std::string given;
  for (char label : own) {
    if (label == '.') continue;
    if (HasLabel(equation.output, label) || HasLabel(other, label)) given += label;
  }
  const bool has_ellipsis = absl::StrContains(own, "...");
  const bool result_ellipsis =
      absl::StrContains(equation.output, "...") || absl::StrContains(other, "...");
  // With the dimensions of the ellipsis in front.
  const std::string target = absl::StrCat(result_ellipsis ? "..." : "", given);
  std::vector<Expr> inputs = {op.dy()};
  std::string text = equation.output;
  if (has_other) {
    inputs.push_back(Conjugate(op.in(1 - i)));
    absl::StrAppend(&text, ",", other);
  }
  Expr dx = Call("Einsum", inputs, {{"equation", absl::StrCat(text, "->", target)}});
  GraphBuilder& build = op.build();
  // Put the operand's own order and dimensions back: a new dimension of size 1 for each label that
  // was summed over, and then as often as the operand is long there.
  std::string labels;
  for (char label : own) {
    if (label != '.') labels += label;
  }
  if (labels != given) {
    for (size_t k = 0; k < labels.size(); ++k) {
      if (HasLabel(given, labels[k])) continue;
      const int axis = static_cast<int>(k) - static_cast<int>(labels.size());
      // Labels behind it that are not inserted yet make the axis smaller.
      int missing = 0;
      for (size_t rest = k + 1; rest < labels.size(); ++rest) {
        missing += !HasLabel(given, labels[rest]);
      }
      dx = Call("ExpandDims", {dx, build.Int(axis + missing)});
    }
  }
  if (!has_ellipsis && !result_ellipsis) {
    return labels == given ? dx : Call("BroadcastTo", {dx, ShapeOf(x)});
  }
  // The operand with its ellipsis in front.
  const std::string own_in_front = absl::StrCat(has_ellipsis ? "..." : "", labels);
  const Expr x_in_front = Rearranged(x, own, own_in_front);
  if (labels != given) dx = dx + ZerosLike(x_in_front);
  dx = WithoutBroadcast(dx, x_in_front);
  return Rearranged(dx, own_in_front, own);
}

// The op takes the diagonal of an operand that has a label twice; its gradient goes back there.
Expr OperandGradient(GradientOp& op, const Equation& equation, int i) {
  const std::string& own = equation.inputs[i];
  const std::string distinct = DistinctLabels(own);
  const Expr diagonal = Rearranged(op.in(i), own, distinct);
  return Rearranged(DistinctOperandGradient(op, equation, i, diagonal, distinct), distinct, own);
}

void EinsumGradient(GradientOp& op) {
  Equation equation;
  const std::string text = op.attr<std::string>("equation");
  if (!Parse(text, &equation) || equation.inputs.size() != static_cast<size_t>(op.num_inputs())) {
    op.Fail(absl::InvalidArgumentError(absl::StrCat("'", text, "' is no equation")));
    return;
  }
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (op.Wants(i)) op.Set(i, OperandGradient(op, equation, i));
  }
}
REGISTER_GRADIENT("Einsum", EinsumGradient);
REGISTER_GRADIENT("XlaEinsum", EinsumGradient);

}  // namespace
}  // namespace tessera
