#include "runtime/training/program/losses.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using training::LossSpec;

// The losses of all elements, from predictions or logits and labels of the same shape and dtype.
using ElementLoss = Expr (*)(const LossSpec& spec, const Expr& output, const Expr& labels);

Expr SigmoidCrossEntropy(const LossSpec& spec, const Expr& logits, const Expr& labels) {
  const double smoothing = spec.label_smoothing();
  const Expr targets = smoothing == 0 ? labels : (1 - smoothing) * labels + 0.5 * smoothing;
  // max(x, 0) - x * z + log(1 + exp(-|x|)), which does not overflow. Relu and Abs would have a
  // gradient of 0 where a logit is 0, and the loss one of -z instead of 0.5 - z.
  const Expr zeros = ZerosLike(logits);
  const Expr is_positive = Call("GreaterEqual", {logits, zeros});
  const Expr negative_size = Where(is_positive, -logits, logits);
  return Where(is_positive, logits, zeros) - logits * targets +
         Call("Log1p", {Call("Exp", {negative_size})});
}

Expr SquaredError(const LossSpec& /*spec*/, const Expr& output, const Expr& labels) {
  return Call("SquaredDifference", {output, labels});
}

Expr AbsoluteError(const LossSpec& /*spec*/, const Expr& output, const Expr& labels) {
  return Call("Abs", {output - labels});
}

Expr Huber(const LossSpec& spec, const Expr& output, const Expr& labels) {
  const double delta = spec.huber_delta() > 0 ? spec.huber_delta() : 1;
  const Expr error = Call("Abs", {output - labels});
  const Expr quadratic = Call("Minimum", {error, error.builder()->Scalar(error.dtype(), delta)});
  return 0.5 * Call("Square", {quadratic}) + delta * (error - quadratic);
}

// Labels are 0 or 1.
Expr Hinge(const LossSpec& /*spec*/, const Expr& logits, const Expr& labels) {
  return Call("Relu", {1 - (2 * labels - 1) * logits});
}

struct ElementLossType {
  const char* type;
  ElementLoss loss;
};
constexpr ElementLossType kElementLosses[] = {
    {"sigmoid_cross_entropy", SigmoidCrossEntropy},
    {"mean_squared_error", SquaredError},
    {"mean_absolute_error", AbsoluteError},
    {"huber", Huber},
    {"hinge", Hinge},
};
constexpr char kSparseSoftmax[] = "sparse_softmax_cross_entropy";
constexpr char kSoftmax[] = "softmax_cross_entropy";
constexpr char kGraph[] = "graph";

ElementLoss FindElementLoss(const std::string& type) {
  for (const ElementLossType& each : kElementLosses) {
    if (type == each.type) return each.loss;
  }
  return nullptr;
}

// Returns the length of the last dimension, as an int32 vector of one element.
Expr LastDimension(const Expr& x) { return SliceVector(ShapeOf(x), -1, 0); }

// Returns a matrix with the last dimension of `x`.
Expr AsMatrix(const Expr& x) {
  return Reshape(x, Concat({x.builder()->Ints({-1}), LastDimension(x)}, 0));
}

Expr SoftmaxCrossEntropy(const LossSpec& spec, const Expr& logits, const Expr& labels) {
  GraphBuilder& build = *logits.builder();
  Expr targets = AsMatrix(CastTo(labels, logits.dtype()));
  if (const double smoothing = spec.label_smoothing(); smoothing != 0) {
    const Expr classes = CastTo(Reshape(LastDimension(logits), build.Ints({})), logits.dtype());
    targets = (1 - smoothing) * targets + smoothing / classes;
  }
  return Call("SoftmaxCrossEntropyWithLogits", {AsMatrix(logits), targets});
}

