#include "runtime/optimize/mark_element_functions.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/graph/function.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

bool AppliesElementFunctions(const Node& node) {
  static const auto* const kOps =
      new Names{"XlaReduce",         "XlaReduceWindow",     "XlaScatter",     "XlaSelectAndScatter",
                "XlaVariadicReduce", "XlaVariadicReduceV2", "XlaVariadicSort"};
  return kOps->contains(absl::StripPrefix(node.op_name(), "_Capturing"));
}

// Ops whose result at a position comes from the operands' elements there. What such an op refuses
// to broadcast fails, and is then called for each element.
bool IsElementwise(absl::string_view op) {
  static const auto* const kOps = new Names{"Abs",          "Acos",
                                            "Acosh",        "Add",
                                            "AddN",         "AddV2",
                                            "Angle",        "Asin",
                                            "Asinh",        "Atan",
                                            "Atan2",        "Atanh",
                                            "BesselI0e",    "BesselI1e",
                                            "Bitcast",      "BitwiseAnd",
                                            "BitwiseOr",    "BitwiseXor",
                                            "Cast",         "Ceil",
                                            "ClipByValue",  "Complex",
                                            "ComplexAbs",   "Conj",
                                            "Cos",          "Cosh",
                                            "Digamma",      "Div",
                                            "DivNoNan",     "Elu",
                                            "Equal",        "Erf",
                                            "Erfc",         "Erfinv",
                                            "Exp",          "Expm1",
                                            "Floor",        "FloorDiv",
                                            "FloorMod",     "Greater",
                                            "GreaterEqual", "Identity",
                                            "IdentityN",    "Igamma",
                                            "Igammac",      "Imag",
                                            "Inv",          "Invert",
                                            "IsFinite",     "IsInf",
                                            "IsNan",        "LeakyRelu",
                                            "LeftShift",    "Less",
                                            "LessEqual",    "Lgamma",
                                            "Log",          "Log1p",
                                            "LogicalAnd",   "LogicalNot",
                                            "LogicalOr",    "Maximum",
                                            "Minimum",      "Mod",
                                            "Mul",          "MulNoNan",
                                            "Ndtri",        "Neg",
                                            "NextAfter",    "NoOp",
                                            "NotEqual",     "OnesLike",
                                            "Polygamma",    "PopulationCount",
                                            "Pow",          "PreventGradient",
                                            "Real",         "RealDiv",
                                            "Reciprocal",   "Relu",
                                            "Relu6",        "RightShift",
                                            "Rint",         "Round",
                                            "Rsqrt",        "Select",
                                            "SelectV2",     "Selu",
                                            "Sigmoid",      "Sign",
                                            "Sin",          "Sinh",
                                            "Snapshot",     "Softplus",
                                            "Softsign",     "Sqrt",
                                            "Square",       "SquaredDifference",
                                            "StopGradient", "Sub",
                                            "Tan",          "Tanh",
                                            "TruncateDiv",  "TruncateMod",
                                            "Xdivy",        "XlaReducePrecision",
                                            "Xlog1py",      "Xlogy",
                                            "ZerosLike",    "Zeta",
                                            "_OrderKey"};
  return kOps->contains(op);
}

bool IsScalarConstant(const tensorflow::NodeDef& node) {
  const auto value = node.attr().find("value");
  return node.op() == "Const" && value != node.attr().end() &&
         !value->second.tensor().tensor_shape().unknown_rank() &&
         value->second.tensor().tensor_shape().dim_size() == 0;
}

// Looks into the functions that a function calls, too.
class ElementFunctions {
 public:
  explicit ElementFunctions(const FunctionLibrary& library) : library_(library) {}

  bool Contain(const std::string& name) {
    const tensorflow::FunctionDef* const function = library_.FindDefinition(name);
    if (function == nullptr) return false;
    // A function that calls itself ends nowhere, whatever it is taken for.
    if (!seen_.insert(name).second) return true;
    for (const tensorflow::NodeDef& node : function->node_def()) {
      if (!IsElementwise(node.op()) && !IsScalarConstant(node) && !CallsOne(node)) return false;
    }
    return true;
  }

 private:
  bool CallsOne(const tensorflow::NodeDef& node) {
    if (node.op() != "PartitionedCall" && node.op() != "StatefulPartitionedCall") {
      return Contain(node.op());
    }
    const auto function = node.attr().find("f");
    return function != node.attr().end() && Contain(function->second.func().name());
  }

  const FunctionLibrary& library_;
  absl::flat_hash_set<std::string> seen_;
};

// Returns the op that alone combines or compares the two arguments of a function, "second" if the
// function returns its second argument, or nothing.
std::string OpOfTwo(const tensorflow::FunctionDef* function) {
  if (function == nullptr || function->signature().input_arg_size() != 2 ||
      function->signature().output_arg_size() != 1 || function->control_ret_size() != 0) {
    return "";
  }
  const auto result = function->ret().find(function->signature().output_arg(0).name());
  if (result == function->ret().end()) return "";
  const std::string& first = function->signature().input_arg(0).name();
  const std::string& second = function->signature().input_arg(1).name();
  if (function->node_def_size() == 0 && result->second == second) return "second";
  if (function->node_def_size() != 1) return "";
  static const auto* const kCommutative = new Names{"Add", "AddV2", "Maximum", "Minimum", "Mul"};
  static const auto* const kComparisons = new Names{"Greater", "GreaterEqual", "Less", "LessEqual"};
  const tensorflow::NodeDef& node = function->node_def(0);
  const bool is_commutative = kCommutative->contains(node.op());
  if ((!is_commutative && !kComparisons->contains(node.op())) || node.input_size() != 2) return "";
  const std::string &x = node.input(0), &y = node.input(1);
  const bool has_both =
      (x == first && y == second) || (is_commutative && x == second && y == first);
  return has_both && result->second == absl::StrCat(node.name(), ":z:0") ? node.op() : "";
}

}  // namespace

absl::Status MarkElementFunctionsPass::Run(OptimizationItem& item, bool* changed) const {
  const FunctionLibrary* const library = item.graph->library().get();
  if (library == nullptr) return absl::OkStatus();
  for (Node* const node : item.graph->nodes()) {
    if (!AppliesElementFunctions(*node) || node->attrs().contains("_elementwise")) continue;
    std::vector<std::string> elementwise;
    std::vector<std::pair<std::string, std::string>> known;
    for (const auto& [name, value] : node->attrs()) {
      const FunctionRef* const function = value.get<FunctionRef>();
      if (function == nullptr) continue;
      if (ElementFunctions(*library).Contain(function->name)) elementwise.push_back(name);
      std::string op = OpOfTwo(library->FindDefinition(function->name));
      if (!op.empty()) known.emplace_back(absl::StrCat("_is_", name), std::move(op));
    }
    node->SetAttr("_elementwise", std::move(elementwise));
    for (auto& [mark, op] : known) node->SetAttr(mark, std::move(op));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera
