// The gradient of While: the forward loop also counts its iterations and appends the values that
// the backward pass needs to a list each; the backward loop takes them off again, from the last
// one.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/training/gradients/function_gradient.h"
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

using Part = FunctionGradient::Part;

class WhileGradient {
 public:
  explicit WhileGradient(GradientOp* op)
      : op_(*op),
        d_(op->differentiation()),
        loop_op_(op->node()->op_name()),
        num_variables_(op->num_inputs()) {
    body_ = op->attr<FunctionRef>("body");
    condition_ = op->attr<FunctionRef>("cond");
    parallel_iterations_ = op->attr<int64_t>("parallel_iterations");
  }

  absl::Status Add() {
    RETURN_IF_ERROR(d_.backward().status());
    RETURN_IF_ERROR(ClassifyVariables());
    std::vector<int> xs = changing_;
    xs.insert(xs.end(), summed_.begin(), summed_.end());
    ASSIGN_OR_RETURN(gradient_, FunctionGradient::Make(d_, body_, changing_, xs));
    RETURN_IF_ERROR(CompleteOutgoing());
    RETURN_IF_ERROR(gradient_->FindKept());
    RETURN_IF_ERROR(ReplaceForward());
    return AddBackward();
  }

 private:
  // A variable that the body gives back unchanged is the same in all iterations.
  absl::Status ClassifyVariables() {
    if (d_.graph()->library() == nullptr) {
      return absl::NotFoundError(absl::StrCat("there is no function '", body_.name, "'"));
    }
    ASSIGN_OR_RETURN(const FunctionBody body, d_.graph()->library()->Instantiate(body_));
    for (int i = 0; i < num_variables_; ++i) {
      Endpoint result = body.results[i]->input(0);
      while (result.node->IsOp("Identity")) result = result.node->input(0);
      const bool is_constant = result.node == body.args[i];
      is_constant_.push_back(is_constant);
      const DType dtype = op_.in(i).dtype();
      if (!HasGradients(dtype)) continue;
      if (is_constant) {
        if (op_.Wants(i)) summed_.push_back(i);
      } else if (dtype != DType::kResource) {
        changing_.push_back(i);
      }
    }
    return absl::OkStatus();
  }

  // A variable on whose value the next one does not depend gets zeros; a constant that the body
  // does not use has no gradient but that which comes in for it.
  absl::Status CompleteOutgoing() {
    std::vector<Expr>& outgoing = gradient_->outgoing();
    for (size_t i = 0; i < changing_.size(); ++i) {
      if (outgoing[i].empty()) outgoing[i] = ZerosLike(gradient_->incoming()[i]);
    }
    std::vector<int> used;
    std::vector<Expr> kept(outgoing.begin(), outgoing.begin() + changing_.size());
    for (size_t i = 0; i < summed_.size(); ++i) {
      const Expr& dx = outgoing[changing_.size() + i];
      if (dx.empty()) {
        op_.Set(summed_[i], op_.gradient(summed_[i]));
        continue;
      }
      used.push_back(summed_[i]);
      kept.push_back(dx);
    }
    summed_ = std::move(used);
    outgoing = std::move(kept);
    return gradient_->build().status();
  }

  // The loop variable that a kept value is in every iteration, or -1.
  int ConstantOf(const Endpoint& kept) const {
    const auto& args = gradient_->body().args;
    const auto arg = std::find(args.begin(), args.end(), kept.node);
    if (arg == args.end() || !is_constant_[arg - args.begin()]) return -1;
    return static_cast<int>(arg - args.begin());
  }

  static Expr EmptyList(GraphBuilder& build, DType dtype) {
    return Call("EmptyTensorList", {build.Int(-1), build.Int(-1)}, {{"element_dtype", dtype}});
  }

