// Gradients of calls, and of If and Case. That of While stands in while_gradients.cc.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/function_calls.h"
#include "runtime/training/gradients/function_gradient.h"
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// A call of one of several functions, its branches. Its inputs are `first_arg` others, which choose
// the branch, and the arguments.
class CallGradient {
 public:
  CallGradient(GradientOp* op, FunctionCalls calls)
      : op_(*op), d_(op->differentiation()), calls_(std::move(calls)) {}

  absl::Status Add() {
    ChooseEnds();
    for (const FunctionRef& function : calls_.functions) {
      // Branches may differ in which gradients are sparse.
      ASSIGN_OR_RETURN(auto gradient, FunctionGradient::Make(d_, function, ys_, xs_,
                                                             calls_.functions.size() == 1));
      branches_.push_back(std::move(gradient));
    }
    CompleteOutgoing();
    for (const auto& branch : branches_) RETURN_IF_ERROR(branch->FindKept());
    RETURN_IF_ERROR(PlaceKept());
    RETURN_IF_ERROR(ReplaceForward());
    RETURN_IF_ERROR(AddBackward());
    if (is_op_) SetZeros();
    return absl::OkStatus();
  }

 private:
  Expr Argument(int i) { return op_.in(calls_.first_arg + i); }

  void ChooseEnds() {
    for (int i = 0; i < op_.num_outputs(); ++i) {
      if (op_.HasDy(i)) ys_.push_back(i);
    }
    for (int i = 0; calls_.first_arg + i < op_.num_inputs(); ++i) {
      if (op_.Wants(calls_.first_arg + i)) xs_.push_back(i);
    }
  }

  // All branches give gradients of the same arguments: where one has none, it gives zeros.
  void CompleteOutgoing() {
    for (size_t i = 0; i < xs_.size(); ++i) {
      const Expr* some = nullptr;
      for (const auto& branch : branches_) {
        if (!branch->outgoing()[i].empty()) some = &branch->outgoing()[i];
      }
      if (some == nullptr) continue;
      const DType dtype = some->dtype();
      for (const auto& branch : branches_) {
        Expr& dx = branch->outgoing()[i];
        if (!dx.empty()) continue;
        GraphBuilder& build = branch->build();
        const Expr x = build.Of({branch->body().args[xs_[i]], 0});
        dx = x.dtype() == DType::kResource
                 ? Call("Fill", {Call("VariableShape", {x}), build.Scalar(dtype, 0)})
                 : ZerosLike(x);
      }
    }
  }

  // Gives each value that some branch keeps a place among the arguments of the backward functions:
  // arguments of the call come first, once, then what each branch gives as further results.
  absl::Status PlaceKept() {
    places_.resize(branches_.size());
    absl::flat_hash_map<int, int> place_of_argument;
    for (size_t b = 0; b < branches_.size(); ++b) {
      for (const Endpoint& kept : branches_[b]->kept()) {
        if (!kept.node->IsOp("_Arg")) continue;
        const auto& args = branches_[b]->body().args;
        const int arg =
            static_cast<int>(std::find(args.begin(), args.end(), kept.node) - args.begin());
        const auto [place, is_new] = place_of_argument.emplace(arg, types_.size());
        if (is_new) {
          types_.push_back(Argument(arg).dtype());
          arguments_.push_back(arg);
        }
        places_[b][kept] = place->second;
      }
    }
    for (size_t b = 0; b < branches_.size(); ++b) {
      for (const Endpoint& kept : branches_[b]->kept()) {
        if (kept.node->IsOp("_Arg")) continue;
        const DType dtype = RemoveRef(kept.node->output_type(kept.index));
        places_[b][kept] = static_cast<int>(types_.size());
        types_.push_back(dtype);
        extra_results_.push_back({b, kept, dtype});
      }
    }
    return absl::OkStatus();
  }

  // What a branch gives as a result that only another branch has.
  static absl::StatusOr<Endpoint> Placeholder(Graph* graph, DType dtype) {
    GraphBuilder build(graph, "gradient_placeholder");
    Expr value;
    if (dtype == DType::kVariant) {
      value = Call("EmptyTensorList", {build.Ints({}), build.Int(0)},
                   {{"element_dtype", DType::kFloat}});
    } else {
      ASSIGN_OR_RETURN(Tensor zero, Tensor::Zeros(dtype, {}));
      value = build.Constant(std::move(zero));
    }
    RETURN_IF_ERROR(build.status());
    return value.endpoint();
  }

  absl::Status ReplaceForward() {
    const int own_results = op_.num_outputs();
    std::vector<FunctionRef> functions;
    for (size_t b = 0; b < branches_.size(); ++b) {
      FunctionGradient::Part part = branches_[b]->Forward();
      for (const ExtraResult& extra : extra_results_) {
        Endpoint result = {extra.branch == b ? part.graph->node(extra.kept.node->id()) : nullptr,
                           extra.kept.index};
        if (extra.branch != b) {
          ASSIGN_OR_RETURN(result, Placeholder(part.graph.get(), extra.dtype));
        }
        RETURN_IF_ERROR(AddResult(&part, result));
      }
      ASSIGN_OR_RETURN(FunctionRef function,
                       AddFunction(d_.graph(), "forward_" + calls_.functions[b].name, part));
      functions.push_back(std::move(function));
    }
    std::vector<DType> types = op_.node()->output_types();
    for (const ExtraResult& extra : extra_results_) types.push_back(extra.dtype);
    ASSIGN_OR_RETURN(Node * forward,
                     d_.Replace(op_.node(), CallOp(), CallAttrs(functions, types), {}));
    forward_ = forward;
    for (size_t i = 0; i < extra_results_.size(); ++i) {
      extra_values_.push_back(d_.backward().Of({forward, own_results + static_cast<int>(i)}));
    }
    return absl::OkStatus();
  }

