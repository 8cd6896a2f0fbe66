// Graphs without a train op: adds a loss, gradients and an optimizer.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "re2/re2.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/queue_runners.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/program/clipping.h"
#include "runtime/training/program/gradient_sums.h"
#include "runtime/training/program/graph_program.h"
#include "runtime/training/program/losses.h"
#include "runtime/training/program/optimizers.h"
#include "runtime/training/program/precision.h"
#include "runtime/training/program/program_sources.h"
#include "runtime/training/program/schedules.h"
#include "runtime/training/program/training_variables.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

using training::GraphSpec;

// Names that match any of some regular expressions, in whole.
class NamePatterns {
 public:
  // Errors: INVALID_ARGUMENT for an expression that cannot be read.
  static absl::StatusOr<NamePatterns> Make(
      const google::protobuf::RepeatedPtrField<std::string>& patterns, const std::string& what) {
    NamePatterns made;
    for (const std::string& pattern : patterns) {
      made.patterns_.push_back(std::make_shared<RE2>(pattern, RE2::Quiet));
      if (made.patterns_.back()->ok()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(what, " has '", pattern,
                       "', which is no regular expression: ", made.patterns_.back()->error()));
    }
    return made;
  }
  bool empty() const { return patterns_.empty(); }
  bool Match(const std::string& name) const {
    return std::any_of(patterns_.begin(), patterns_.end(),
                       [&](const auto& pattern) { return RE2::FullMatch(name, *pattern); });
  }

 private:
  std::vector<std::shared_ptr<RE2>> patterns_;
};

// Returns the placeholder that a field of a batch feeds, or adds one of that name.
absl::StatusOr<Expr> PlaceholderOf(const GraphSpec& spec, GraphBuilder& build,
                                   const std::string& field, DType dtype) {
  if (field.empty()) return Expr();
  for (Node* node : build.graph()->nodes()) {
    if (node->IsOp("Placeholder") && FieldOf(spec, *node) == field) return build.Of({node, 0});
  }
  if (build.graph()->FindNode(field) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the field '", field,
        "' feeds no placeholder of the graph, and none can be added, since "
        "the graph has another node of that name: name the placeholder by graph.inputs, or call "
        "the field otherwise"));
  }
  ASSIGN_OR_RETURN(
      Node* const node,
      build.graph()->AddNode(field, "Placeholder", {{"dtype", dtype}, {"shape", PartialShape()}}));
  return build.Of({node, 0});
}

// Returns the variables to train: those of the collection, or all, that the spec's patterns take.
absl::StatusOr<std::vector<Node*>> TrainedVariables(const GraphSpec& spec, const Graph& graph,
                                                    const std::set<std::string>& collection) {
  ASSIGN_OR_RETURN(const NamePatterns patterns,
                   NamePatterns::Make(spec.trainable(), "graph.trainable"));
  std::vector<Node*> trained;
  std::vector<std::string> known;
  for (Node* node : graph.nodes()) {
    const DType dtype = VariableDType(*node);
    if (!IsVariable(*node) || !IsFloating(dtype) || !HasGradients(dtype)) continue;
    if (!collection.empty() && !collection.contains(node->name())) continue;
    known.push_back(node->name());
    if (patterns.empty() || patterns.Match(node->name())) trained.push_back(node);
  }
  if (!trained.empty()) return trained;
  if (known.empty()) {
    return absl::InvalidArgumentError(
        "the graph has no variables of a floating-point dtype, so that there is nothing to train; "
        "were they frozen into constants?");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("graph.trainable matches no variable", DidYouMean(spec.trainable(0), known),
                   "; it must match the whole name, as '", known.front(), "'"));
}

// The loss with the term by which weights are kept small.
Expr AddL2(const GraphSpec& spec, GraphBuilder& build, const std::vector<Node*>& variables,
           const Expr& loss) {
  if (spec.loss().l2() == 0) return loss;
  std::vector<Expr> terms = {loss};
  for (Node* variable : variables) {
    const PartialShape shape = VariableShape(*variable);
    if (shape.known_rank() && shape.rank() < 2) continue;
    const Expr half_square = Call("L2Loss", {ReadVariable(build, variable)});
    terms.push_back(CastTo(spec.loss().l2() * half_square, loss.dtype()));
  }
  return Call("AddN", terms);
}

// The number of updates of the whole job, 0 if it is unknown.
int64_t UpdatesOf(const ProgramOptions& options) { return options.steps / options.accumulate; }

// Adds to a graph what trains it.
class ForwardTraining {
 public:
  ForwardTraining(const GraphSpec& spec, const ProgramOptions& options,
                  const tensorflow::MetaGraphDef& meta_graph, Graph* graph)
      : spec_(spec),
        options_(options),
        meta_graph_(meta_graph),
        graph_(*graph),
        build_(graph, "training"),
        sums_(options, build_) {}

