#include "runtime/training/gradients/symbolic_gradient.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/graph/function.h"
#include "runtime/training/gradients/differentiation.h"
#include "runtime/training/gradients/function_gradient.h"
#include "runtime/training/gradients/gradients.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

constexpr absl::string_view kOp = "SymbolicGradient";
// A function may name its own gradient, whose expansion names it again, without end.
constexpr int kMaxExpansions = 200;

template <typename Nodes>
bool AnySymbolicGradient(const Nodes& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const tensorflow::NodeDef& node) { return node.op() == kOp; });
}

std::vector<DType> TypesOf(const tensorflow::NodeDef& node, const char* name) {
  std::vector<DType> types;
  const auto attr = node.attr().find(name);
  if (attr == node.attr().end()) return types;
  for (int type : attr->second.list().type()) types.push_back(static_cast<DType>(type));
  return types;
}

// The gradient function of a body, which it consumes.
class GradientFunctionBuilder {
 public:
  explicit GradientFunctionBuilder(FunctionBody body)
      : result_types_(body.result_types), results_(body.results) {
    part_.graph = std::move(body.graph);
    part_.args = std::move(body.args);
  }

  // Adds the function to the library of `holder`, and returns its name.
  absl::StatusOr<FunctionRef> AddTo(Graph* holder, const std::string& name) {
    std::vector<Endpoint> xs, ys, grad_ys;
    const std::vector<Node*> args = part_.args;
    for (Node* arg : args) {
      if (HasGradients(arg->output_type(0))) xs.push_back({arg, 0});
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      ASSIGN_OR_RETURN(const Endpoint dy, AddArgument(&part_, result_types_[i]));
      if (!HasGradients(result_types_[i])) continue;
      ys.push_back(results_[i]->input(0));
      grad_ys.push_back(dy);
    }
    std::vector<Gradient> gradients(xs.size());
    if (!xs.empty() && !ys.empty()) {
      ASSIGN_OR_RETURN(gradients, AddGradients(part_.graph.get(), ys, xs, grad_ys));
    }
    auto next = gradients.begin();
    GraphBuilder build(part_.graph.get(), "gradients/zeros");
    for (Node* arg : args) {
      const Gradient gradient = HasGradients(arg->output_type(0)) ? *next++ : Gradient();
      Endpoint dx;
      if (gradient.is_none()) {
        dx = ZerosLike(build.Of({arg, 0})).endpoint();
        RETURN_IF_ERROR(build.status());
      } else {
        ASSIGN_OR_RETURN(dx, AddDenseGradient(part_.graph.get(), gradient));
      }
      RETURN_IF_ERROR(AddResult(&part_, dx));
    }
    holder->set_library(part_.graph->library());
    return AddFunction(holder, absl::StrCat("gradient_of_", name), part_);
  }

 private:
  FunctionGradient::Part part_;
  const std::vector<DType> result_types_;
  const std::vector<Node*> results_;  // of the differentiated function
};

class Expander {
 public:
  Expander(std::shared_ptr<const FunctionLibrary> known, tensorflow::GraphDef* graph_def)
      : known_(std::move(known)), graph_def_(*graph_def) {}

  // A function may have to be expanded before another that calls it can be differentiated: goes on
  // as long as something changes.
  void Run() {
    int expansions = 0;
    while (expansions < kMaxExpansions && ExpandOne()) ++expansions;
    ForEachNode([](tensorflow::NodeDef* node, const absl::Status& status) {
      (*node->mutable_attr())["_unsupported"].set_s(std::string(status.message()));
      return false;
    });
  }

 private:
  // Calls visit(node, error), with the error of expanding it, until it returns true. Returns
  // whether it did.
  template <typename Visit>
  bool ForEachNode(const Visit& visit) {
    auto in = [&](auto* nodes) {
      for (tensorflow::NodeDef& node : *nodes) {
        if (node.op() == kOp && visit(&node, errors_[node.name()])) return true;
      }
      return false;
    };
    if (in(graph_def_.mutable_node())) return true;
    if (!graph_def_.has_library()) return false;
    for (auto& function : *graph_def_.mutable_library()->mutable_function()) {
      if (in(function.mutable_node_def())) return true;
    }
    return false;
  }

