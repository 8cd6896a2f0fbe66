#include "runtime/training/program/optimizers.h"

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/op.h"
#include "runtime/training/program/optimizer_types.h"

namespace tessera {
namespace {

using training::OptimizerSpec;

// A trained variable with its slots, by the inputs of the op.
struct TrainedVariable {
  Node* variable;
  Gradient gradient;
  std::map<absl::string_view, Node*> slots;
};

class OptimizerBuilder {
 public:
  OptimizerBuilder(const OptimizerType& type, const OptimizerSpec& spec, GraphBuilder& build,
                   const Expr& learning_rate, Node* gate)
      : type_(type), spec_(spec), build_(build), learning_rate_(learning_rate), gate_(gate) {}

  absl::StatusOr<OptimizerNodes> Add(absl::Span<Node* const> variables,
                                     absl::Span<const Gradient> gradients) {
    RETURN_IF_ERROR(AddPowers(*variables.front()));
    for (size_t i = 0; i < variables.size(); ++i) {
      TrainedVariable trained{variables[i], gradients[i], {}};
      RETURN_IF_ERROR(AddSlots(&trained));
      if (trained.gradient.is_sparse() && !type_.sparse) {
        ASSIGN_OR_RETURN(trained.gradient.values,
                         AddDenseGradient(build_.graph(), trained.gradient));
        trained.gradient.indices = {};
      }
      RETURN_IF_ERROR(AddUpdate(trained));
    }
    UpdatePowers();
    RETURN_IF_ERROR(build_.status());
    return std::move(nodes_);
  }

 private:
  // The powers of beta1 and beta2 that Adam and its kin keep, in float whatever the variables are.
  absl::Status AddPowers(const Node& like) {
    const char* names[] = {"beta1", "beta2"};
    for (int i = 0; i < type_.powers; ++i) {
      const Expr first = build_.Scalar(DType::kFloat, Parameter(names[i]));
      const std::string name = build_.graph()->UniqueName(absl::StrCat(names[i], "_power"));
      ASSIGN_OR_RETURN(AddedVariable power,
                       AddVariable(build_.graph(), name, IsResourceVariable(like), PartialShape({}),
                                   first, like.device()));
      powers_[names[i]] = power.variable;
      power_values_[names[i]] = ReadVariable(build_, power.variable);
      nodes_.variables.push_back(power);
    }
    return build_.status();
  }

  // The powers change when all updates have read them.
  void UpdatePowers() {
    const std::vector<Node*> updates = nodes_.updates;
    for (const auto& [name, power] : powers_) {
      const Expr value = power_values_.at(name);
      Node* const update = UpdateVariable(build_, "Assign", power,
                                          value * build_.Scalar(value.dtype(), Parameter(name)));
      if (update == nullptr) return;
      for (Node* node : updates) build_.graph()->AddControlEdge(node, update);
      nodes_.updates.push_back(update);
    }
  }

  absl::Status AddSlots(TrainedVariable* trained) {
    const Node& variable = *trained->variable;
    std::string name = absl::StrCat(variable.name(), "/", type_.slot_name);
    for (size_t i = 0; i < type_.slots.size(); ++i) {
      const OptimizerSlot& slot = type_.slots[i];
      ASSIGN_OR_RETURN(const Expr dims, DimensionsOf(build_, variable));
      const Expr value = Call(
          "Fill", {dims, build_.Scalar(VariableDType(variable), ValueOf(slot.first_value, spec_))});
      RETURN_IF_ERROR(build_.status());
      ASSIGN_OR_RETURN(const AddedVariable added,
                       AddVariable(build_.graph(), i == 0 ? name : absl::StrCat(name, "_", i),
                                   IsResourceVariable(variable), VariableShape(variable), value,
                                   variable.device()));
      trained->slots[slot.input] = added.variable;
      nodes_.variables.push_back(added);
    }
    return absl::OkStatus();
  }

