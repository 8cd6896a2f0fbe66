#include "runtime/stablehlo/expand_call_modules.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/status.h"
#include "runtime/graph/function_export.h"
#include "runtime/stablehlo/read_module.h"
#include "runtime/stablehlo/translator.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera::stablehlo {
namespace {

constexpr absl::string_view kOp = "XlaCallModule";
// Versions of the op before this one have text or bytecode that need not be readable by others.
constexpr int64_t kFirstPortableVersion = 4;

const tensorflow::AttrValue* FindAttr(const tensorflow::NodeDef& node, const char* name) {
  auto it = node.attr().find(name);
  return it == node.attr().end() ? nullptr : &it->second;
}

std::vector<DType> Types(const tensorflow::NodeDef& node, const char* name) {
  std::vector<DType> types;
  if (const auto* attr = FindAttr(node, name)) {
    for (int type : attr->list().type()) types.push_back(static_cast<DType>(type));
  }
  return types;
}

// Whether the exporter has switched off a check of the module.
bool IsCheckDisabled(const tensorflow::NodeDef& node, absl::string_view check) {
  const auto* disabled = FindAttr(node, "disabled_checks");
  return disabled != nullptr && absl::c_linear_search(disabled->list().s(), check);
}

// An index of the platform that the module may take as its first argument: of "CPU" among those
// that it was made for; the first one if it was not made for CPUs and does not check that. Errors:
// UNIMPLEMENTED if it does.
absl::StatusOr<int> PlatformIndex(const tensorflow::NodeDef& node) {
  const auto* platforms = FindAttr(node, "platforms");
  if (platforms == nullptr || platforms->list().s().empty()) return 0;
  for (int i = 0; i < platforms->list().s_size(); ++i) {
    if (platforms->list().s(i) == "CPU") return i;
  }
  if (IsCheckDisabled(node, "platform")) return 0;
  return absl::UnimplementedError(
      "the module was not exported for CPUs: export it with platforms="
      "['cpu', ...]");
}

// Adds the arguments of the function: those of the node, behind an index of the platform if the
// module was made for several.
class Body {
 public:
  Body(const Module& module, const tensorflow::NodeDef& node, FunctionOutput* output)
      : module_(module), node_(node), output_(output), t_(module, output, &graph_, nullptr) {}

  absl::Status Build(const std::string& name) {
    const Function* main = module_.FindFunction("main");
    if (main == nullptr) return absl::InvalidArgumentError("the module has no function 'main'");
    RETURN_IF_ERROR(AddArguments(*main));
    FunctionExport function;
    function.name = name;
    function.graph = &graph_;
    function.args = args_;
    const std::vector<DType> wanted = Types(node_, "Tout");
    std::vector<Expr> results;
    for (ValueId id : t_.Translate(main->body)) results.push_back(t_.Full(id));
    RETURN_IF_ERROR(t_.status());
    if (results.size() != wanted.size()) {
      return absl::InvalidArgumentError("the module has another number of results than the node");
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].dtype() != wanted[i]) {
        return absl::InvalidArgumentError(absl::StrCat("result ", i, " of the module is ",
                                                       DTypeName(results[i].dtype()),
                                                       ", the node says ", DTypeName(wanted[i])));
      }
      function.results.push_back(t_.build().AddNode(
          "_Retval", {results[i]}, {{"T", wanted[i]}, {"index", static_cast<int>(i)}}));
    }
    RETURN_IF_ERROR(t_.status());
    function.control_results = t_.effects();
    return ExportFunction(function, output_->library->add_function());
  }

 private:
  absl::Status AddArguments(const Function& main) {
    const std::vector<DType> types = Types(node_, "Tin");
    absl::Span<const ValueId> arguments = main.body.arguments;
    for (ValueId argument : arguments) {
      if (!t_.CheckType(argument)) return t_.status();
    }
    if (arguments.size() == types.size() + 1) {
      ASSIGN_OR_RETURN(const int platform, PlatformIndex(node_));
      t_.Set(arguments[0], CastTo(t_.build().Int(platform), t_.type(arguments[0]).dtype));
      arguments.remove_prefix(1);
    } else {
      RETURN_IF_ERROR(PlatformIndex(node_).status());
    }
    if (arguments.size() != types.size()) {
      return absl::UnimplementedError(absl::StrCat("the module takes ", arguments.size(),
                                                   " arguments, the node has ", types.size()));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      if (t_.type(arguments[i]).dtype != types[i]) {
        return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of the module is ",
                                                       t_.type(arguments[i]).element,
                                                       ", the node gives ", DTypeName(types[i])));
      }
      Node* arg = t_.build().AddOpenNode("_Arg", {{"T", types[i]}, {"index", static_cast<int>(i)}});
      args_.push_back(arg);
      t_.Set(arguments[i], t_.build().Output(arg));
    }
    return t_.status();
  }

  const Module& module_;
  const tensorflow::NodeDef& node_;
  FunctionOutput* const output_;
  Graph graph_;
  Translator t_;
  std::vector<Node*> args_;
};