  bool ExpandOne() {
    return ForEachNode([this](tensorflow::NodeDef* node, absl::Status& error) {
      absl::StatusOr<Expansion> expansion = Differentiate(*node);
      error = expansion.status();
      if (!expansion.ok()) return false;
      tensorflow::AttrValue tin = node->attr().at("Tin"), tout = node->attr().at("Tout");
      node->set_op("StatefulPartitionedCall");
      node->clear_attr();
      (*node->mutable_attr())["Tin"].Swap(&tin);
      (*node->mutable_attr())["Tout"].Swap(&tout);
      (*node->mutable_attr())["f"].mutable_func()->set_name(expansion->function);
      for (auto& function : *expansion->added.mutable_function()) {
        graph_def_.mutable_library()->add_function()->Swap(&function);
      }
      return true;
    });
  }

  struct Expansion {
    std::string function;  // to be called
    tensorflow::FunctionDefLibrary added;
  };

  absl::StatusOr<Expansion> Differentiate(const tensorflow::NodeDef& node) const {
    if (!node.attr().contains("f") || !node.attr().contains("Tin") ||
        !node.attr().contains("Tout")) {
      return absl::InvalidArgumentError("the node lacks one of the attributes f, Tin and Tout");
    }
    for (const auto& gradient : graph_def_.library().gradient()) {
      if (gradient.function_name() == node.attr().at("f").func().name()) {
        return Expansion{.function = gradient.gradient_func()};
      }
    }
    ASSIGN_OR_RETURN(const AttrValue f, AttrValueFromProto(node.attr().at("f")));
    const FunctionRef* const function = f.get<FunctionRef>();
    if (function == nullptr) {
      return absl::UnimplementedError("the function depends on attributes of the one around it");
    }
    ASSIGN_OR_RETURN(auto library, FunctionLibrary::Create(graph_def_.library()));
    if (known_ != nullptr) {
      ASSIGN_OR_RETURN(library, known_->Extended(graph_def_.library()));
    }
    ASSIGN_OR_RETURN(FunctionBody body, library->Instantiate(*function));
    std::vector<DType> inputs = body.arg_types;
    inputs.insert(inputs.end(), body.result_types.begin(), body.result_types.end());
    if (inputs != TypesOf(node, "Tin") || body.arg_types != TypesOf(node, "Tout")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the node must take the arguments of '", function->name,
          "' and a gradient for each of its results, and give a gradient for each argument"));
    }
    Graph holder;
    ASSIGN_OR_RETURN(const FunctionRef gradient,
                     GradientFunctionBuilder(std::move(body)).AddTo(&holder, function->name));
    Expansion expansion{.function = gradient.name};
    for (const std::string& name : holder.library()->Names()) {
      if (!library->Contains(name)) {
        *expansion.added.add_function() = *holder.library()->FindDefinition(name);
      }
    }
    return expansion;
  }

  const std::shared_ptr<const FunctionLibrary> known_;
  tensorflow::GraphDef& graph_def_;
  absl::flat_hash_map<std::string, absl::Status> errors_;  // by node
};

}  // namespace

bool HasSymbolicGradient(const tensorflow::GraphDef& graph_def) {
  const auto& functions = graph_def.library().function();
  return AnySymbolicGradient(graph_def.node()) ||
         std::any_of(functions.begin(), functions.end(),
                     [](const auto& function) { return AnySymbolicGradient(function.node_def()); });
}

void ExpandSymbolicGradients(std::shared_ptr<const FunctionLibrary> known,
                             tensorflow::GraphDef* graph_def) {
  Expander(std::move(known), graph_def).Run();
}

}  // namespace tessera