  // Adds the op of the optimizer, or the nodes that stand for it where there is none.
  absl::Status AddUpdate(const TrainedVariable& trained) {
    TrainedVariable unique = trained;
    if (trained.gradient.is_sparse()) {
      if (type_.rule == "GradientDescent") return AddScatter(trained);
      unique.gradient = SumSlices(trained.gradient);
    }
    Node* const decay = AddWeightDecay(trained);
    const std::string op =
        absl::StrCat(IsResourceVariable(*trained.variable) ? "Resource" : "",
                     trained.gradient.is_sparse() ? "Sparse" : "", "Apply", type_.rule);
    if (const OpDef* definition = build_.graph()->FindOp(op); definition != nullptr) {
      return Finish(AddOp(*definition, unique), decay);
    }
    return AddComposed(unique, decay);
  }

  Node* AddOp(const OpDef& op, const TrainedVariable& trained) {
    const DType dtype = VariableDType(*trained.variable);
    std::vector<Expr> inputs;
    for (const ArgDef& arg : op.inputs) {
      if (arg.name == "var") {
        inputs.push_back(build_.Of({trained.variable, 0}));
      } else if (auto slot = trained.slots.find(arg.name); slot != trained.slots.end()) {
        inputs.push_back(build_.Of({slot->second, 0}));
      } else if (arg.name == type_.learning_rate) {
        inputs.push_back(CastTo(learning_rate_, dtype));
      } else if (arg.name == "grad" || arg.name == "delta") {
        inputs.push_back(build_.Of(trained.gradient.values));
      } else if (arg.name == "indices") {
        inputs.push_back(build_.Of(trained.gradient.indices));
      } else if (arg.name == "beta1_power" || arg.name == "beta2_power") {
        inputs.push_back(Power(absl::string_view(arg.name).substr(0, 5), dtype));
      } else {
        inputs.push_back(build_.Scalar(dtype, Parameter(arg.name)));
      }
    }
    AttrMap attrs;
    if (type_.nesterov) attrs["use_nesterov"] = true;
    return build_.AddNode(op.name, inputs, std::move(attrs));
  }

  // Sparse gradient descent needs no order and no unique rows.
  absl::Status AddScatter(const TrainedVariable& trained) {
    const DType dtype = VariableDType(*trained.variable);
    const char* op = IsResourceVariable(*trained.variable) ? "ResourceScatterSub" : "ScatterSub";
    const Expr step = build_.Of(trained.gradient.values) * CastTo(learning_rate_, dtype);
    return Finish(build_.AddNode(op, {build_.Of({trained.variable, 0}),
                                      build_.Of(trained.gradient.indices), step}),
                  nullptr);
  }

  // Adds up the slices of one index, since the ops apply a rule once for each slice.
  Gradient SumSlices(const Gradient& gradient) {
    const std::vector<Expr> unique = CallAll("Unique", {build_.Of(gradient.indices)});
    if (unique.size() < 2) return gradient;
    const Expr count = Reshape(ShapeOf(unique[0]), build_.Constant(Tensor::Vector<int32_t>({})));
    const Expr sums = Call("UnsortedSegmentSum", {build_.Of(gradient.values), unique[1], count});
    return {sums.endpoint(), unique[0].endpoint(), gradient.dense_shape};
  }

  // Returns null if there is none.
  Node* AddWeightDecay(const TrainedVariable& trained) {
    if (!type_.decays_weights) return nullptr;
    double decay = 0;
    for (const OptimizerParameter& parameter : type_.parameters) {
      if (parameter.field == "weight_decay") decay = ValueOf(parameter, spec_);
    }
    if (decay == 0) return nullptr;
    const Expr rate = CastTo(decay * learning_rate_, VariableDType(*trained.variable));
    const Expr value = ReadVariable(build_, trained.variable);
    Node* const update = UpdateVariable(build_, "AssignSub", trained.variable, value * rate);
    if (update != nullptr) build_.graph()->AddControlEdge(gate_, update);
    return update;
  }