Expr SparseSoftmaxCrossEntropy(const LossSpec& spec, const Expr& logits, const Expr& labels) {
  GraphBuilder& build = *logits.builder();
  const bool is_narrow = labels.dtype() == DType::kInt32;
  const Expr classes =
      Reshape(is_narrow ? labels : CastTo(labels, DType::kInt64), build.Ints({-1}));
  // Refuses labels that are no class.
  const Expr exact = Call("SparseSoftmaxCrossEntropyWithLogits", {AsMatrix(logits), classes});
  const double smoothing = spec.label_smoothing();
  if (smoothing == 0) return exact;
  // Smoothed targets are a mixture of the label and the uniform distribution.
  const Expr count = CastTo(Reshape(LastDimension(logits), build.Ints({})), logits.dtype());
  const Expr uniform = Call("ZerosLike", {AsMatrix(logits)}) + 1 / count;
  return (1 - smoothing) * exact +
         smoothing * Call("SoftmaxCrossEntropyWithLogits", {AsMatrix(logits), uniform});
}

Expr SumOfAll(const Expr& x) {
  const Expr flat = Reshape(x, x.builder()->Ints({-1}));
  return SumOver(flat, x.builder()->Ints({0}));
}

// Reduces the losses of all elements to one.
Expr Reduce(const Expr& losses, const Expr& weights) {
  GraphBuilder& build = *losses.builder();
  if (weights.empty()) {
    return Call("Mean", {Reshape(losses, build.Ints({-1})), build.Ints({0})});
  }
  // A row of losses for each weight.
  const Expr column = Reshape(CastTo(weights, losses.dtype()), build.Ints({-1, 1}));
  const Expr rows =
      Reshape(losses, Concat({SliceVector(ShapeOf(column), 0, 1), build.Ints({-1})}, 0));
  const Expr counts =
      CastTo(Call("NotEqual", {column, build.Scalar(column.dtype(), 0)}), losses.dtype());
  return Call("DivNoNan", {SumOfAll(rows * column), SumOfAll(OnesLike(rows) * counts)});
}

absl::Status CheckType(const std::string& type) {
  std::vector<std::string> known = {kSparseSoftmax, kSoftmax, kGraph};
  for (const ElementLossType& each : kElementLosses) known.push_back(each.type);
  for (const std::string& each : known) {
    if (type == each) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("graph.loss.type is '", type,
                                                 "', which is no loss", DidYouMean(type, known),
                                                 " (there are ", absl::StrJoin(known, ", "), ")"));
}

}  // namespace

DType LabelDType(const LossSpec& spec, DType output) {
  return spec.type() == kSparseSoftmax ? DType::kInt64 : output;
}

absl::Status CheckLoss(const LossSpec& spec) {
  RETURN_IF_ERROR(CheckType(spec.type()));
  if (spec.output().empty()) {
    return absl::InvalidArgumentError(
        "graph.loss.output names no tensor; it is what the loss compares with the labels, or the "
        "loss itself for the type 'graph'");
  }
  if (spec.type() == kGraph) {
    if (spec.label().empty() && spec.weight().empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "graph.loss.type is 'graph', whose labels and weights are in the graph: remove "
        "graph.loss.label and graph.loss.weight, and feed placeholders by graph.inputs");
  }
  if (!spec.label().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("graph.loss.type '", spec.type(),
                   "' needs labels: name the field of a batch that has them by graph.loss.label"));
}

absl::StatusOr<Expr> AddLoss(const LossSpec& spec, GraphBuilder& build, const Expr& output,
                             const Expr& labels, const Expr& weights) {
  if (!IsFloating(output.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph.loss.output '", spec.output(), "' is ", DTypeName(output.dtype()),
                     ", but a loss is made of floating-point numbers"));
  }
  if (spec.type() == kGraph) return Reduce(output, Expr());
  Expr losses;
  if (spec.type() == kSparseSoftmax) {
    losses = SparseSoftmaxCrossEntropy(spec, output, labels);
  } else if (spec.type() == kSoftmax) {
    losses = SoftmaxCrossEntropy(spec, output, labels);
  } else {
    const Expr targets = Reshape(CastTo(labels, output.dtype()), ShapeOf(output));
    losses = FindElementLoss(spec.type())(spec, output, targets);
  }
  const Expr loss = Reduce(losses, weights);
  RETURN_IF_ERROR(build.status());
  return loss;
}

}  // namespace tessera
