#include "runtime/training/program/gradient_sums.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<Node*> GradientSums::Add(const std::string& name, const PartialShape& shape,
                                        const Expr& value, const std::string& device) {
  RETURN_IF_ERROR(build_.status());
  ASSIGN_OR_RETURN(
      const AddedVariable added,
      AddVariable(&graph_, graph_.UniqueName(name), /*is_resource=*/true, shape, value, device));
  variables_.push_back(added);
  return added.variable;
}

Node* GradientSums::Set(Node* variable, const Expr& value, absl::Span<Node* const> after) {
  Node* const set = UpdateVariable(build_, "Assign", variable, value);
  if (set == nullptr) return nullptr;
  for (Node* node : after) graph_.AddControlEdge(node, set);
  return set;
}

absl::StatusOr<Node*> GradientSums::Join(const std::string& name, absl::Span<Node* const> nodes) {
  RETURN_IF_ERROR(build_.status());
  ASSIGN_OR_RETURN(Node* const joined, graph_.AddNode(graph_.UniqueName(name), "NoOp", {}));
  for (Node* node : nodes) graph_.AddControlEdge(node, joined);
  return joined;
}

absl::Status GradientSums::AddScale() {
  if (!options_.scales_loss) return absl::OkStatus();
  if (!(options_.first_loss_scale >= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "loss_scale.initial is ", options_.first_loss_scale, ", but must be at least 1"));
  }
  ASSIGN_OR_RETURN(scale_, Add("loss_scale/current_loss_scale", PartialShape({}),
                               build_.Scalar(DType::kFloat, options_.first_loss_scale)));
  if (options_.loss_scale_growth_steps == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(num_good_,
                   Add("loss_scale/good_steps", PartialShape({}), build_.Scalar(DType::kInt64, 0)));
  return absl::OkStatus();
}

std::vector<Endpoint> GradientSums::LossGradients(const Endpoint& loss) {
  if (scale_ == nullptr) return {};
  return {CastTo(ReadVariable(build_, scale_), build_.Of(loss).dtype()).endpoint()};
}

absl::Status GradientSums::AddSums(const Endpoint& loss, absl::Span<Node* const> variables,
                                   std::vector<Gradient>* gradients) {
  std::vector<Node*> ready = {loss.node};
  for (Gradient& gradient : *gradients) {
    ASSIGN_OR_RETURN(const Endpoint dense, AddDenseGradient(&graph_, gradient));
    gradient = {.values = dense};
    ready.push_back(dense.node);
  }
  ASSIGN_OR_RETURN(Node* const gate, Join("training/step_ready", ready));
  std::vector<Node*> added;
  const auto add_to = [&](Node* variable, const Expr& value) {
    Node* const add = UpdateVariable(build_, "AssignAdd", variable, value);
    if (add == nullptr) return;
    graph_.AddControlEdge(gate, add);
    added.push_back(add);
  };
  for (size_t i = 0; i < variables.size(); ++i) {
    const Node& variable = *variables[i];
    ASSIGN_OR_RETURN(const Expr zeros, ZerosOf(build_, variable));
    ASSIGN_OR_RETURN(Node* const sum, Add(absl::StrCat(variable.name(), "/gradient_sum"),
                                          VariableShape(variable), zeros, variable.device()));
    sums_.push_back(sum);
    add_to(sum, build_.Of((*gradients)[i].values));
  }
  ASSIGN_OR_RETURN(num_added_,
                   Add("training/num_added", PartialShape({}), build_.Scalar(DType::kInt64, 0)));
  add_to(num_added_, build_.Scalar(DType::kInt64, 1));
  ASSIGN_OR_RETURN(step_, Join("training/step", added));
  count_ = ReadVariable(build_, num_added_);
  RETURN_IF_ERROR(build_.status());
  graph_.AddControlEdge(step_, count_.endpoint().node);

  Expr divisor = build_.Scalar(DType::kFloat, static_cast<double>(options_.accumulate));
  if (scale_ != nullptr) divisor = divisor * ReadVariable(build_, scale_);
  for (size_t i = 0; i < variables.size(); ++i) {
    const Expr sum = ReadVariable(build_, sums_[i]);
    // In float: the divisor may be more than the largest number of half.
    const Expr mean = sum.dtype() == DType::kDouble
                          ? sum / CastTo(divisor, DType::kDouble)
                          : CastTo(CastTo(sum, DType::kFloat) / divisor, sum.dtype());
    (*gradients)[i].values = mean.endpoint();
  }
  return build_.status();
}