  absl::Status ReplaceForward() {
    Part body = gradient_->Forward();
    GraphBuilder build(body.graph.get(), d_.name());
    ASSIGN_OR_RETURN(const Endpoint count, AddArgument(&body, DType::kInt32));
    RETURN_IF_ERROR(build.status());
    const Expr next = build.Of(count) + build.Int(1);
    RETURN_IF_ERROR(build.status());
    RETURN_IF_ERROR(AddResult(&body, next.endpoint()));
    std::vector<DType> types = op_.node()->input_types();
    types.push_back(DType::kInt32);
    std::vector<Expr> extra_inputs = {d_.forward().Int(0)};
    for (const Endpoint& kept : gradient_->kept()) {
      if (ConstantOf(kept) >= 0) continue;
      if (RemoveRef(kept.node->output_type(kept.index)) == DType::kResource) {
        return absl::UnimplementedError(absl::StrCat(
            "node '", kept.node->name(), "' of the body makes a resource in each iteration"));
      }
      const Expr value = build.Of({body.graph->node(kept.node->id()), kept.index});
      ASSIGN_OR_RETURN(const Endpoint list, AddArgument(&body, DType::kVariant));
      const Expr pushed = Call("TensorListPushBack", {build.Of(list), value});
      RETURN_IF_ERROR(build.status());
      RETURN_IF_ERROR(AddResult(&body, pushed.endpoint()));
      lists_.push_back(kept);
      types.push_back(DType::kVariant);
      extra_inputs.push_back(EmptyList(d_.forward(), value.dtype()));
    }
    ASSIGN_OR_RETURN(const FunctionRef forward_body,
                     AddFunction(d_.graph(), "forward_" + body_.name, body));

    ASSIGN_OR_RETURN(FunctionBody plain, d_.graph()->library()->Instantiate(condition_));
    Part condition = {std::move(plain.graph), std::move(plain.args), std::move(plain.results),
                      std::move(plain.control_results)};
    for (size_t i = num_variables_; i < types.size(); ++i) {
      RETURN_IF_ERROR(AddArgument(&condition, types[i]).status());
    }
    ASSIGN_OR_RETURN(const FunctionRef forward_condition,
                     AddFunction(d_.graph(), "forward_" + condition_.name, condition));
    RETURN_IF_ERROR(d_.forward().status());
    // What the formula needs of the node that goes.
    for (int i : changing_) {
      gradients_.push_back(op_.HasDy(i) ? op_.dy(i) : Expr());
    }
    for (int i : summed_) sums_so_far_.push_back(op_.HasDy(i) ? op_.dy(i) : Expr());
    ASSIGN_OR_RETURN(forward_,
                     d_.Replace(op_.node(), loop_op_,
                                LoopAttrs(types, forward_condition, forward_body), extra_inputs));
    return absl::OkStatus();
  }

  AttrMap LoopAttrs(const std::vector<DType>& types, const FunctionRef& condition,
                    const FunctionRef& body) const {
    return {{"T", types},
            {"cond", condition},
            {"body", body},
            {"parallel_iterations", parallel_iterations_}};
  }

  Expr ForwardOutput(int i) { return d_.backward().Of({forward_, i}); }