  // Sets the program's init, train, update, loss, eval_loss, learning_rate and fields. Returns the
  // names of the trained variables.
  absl::StatusOr<std::set<std::string>> AddTo(TrainingProgram* program) {
    ASSIGN_OR_RETURN(const std::set<std::string> collection,
                     VariablesInCollection(meta_graph_, "trainable_variables"));
    ASSIGN_OR_RETURN(variables_, TrainedVariables(spec_, graph_, collection));
    ASSIGN_OR_RETURN(const std::string loss, AddLossNodes());
    RETURN_IF_ERROR(AddGradientNodes(loss));
    RETURN_IF_ERROR(FindGlobalStep());
    const Expr step = ReadVariable(build_, global_step_);
    ASSIGN_OR_RETURN(const Expr rate,
                     AddLearningRate(spec_.schedule(), spec_.optimizer().learning_rate(),
                                     UpdatesOf(options_), build_, CastTo(step, DType::kInt64)));
    const Expr named_rate = Call("Identity", {rate});
    RETURN_IF_ERROR(AddUpdates(named_rate, loss, program));
    for (const std::string& name : NamesInCollection(meta_graph_, "update_ops")) {
      program->train.push_back(NodeOf(name));  // such as moving averages
    }
    program->loss = program->eval_loss = loss;
    program->learning_rate = TensorName(named_rate.endpoint());
    program->label_field = spec_.loss().label();
    program->weight_field = spec_.loss().weight();
    RETURN_IF_ERROR(AddInit(program));
    std::set<std::string> names;
    for (const Node* variable : variables_) names.insert(variable->name());
    return names;
  }

 private:
  // Returns the tensor of the loss.
  absl::StatusOr<std::string> AddLossNodes() {
    const training::LossSpec& spec = spec_.loss();
    RETURN_IF_ERROR(CheckLoss(spec));
    ASSIGN_OR_RETURN(const Endpoint output,
                     FindTensor(spec_, graph_, spec.output(), "graph.loss.output"));
    const Expr outputs = build_.Of(output);
    Expr labels, weights;
    if (spec.type() != "graph") {
      ASSIGN_OR_RETURN(
          labels, PlaceholderOf(spec_, build_, spec.label(), LabelDType(spec, outputs.dtype())));
      ASSIGN_OR_RETURN(weights, PlaceholderOf(spec_, build_, spec.weight(), outputs.dtype()));
    }
    ASSIGN_OR_RETURN(const Expr loss, AddLoss(spec, build_, outputs, labels, weights));
    const Expr total = AddL2(spec_, build_, variables_, loss);
    RETURN_IF_ERROR(build_.status());
    return TensorName(total.endpoint());
  }