class Expander {
 public:
  explicit Expander(tensorflow::FunctionDefLibrary* added) : added_(added) {}

  void Expand(tensorflow::NodeDef* node) {
    if (node->op() != kOp) return;
    tensorflow::FunctionDefLibrary functions;
    const std::string name = absl::StrCat("stablehlo_module_", count_++);
    if (absl::Status status = Translate(*node, name, &functions); !status.ok()) {
      (*node->mutable_attr())["_unsupported"].set_s(std::string(status.message()));
      return;
    }
    bool is_stateful = false;
    for (tensorflow::FunctionDef& function : *functions.mutable_function()) {
      is_stateful |= function.signature().is_stateful();
      added_->add_function()->Swap(&function);
    }
    node->set_op(is_stateful ? "StatefulPartitionedCall" : "PartitionedCall");
    auto* attrs = node->mutable_attr();
    tensorflow::AttrValue tin = (*attrs)["Tin"], tout = (*attrs)["Tout"];
    attrs->clear();
    (*attrs)["Tin"].Swap(&tin);
    (*attrs)["Tout"].Swap(&tout);
    (*attrs)["f"].mutable_func()->set_name(name);
  }

 private:
  static absl::Status Translate(const tensorflow::NodeDef& node, const std::string& name,
                                tensorflow::FunctionDefLibrary* functions) {
    const auto* version = FindAttr(node, "version");
    const auto* bytes = FindAttr(node, "module");
    if (version == nullptr || bytes == nullptr || version->i() < kFirstPortableVersion) {
      return absl::UnimplementedError(
          "the node is of a version before portable artifacts; export the model again");
    }
    if (const auto* called = FindAttr(node, "function_list");
        called != nullptr && called->list().func_size() > 0) {
      return absl::UnimplementedError("the module calls functions of the graph");
    }
    ASSIGN_OR_RETURN(const Module module, ReadModule(bytes->s()));
    FunctionOutput output;
    output.library = functions;
    output.prefix = name;
    output.asserts_shapes = !IsCheckDisabled(node, "shape_assertions");
    return Body(module, node, &output).Build(name);
  }

  tensorflow::FunctionDefLibrary* const added_;
  int count_ = 0;
};

}  // namespace

bool HasCallModules(const tensorflow::GraphDef& graph_def) {
  const auto is_module = [](const tensorflow::NodeDef& node) { return node.op() == kOp; };
  const auto& functions = graph_def.library().function();
  return absl::c_any_of(graph_def.node(), is_module) ||
         absl::c_any_of(functions, [&](const tensorflow::FunctionDef& function) {
           return absl::c_any_of(function.node_def(), is_module);
         });
}

void ExpandCallModules(tensorflow::GraphDef* graph_def) {
  tensorflow::FunctionDefLibrary added;
  Expander expander(&added);
  for (tensorflow::NodeDef& node : *graph_def->mutable_node()) expander.Expand(&node);
  if (!graph_def->has_library()) {
    if (added.function_size() == 0) return;
  }
  for (tensorflow::FunctionDef& function : *graph_def->mutable_library()->mutable_function()) {
    for (tensorflow::NodeDef& node : *function.mutable_node_def()) expander.Expand(&node);
  }
  for (tensorflow::FunctionDef& function : *added.mutable_function()) {
    graph_def->mutable_library()->add_function()->Swap(&function);
  }
}

}  // namespace tessera::stablehlo