  // The variables of the backward loop: the count, the lists, the gradients of changing variables,
  // the sums for constants, and the constants that the body needs.
  absl::Status AddBackward() {
    GraphBuilder& build = d_.backward();
    std::vector<Expr> inputs = {ForwardOutput(num_variables_)};
    for (size_t i = 0; i < lists_.size(); ++i) {
      inputs.push_back(ForwardOutput(num_variables_ + 1 + static_cast<int>(i)));
    }
    const int first_gradient = static_cast<int>(inputs.size());
    for (size_t i = 0; i < changing_.size(); ++i) {
      inputs.push_back(gradients_[i].empty() ? ZerosLike(ForwardOutput(changing_[i]))
                                             : gradients_[i]);
    }
    for (size_t i = 0; i < summed_.size(); ++i) {
      const Expr constant = build.Of(forward_->input(summed_[i]));
      const DType dtype = gradient_->outgoing()[changing_.size() + i].dtype();
      inputs.push_back(
          !sums_so_far_[i].empty() ? sums_so_far_[i]
          : constant.dtype() == DType::kResource
              ? Call("Fill", {Call("VariableShape", {constant}), build.Scalar(dtype, 0)})
              : ZerosLike(constant));
    }
    absl::flat_hash_map<Endpoint, int> constants;  // places among the inputs
    for (const Endpoint& kept : gradient_->kept()) {
      const int variable = ConstantOf(kept);
      if (variable < 0) continue;
      constants[kept] = static_cast<int>(inputs.size());
      inputs.push_back(build.Of(forward_->input(variable)));
    }
    RETURN_IF_ERROR(build.status());
    std::vector<DType> types;
    for (const Expr& input : inputs) types.push_back(input.dtype());

    ASSIGN_OR_RETURN(const FunctionRef body, BackwardBody(types, first_gradient, constants));
    ASSIGN_OR_RETURN(const FunctionRef condition, BackwardCondition(types));
    Node* const loop = build.AddNode(loop_op_, inputs, LoopAttrs(types, condition, body));
    for (size_t i = 0; i < changing_.size(); ++i) {
      op_.Set(changing_[i], build.Output(loop, first_gradient + static_cast<int>(i)));
    }
    const int first_sum = first_gradient + static_cast<int>(changing_.size());
    for (size_t i = 0; i < summed_.size(); ++i) {
      op_.Set(summed_[i], build.Output(loop, first_sum + static_cast<int>(i)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<FunctionRef> BackwardBody(const std::vector<DType>& types, int first_gradient,
                                           const absl::flat_hash_map<Endpoint, int>& constants) {
    // The kept values that come from lists are arguments first, which the popped values replace.
    std::vector<DType> all_types = types;
    absl::flat_hash_map<Endpoint, int> places = constants;
    for (const Endpoint& kept : lists_) {
      places[kept] = static_cast<int>(all_types.size());
      all_types.push_back(RemoveRef(kept.node->output_type(kept.index)));
    }
    ASSIGN_OR_RETURN(Part part, gradient_->Backward(all_types, places, first_gradient));
    GraphBuilder build(part.graph.get(), d_.name());
    auto argument = [&](int i) { return build.Of({part.args[i], 0}); };
    std::vector<Expr> results = {argument(0) - build.Int(1)};
    for (size_t i = 0; i < lists_.size(); ++i) {
      const Endpoint stand_in = {part.args[types.size() + i], 0};
      const std::vector<Expr> popped =
          CallAll("TensorListPopBack", {{argument(1 + static_cast<int>(i)), build.Int(-1)}},
                  {{"element_dtype", stand_in.node->output_type(0)}});
      RETURN_IF_ERROR(build.status());
      RETURN_IF_ERROR(part.graph->ReplaceUses(stand_in, popped[1].endpoint()));
      results.push_back(popped[0]);
    }
    std::vector<Expr> gradients;
    for (const Node* result : part.results) gradients.push_back(build.Of(result->input(0)));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const bool is_sum = i >= changing_.size();
      const Expr before = argument(first_gradient + static_cast<int>(i));
      results.push_back(is_sum ? Call("AddN", {before, gradients[i]}) : gradients[i]);
    }
    for (size_t i = results.size(); i < types.size(); ++i) {
      results.push_back(argument(static_cast<int>(i)));
    }
    RETURN_IF_ERROR(build.status());
    part.args.resize(types.size());
    part.results.clear();
    for (const Expr& result : results) RETURN_IF_ERROR(AddResult(&part, result.endpoint()));
    return AddFunction(d_.graph(), "backward_" + body_.name, part);
  }

  absl::StatusOr<FunctionRef> BackwardCondition(const std::vector<DType>& types) {
    Part part = {.graph = std::make_unique<Graph>(d_.graph()->library())};
    for (DType type : types) RETURN_IF_ERROR(AddArgument(&part, type).status());
    GraphBuilder build(part.graph.get(), d_.name());
    const Expr goes_on = Call("Greater", {build.Of({part.args[0], 0}), build.Int(0)});
    RETURN_IF_ERROR(build.status());
    RETURN_IF_ERROR(AddResult(&part, goes_on.endpoint()));
    return AddFunction(d_.graph(), "backward_" + condition_.name, part);
  }

  GradientOp& op_;
  Differentiation& d_;
  const std::string loop_op_;
  const int num_variables_;
  FunctionRef body_, condition_;
  int64_t parallel_iterations_ = 10;
  std::vector<bool> is_constant_;  // by variable
  std::vector<int> changing_;      // variables with gradients that the body changes
  std::vector<int> summed_;        // constants whose gradients are summed over the iterations
  std::unique_ptr<FunctionGradient> gradient_;
  std::vector<Endpoint> lists_;                // the values of the body that are kept in lists
  std::vector<Expr> gradients_, sums_so_far_;  // incoming ones; empty where there is none
  Node* forward_ = nullptr;
};

void AddWhileGradient(GradientOp& op) {
  if (const absl::Status added = WhileGradient(&op).Add(); !added.ok()) op.Fail(added);
}
REGISTER_GRADIENT("While", AddWhileGradient);
REGISTER_GRADIENT("StatelessWhile", AddWhileGradient);

}  // namespace
}  // namespace tessera