  // Lamb, and AMSGrad of reference variables: their moments are those of Adam.
  absl::Status AddComposed(const TrainedVariable& trained, Node* decay) {
    const DType dtype = VariableDType(*trained.variable);
    const Expr gradient = build_.Of(trained.gradient.values);
    const auto average = [&](absl::string_view slot, absl::string_view beta, const Expr& value) {
      const double rate = Parameter(beta);
      return rate * ReadVariable(build_, trained.slots.at(slot)) + (1 - rate) * value;
    };
    const Expr m = average("m", "beta1", gradient);
    const Expr v = average("v", "beta2", Call("Square", {gradient}));
    std::map<absl::string_view, Expr> values = {{"m", m}, {"v", v}};
    Expr second = v;
    if (trained.slots.contains("vhat")) {
      second = Call("Maximum", {ReadVariable(build_, trained.slots.at("vhat")), v});
      values["vhat"] = second;
    }
    const Expr bias1 = 1 - Power("beta1", dtype);
    const Expr bias2 = 1 - Power("beta2", dtype);
    const double epsilon = Parameter("epsilon");
    Expr rate = CastTo(learning_rate_, dtype);
    Expr direction;
    if (type_.rule == "Lamb") {
      direction = (m / bias1) / (Call("Sqrt", {v / bias2}) + epsilon);
      rate = rate * TrustRatio(trained, direction, decay);
    } else {
      direction = m / (Call("Sqrt", {second}) + epsilon);
      rate = rate * Call("Sqrt", {bias2}) / bias1;
    }
    for (const auto& [slot, value] : values) {
      RETURN_IF_ERROR(
          Finish(UpdateVariable(build_, "Assign", trained.slots.at(slot), value), nullptr));
    }
    return Finish(UpdateVariable(build_, "AssignSub", trained.variable, rate * direction), decay);
  }

  // The norm of the weights, after they decayed, by that of their update; 1 if either is 0.
  Expr TrustRatio(const TrainedVariable& trained, const Expr& direction, Node* decay) {
    const Expr weights = Call("Identity", {ReadVariable(build_, trained.variable)});
    if (decay != nullptr && !weights.empty()) {
      Node* read = weights.endpoint().node;
      build_.graph()->AddControlEdge(decay, read);
      // A resource variable is read by a node of its own.
      if (IsResourceVariable(*trained.variable)) {
        build_.graph()->AddControlEdge(decay, read->input(0).node);
      }
    }
    const auto norm = [](const Expr& x) { return Call("Sqrt", {2 * Call("L2Loss", {x})}); };
    const Expr weight_norm = norm(weights);
    const Expr update_norm = norm(direction);
    const Expr is_zero = Call("Equal", {weight_norm * update_norm, 0 * weight_norm});
    return Where(is_zero, OnesLike(weight_norm), weight_norm / update_norm);
  }

  // Lets an update wait for the gate, and for another node, which may be null.
  absl::Status Finish(Node* update, Node* after) {
    RETURN_IF_ERROR(build_.status());
    build_.graph()->AddControlEdge(gate_, update);
    if (after != nullptr) build_.graph()->AddControlEdge(after, update);
    nodes_.updates.push_back(update);
    return absl::OkStatus();
  }

  Expr Power(absl::string_view beta, DType dtype) { return CastTo(power_values_.at(beta), dtype); }

  double Parameter(absl::string_view input) const {
    for (const OptimizerParameter& parameter : type_.parameters) {
      if (parameter.input == input) return ValueOf(parameter, spec_);
    }
    return 0;
  }

  const OptimizerType& type_;
  const OptimizerSpec& spec_;
  GraphBuilder& build_;
  const Expr learning_rate_;
  Node* const gate_;
  std::map<absl::string_view, Node*> powers_;       // by the name of beta
  std::map<absl::string_view, Expr> power_values_;  // before the step
  OptimizerNodes nodes_;
};

}  // namespace

absl::Status CheckOptimizer(const OptimizerSpec& spec) {
  ASSIGN_OR_RETURN(const OptimizerType* const type, FindOptimizerType(spec.type()));
  RETURN_IF_ERROR(CheckParameters(*type, spec));
  if (spec.learning_rate() > 0 && std::isfinite(spec.learning_rate())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("graph.optimizer.learning_rate is ",
                                                 spec.learning_rate(),
                                                 ", but must be over 0 and finite"));
}

absl::StatusOr<OptimizerNodes> AddOptimizer(const OptimizerSpec& spec, GraphBuilder& build,
                                            const Expr& learning_rate,
                                            absl::Span<Node* const> variables,
                                            absl::Span<const Gradient> gradients, Node* gate) {
  RETURN_IF_ERROR(CheckOptimizer(spec));
  ASSIGN_OR_RETURN(const OptimizerType* const type, FindOptimizerType(spec.type()));
  return OptimizerBuilder(*type, spec, build, learning_rate, gate).Add(variables, gradients);
}

}  // namespace tessera