  // Finds the gradients, and leaves variables on which the loss does not depend.
  absl::Status AddGradientNodes(const std::string& loss) {
    std::vector<Endpoint> xs;
    for (Node* variable : variables_) xs.push_back({variable, 0});
    ASSIGN_OR_RETURN(const NamePatterns recompute,
                     NamePatterns::Make(spec_.recompute(), "graph.recompute"));
    GradientOptions options;
    if (!recompute.empty()) {
      const std::vector<Node*> nodes = graph_.nodes();
      if (std::none_of(nodes.begin(), nodes.end(),
                       [&](const Node* node) { return recompute.Match(node->name()); })) {
        return absl::InvalidArgumentError(
            "graph.recompute matches no node; it must match the whole name");
      }
      options.recompute = [recompute](const Node& node) { return recompute.Match(node.name()); };
    }
    RETURN_IF_ERROR(sums_.AddScale());
    ASSIGN_OR_RETURN(const Endpoint y, graph_.FindEndpoint(loss));
    ASSIGN_OR_RETURN(const std::vector<Gradient> gradients,
                     AddGradients(&graph_, {y}, xs, sums_.LossGradients(y), options));
    std::vector<std::string> names;
    std::vector<Node*> trained;
    for (size_t i = 0; i < xs.size(); ++i) {
      names.push_back(absl::StrCat("'", variables_[i]->name(), "'"));
      if (gradients[i].is_none()) continue;
      trained.push_back(variables_[i]);
      gradients_.push_back(gradients[i]);
    }
    if (trained.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the loss '", loss, "' depends on none of the trained variables (",
          absl::StrJoin(names, ", "), "); check graph.loss.output and graph.trainable"));
    }
    variables_ = std::move(trained);
    if (sums_.is_needed()) {
      ASSIGN_OR_RETURN(const Endpoint summed_loss, graph_.FindEndpoint(loss));
      RETURN_IF_ERROR(sums_.AddSums(summed_loss, variables_, &gradients_));
    }
    return ClipGradients(spec_.clip(), build_, &gradients_);
  }

  // The graph's own step counter, or a new one.
  absl::Status FindGlobalStep() {
    Node* const own = graph_.FindNode("global_step");
    if (own != nullptr && IsVariable(*own) && IsInteger(VariableDType(*own))) {
      global_step_ = own;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const AddedVariable added,
                     AddVariable(&graph_, graph_.UniqueName("global_step"), true, PartialShape({}),
                                 build_.Scalar(DType::kInt64, 0)));
    global_step_ = added.variable;
    added_.push_back(added);
    return absl::OkStatus();
  }

  // Adds the optimizer and the node that runs all updates. No variable changes before the loss and
  // all gradients are computed.
  absl::Status AddUpdates(const Expr& learning_rate, const std::string& loss,
                          TrainingProgram* program) {
    ASSIGN_OR_RETURN(Node* const gate,
                     graph_.AddNode(graph_.UniqueName("training/gradients_ready"), "NoOp", {}));
    if (!sums_.is_needed()) {
      ASSIGN_OR_RETURN(const Endpoint loss_tensor, graph_.FindEndpoint(loss));
      graph_.AddControlEdge(loss_tensor.node, gate);
    }
    for (const Gradient& gradient : gradients_) graph_.AddControlEdge(gradient.values.node, gate);
    ASSIGN_OR_RETURN(
        const OptimizerNodes optimizer,
        AddOptimizer(spec_.optimizer(), build_, learning_rate, variables_, gradients_, gate));
    added_.insert(added_.end(), optimizer.variables.begin(), optimizer.variables.end());
    Node* const count = UpdateVariable(build_, "AssignAdd", global_step_,
                                       build_.Scalar(VariableDType(*global_step_), 1));
    RETURN_IF_ERROR(build_.status());
    graph_.AddControlEdge(learning_rate.endpoint().node, count);
    std::vector<Node*> updates = optimizer.updates;
    for (Node* update : updates) graph_.AddControlEdge(update, count);
    updates.push_back(count);
    if (sums_.is_needed()) {
      RETURN_IF_ERROR(sums_.Finish(updates, gate, program));
      added_.insert(added_.end(), sums_.variables().begin(), sums_.variables().end());
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Node* const train, graph_.AddNode(graph_.UniqueName("train_op"), "NoOp", {}));
    for (Node* update : updates) graph_.AddControlEdge(update, train);
    program->train = {train->name()};
    return absl::OkStatus();
  }

  // The graph's own init op, and the first values of what was added.
  absl::Status AddInit(TrainingProgram* program) {
    if (!spec_.init_op().empty()) {
      ASSIGN_OR_RETURN(program->init, FindInitOp(spec_, graph_));
      for (const AddedVariable& each : added_) program->init.push_back(each.initializer->name());
    }
    return absl::OkStatus();
  }

  const GraphSpec& spec_;
  const ProgramOptions& options_;
  const tensorflow::MetaGraphDef& meta_graph_;
  Graph& graph_;
  GraphBuilder build_;
  GradientSums sums_;
  std::vector<Node*> variables_;  // that are trained
  std::vector<Gradient> gradients_;
  Node* global_step_ = nullptr;
  std::vector<AddedVariable> added_;
};

}  // namespace

std::vector<absl::Status> CheckAddedTraining(const GraphSpec& spec, const ProgramOptions& options) {
  std::vector<absl::Status> errors;
  const auto check = [&errors](const absl::Status& status) {
    if (!status.ok()) errors.push_back(status);
  };
  if (spec.has_loss()) check(CheckLoss(spec.loss()));
  if (spec.has_optimizer()) check(CheckOptimizer(spec.optimizer()));
  check(CheckSchedule(spec.schedule(), UpdatesOf(options)));
  check(CheckClip(spec.clip()));
  return errors;
}

absl::StatusOr<TrainingProgram> MakeForwardProgram(const GraphSpec& spec,
                                                   const ProgramOptions& options,
                                                   const tensorflow::MetaGraphDef& meta_graph) {
  if (!spec.has_optimizer() || !spec.has_loss()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the graph has no train op: add graph.", spec.has_optimizer() ? "loss" : "optimizer",
        spec.has_optimizer() || spec.has_loss() ? "" : " and graph.loss",
        ", or name its train op by graph.train_op"));
  }
  RETURN_IF_ERROR(
      RefuseKeys(spec, {"loss_tensor", "signatures"}, "the loss is that of graph.loss"));
  TrainingProgram program;
  TrainedGraph trained;
  ASSIGN_OR_RETURN(trained.graph, ImportGraph(meta_graph.graph_def()));
  trained.restore_node = NodeOf(meta_graph.saver_def().restore_op_name());
  ASSIGN_OR_RETURN(trained.saved, SavedVariables(meta_graph));
  program.graph = trained.graph->Clone();
  ASSIGN_OR_RETURN(program.queue_runners, QueueRunnersOf(meta_graph, *trained.graph));
  ASSIGN_OR_RETURN(const DType products, ProductDType(options.precision));
  RETURN_IF_ERROR(UseProductsOf(products, trained.graph.get()));
  ASSIGN_OR_RETURN(trained.trainable,
                   ForwardTraining(spec, options, meta_graph, trained.graph.get()).AddTo(&program));
  RETURN_IF_ERROR(CompleteGraphProgram(spec, options, std::move(trained), &program));
  return program;
}

}  // namespace tessera