  absl::Status AddBackward() {
    // The arguments of the backward functions, then the gradients.
    std::vector<Expr> inputs;
    GraphBuilder& build = d_.backward();
    for (int i = 0; i < calls_.first_arg; ++i) inputs.push_back(build.Of(forward_->input(i)));
    for (int arg : arguments_) {
      inputs.push_back(build.Of(forward_->input(calls_.first_arg + arg)));
    }
    inputs.insert(inputs.end(), extra_values_.begin(), extra_values_.end());
    const int first_gradient = static_cast<int>(types_.size());
    for (int y : ys_) {
      inputs.push_back(op_.dy(y));
      types_.push_back(inputs.back().dtype());
    }
    std::vector<FunctionRef> functions;
    std::vector<DType> results;
    std::vector<int> result_of;  // each value that comes out; -1 for none
    for (const Expr& value : branches_[0]->outgoing()) {
      result_of.push_back(value.empty() ? -1 : static_cast<int>(results.size()));
      if (!value.empty()) results.push_back(value.dtype());
    }
    if (results.empty()) return absl::OkStatus();
    for (size_t b = 0; b < branches_.size(); ++b) {
      ASSIGN_OR_RETURN(const FunctionGradient::Part part,
                       branches_[b]->Backward(types_, places_[b], first_gradient));
      ASSIGN_OR_RETURN(FunctionRef function,
                       AddFunction(d_.graph(), "backward_" + calls_.functions[b].name, part));
      functions.push_back(std::move(function));
    }
    AttrMap attrs = CallAttrs(functions, results);
    attrs["Tin"] = types_;
    Node* const call = build.AddNode(CallOp(), inputs, std::move(attrs));
    for (size_t i = 0; i < xs_.size(); ++i) {
      if (result_of[i] < 0) continue;
      const int x = calls_.first_arg + xs_[i];
      const Expr values = build.Output(call, result_of[i]);
      if (const int indices = branches_[0]->indices_of(static_cast<int>(i)); indices < 0) {
        op_.Set(x, values);
      } else {
        op_.SetSlices(x, values, build.Output(call, result_of[indices]),
                      build.Output(call, result_of[indices + 1]));
      }
    }
    return absl::OkStatus();
  }

  // TensorFlow gives a function that is an op a symbolic gradient, which has zeros for an argument
  // on which no result depends. Other calls have no gradient for it there, as they have here.
  void SetZeros() {
    for (size_t i = 0; i < xs_.size(); ++i) {
      const Expr x = d_.backward().Of(forward_->input(calls_.first_arg + xs_[i]));
      const bool is_number = IsFloating(x.dtype()) || IsComplex(x.dtype());
      if (branches_[0]->outgoing()[i].empty() && is_number) {
        op_.Set(calls_.first_arg + xs_[i], ZerosLike(x));
      }
    }
  }

  // The op of the calls that take this one's place. A function that is an op has attributes of its
  // own, and becomes the attribute of a call.
  std::string CallOp() const { return is_op_ ? "StatefulPartitionedCall" : op_name_; }

  AttrMap CallAttrs(const std::vector<FunctionRef>& functions, std::vector<DType> results) const {
    AttrMap attrs = {{"Tin", argument_types_}, {"Tout", std::move(results)}};
    if (condition_type_ != DType::kInvalid) attrs["Tcond"] = condition_type_;
    if (functions.size() == 1 && calls_.first_arg == 0) {
      attrs["f"] = functions[0];
    } else if (condition_type_ != DType::kInvalid) {
      attrs["then_branch"] = functions[0];
      attrs["else_branch"] = functions[1];
    } else {
      attrs["branches"] = functions;
    }
    return attrs;
  }

  struct ExtraResult {
    size_t branch;
    Endpoint kept;
    DType dtype;
  };

  GradientOp& op_;
  Differentiation& d_;
  const FunctionCalls calls_;
  const std::string op_name_ = op_.node()->op_name();
  // Whether the function is called as an op.
  const bool is_op_ = d_.graph()->library() != nullptr && d_.graph()->library()->Contains(op_name_);
  const std::vector<DType> argument_types_ = {op_.node()->input_types().begin() + calls_.first_arg,
                                              op_.node()->input_types().end()};
  // The dtype of the condition of an If; other calls have none.
  const DType condition_type_ = op_.node()->attr<DType>("Tcond").value_or(DType::kInvalid);
  Node* forward_ = nullptr;
  std::vector<int> ys_, xs_;
  std::vector<std::unique_ptr<FunctionGradient>> branches_;
  std::vector<DType> types_;    // of the arguments of the backward functions
  std::vector<int> arguments_;  // the arguments of the call among them, which come first
  std::vector<absl::flat_hash_map<Endpoint, int>> places_;  // by branch
  std::vector<ExtraResult> extra_results_;
  std::vector<Expr> extra_values_;
};

void AddCallGradient(GradientOp& op) {
  FunctionCalls calls = CallsOf(*op.differentiation().graph(), *op.node());
  if (const absl::Status added = CallGradient(&op, std::move(calls)).Add(); !added.ok()) {
    op.Fail(added);
  }
}
REGISTER_GRADIENT("PartitionedCall", AddCallGradient);
REGISTER_GRADIENT("StatefulPartitionedCall", AddCallGradient);
REGISTER_GRADIENT("If", AddCallGradient);
REGISTER_GRADIENT("StatelessIf", AddCallGradient);
REGISTER_GRADIENT("Case", AddCallGradient);
REGISTER_GRADIENT("StatelessCase", AddCallGradient);

}  // namespace
}  // namespace tessera