Expr GradientSums::AreFinite() {
  std::vector<Expr> all;
  for (Node* sum : sums_) {
    const Expr flat = Reshape(ReadVariable(build_, sum), build_.Ints({-1}));
    all.push_back(Call("All", {Call("IsFinite", {flat}), build_.Ints({0})}));
  }
  return Call("All", {Call("Pack", all), build_.Ints({0})});
}

absl::StatusOr<std::vector<Node*>> GradientSums::ChangeScale(bool is_finite,
                                                             absl::Span<Node* const> after) {
  if (num_good_ == nullptr) return std::vector<Node*>();
  const Expr scale = ReadVariable(build_, scale_);
  const Expr zero = build_.Scalar(DType::kInt64, 0);
  Expr next_scale, next_good;
  if (is_finite) {
    const Expr good = ReadVariable(build_, num_good_) + 1;
    const Expr enough =
        build_.Scalar(DType::kInt64, static_cast<double>(options_.loss_scale_growth_steps));
    const Expr grows = Call("GreaterEqual", {good, enough});
    const Expr doubled = 2 * scale;
    next_scale = Where(Call("LogicalAnd", {grows, Call("IsFinite", {doubled})}), doubled, scale);
    next_good = Where(grows, zero, good);
  } else {
    next_scale = Call("Maximum", {scale / 2, build_.Scalar(DType::kFloat, 1)});
    next_good = zero;
  }
  std::vector<Node*> changes = {Set(scale_, next_scale, after), Set(num_good_, next_good, after)};
  RETURN_IF_ERROR(build_.status());
  return changes;
}

std::vector<Node*> GradientSums::Clear(absl::Span<Node* const> after) {
  std::vector<Node*> cleared;
  for (Node* sum : sums_) {
    cleared.push_back(Set(sum, ZerosLike(ReadVariable(build_, sum)), after));
  }
  cleared.push_back(Set(num_added_, build_.Scalar(DType::kInt64, 0), after));
  return cleared;
}

absl::Status GradientSums::Finish(absl::Span<Node* const> updates, Node* gate,
                                  TrainingProgram* program) {
  TrainingProgram::Update& update = program->update.emplace();
  update.every = options_.accumulate;
  update.num_added = TensorName(count_.endpoint());
  const auto finish = [&](const std::string& name, absl::Span<Node* const> before,
                          std::vector<Node*> nodes) -> absl::StatusOr<std::string> {
    const std::vector<Node*> cleared = Clear(before);
    RETURN_IF_ERROR(build_.status());
    nodes.insert(nodes.end(), cleared.begin(), cleared.end());
    ASSIGN_OR_RETURN(const Node* const joined, Join(name, nodes));
    return joined->name();
  };
  // The sums and the scale stay until all updates have read them.
  std::vector<Node*> before(updates.begin(), updates.end());
  before.push_back(gate);
  ASSIGN_OR_RETURN(std::vector<Node*> nodes, ChangeScale(/*is_finite=*/true, before));
  nodes.insert(nodes.end(), updates.begin(), updates.end());
  ASSIGN_OR_RETURN(const std::string apply, finish("train_op", before, std::move(nodes)));
  update.apply = {apply};
  program->train = {step_->name()};
  if (scale_ == nullptr) return absl::OkStatus();
  const Expr finite = AreFinite();
  RETURN_IF_ERROR(build_.status());
  update.is_finite = TensorName(finite.endpoint());
  ASSIGN_OR_RETURN(nodes, ChangeScale(/*is_finite=*/false, {}));
  ASSIGN_OR_RETURN(const std::string skip, finish("training/skip", {}, std::move(nodes)));
  update.skip = {skip};
  update.loss_scale = TensorName(ReadVariable(build_, scale_).endpoint());
  return build_.status();
}

}  // namespace tessera
