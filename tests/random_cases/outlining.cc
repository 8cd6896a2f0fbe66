#include "tests/random_cases/outlining.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/framework/op.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/tensor/tensor_proto.h"
#include "tests/random_cases/random_call.h"
#include "tests/random_cases/random_tensor.h"

namespace tessera {
namespace {

constexpr int kMostCalls = 4;  // in one function

struct TensorName {
  std::string node;
  int index = 0;
};

TensorName ParseTensorName(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, ':');
  return {parts[0], parts.size() > 1 ? std::stoi(parts[1]) : 0};
}

bool IsControl(const std::string& input) { return absl::StartsWith(input, "^"); }

bool IsConstant(const tensorflow::NodeDef& node) { return node.op() == "Const"; }

std::vector<DType> OutputTypesOf(const tensorflow::NodeDef& node) {
  const OpDef* const op = OpRegistry::Global().Find(node.op());
  absl::StatusOr<AttrMap> attrs = AttrMapFromProto(node.attr());
  if (op == nullptr || !attrs.ok() || !CompleteAttrs(*op, &*attrs).ok()) return {};
  const absl::StatusOr<std::vector<DType>> types = OutputTypes(*op, *attrs);
  return types.ok() ? *types : std::vector<DType>();
}

// Returns the name that functions have for output `index` of a node: "node:argument:position".
std::string NameInFunction(const tensorflow::NodeDef& node, int index) {
  const OpDef* const op = OpRegistry::Global().Find(node.op());
  const AttrMap attrs = AttrMapFromProto(node.attr()).value();
  for (const ArgDef& output : op->outputs) {
    const absl::StatusOr<ArgRange> range = OutputRange(*op, attrs, output.name);
    if (range.ok() && range->begin <= index && index < range->end) {
      return absl::StrCat(node.name(), ":", output.name, ":", index - range->begin);
    }
  }
  return "";
}

// The calls that a function can have: their arguments and results can be fed, and the variables of
// the graph are not among them.
bool CanMove(const tensorflow::NodeDef& node) {
  if (!absl::StartsWith(node.name(), "op")) return false;
  for (const std::string& input : node.input()) {
    const std::string name = IsControl(input) ? input.substr(1) : input;
    if (!absl::StartsWith(name, "op") && !absl::StartsWith(name, "in") &&
        !absl::StartsWith(name, "const")) {
      return false;
    }
  }
  const std::vector<DType> types = OutputTypesOf(node);
  return !types.empty() && std::all_of(types.begin(), types.end(), CanFeed);
}

class Outliner {
 public:
  Outliner(Random& random, int number, const std::map<std::string, Shape>& shapes,
           tensorflow::GraphDef* graph)
      : random_(random), number_(number), shapes_(shapes), graph_(*graph) {
    for (const tensorflow::NodeDef& node : graph_.node()) nodes_[node.name()] = &node;
  }

  void Run() {
    ChooseCalls();
    FindArguments();
    FindResults();
    if (results_.empty()) return;
    tensorflow::NodeDef call;
    call.set_name(absl::StrCat("op", 1000 + number_));
    const int64_t kind = random_.Below(10);
    if (kind < 4) {
      MakeCall(&call);
    } else if (kind < 7) {
      MakeConditional(&call);
    } else {
      MakeLoop(&call);
    }
    for (const std::string& control : outside_controls_) call.add_input(control);
    Replace(std::move(call));
  }

 private:
  struct Argument {
    std::string tensor;  // "node" or "node:index"
    DType dtype;
  };

  void ChooseCalls() {
    std::vector<const tensorflow::NodeDef*> candidates;
    for (const tensorflow::NodeDef& node : graph_.node()) {
      if (CanMove(node)) candidates.push_back(&node);
    }
    if (candidates.empty()) return;
    const auto count = static_cast<int64_t>(candidates.size());
    const int64_t first = random_.Below(count);
    const int64_t last = std::min(count, first + random_.Between(1, kMostCalls));
    std::set<std::string> chosen;
    for (int64_t i = first; i < last; ++i) chosen.insert(candidates[i]->name());
    // A call that depends on the chosen ones by way of another node stays outside.
    for (const tensorflow::NodeDef& node : graph_.node()) {
      bool on_inside = false, on_later = false;
      for (const std::string& input : node.input()) {
        const std::string from = IsControl(input) ? input.substr(1) : ParseTensorName(input).node;
        on_inside |= inside_.contains(from);
        on_later |= later_.contains(from);
      }
      if (chosen.contains(node.name()) && !on_later) {
        inside_.insert(node.name());
        body_.push_back(&node);
      } else if (on_inside || on_later) {
        later_.insert(node.name());
      }
    }
  }

  void FindArguments() {
    std::set<std::string> seen;
    std::vector<const tensorflow::NodeDef*> constants;
    for (const tensorflow::NodeDef* node : body_) {
      for (const std::string& input : node->input()) {
        if (IsControl(input)) {
          if (!inside_.contains(input.substr(1))) outside_controls_.insert(input);
          continue;
        }
        const TensorName name = ParseTensorName(input);
        if (inside_.contains(name.node) || !seen.insert(input).second) continue;
        const tensorflow::NodeDef* const from = nodes_.at(name.node);
        if (absl::StartsWith(name.node, "const") && random_.Chance(0.8)) {
          constants.push_back(from);
        } else {
          arguments_.push_back({input, OutputTypesOf(*from).at(name.index)});
        }
      }
    }
    body_.insert(body_.begin(), constants.begin(), constants.end());
  }

  void FindResults() {
    std::set<std::string> used;
    for (const tensorflow::NodeDef& node : graph_.node()) {
      if (inside_.contains(node.name())) continue;
      for (const std::string& input : node.input()) used.insert(input);
      if (node.name() != "plan") continue;
      for (const std::string& fetch : node.attr().at("_fetch").list().s()) used.insert(fetch);
    }
    for (const std::string& tensor : used) {
      if (IsControl(tensor)) continue;
      const TensorName name = ParseTensorName(tensor);
      if (!inside_.contains(name.node)) continue;
      const DType dtype = OutputTypesOf(*nodes_.at(name.node)).at(name.index);
      results_.push_back({absl::StrCat(name.node, ":", name.index), dtype});
    }
  }

  std::string NewFunctionName(const char* what) const {
    return absl::StrCat("outlined", number_, "_", what);
  }

  // Adds a function of the arguments that gives the results.
  tensorflow::FunctionDef* AddFunction(const std::string& name) {
    tensorflow::FunctionDef* const function = graph_.mutable_library()->add_function();
    function->mutable_signature()->set_name(name);
    std::map<std::string, std::string> renamed;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      renamed[arguments_[i].tensor] =
          AddArgument(absl::StrCat("x", i), arguments_[i].dtype, function);
    }
    for (const tensorflow::NodeDef* node : body_) {
      tensorflow::NodeDef* const copy = function->add_node_def();
      *copy = *node;
      copy->clear_input();
      for (const std::string& input : node->input()) {
        if (IsControl(input)) {
          if (inside_.contains(input.substr(1))) copy->add_input(input);
          continue;
        }
        const auto argument = renamed.find(input);
        const TensorName from = ParseTensorName(input);
        copy->add_input(argument != renamed.end()
                            ? argument->second
                            : NameInFunction(*nodes_.at(from.node), from.index));
      }
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      const TensorName from = ParseTensorName(results_[i].tensor);
      AddResult(absl::StrCat("y", i), results_[i].dtype,
                NameInFunction(*nodes_.at(from.node), from.index), function);
    }
    return function;
  }

  static std::string AddArgument(const std::string& name, DType dtype,
                                 tensorflow::FunctionDef* function) {
    tensorflow::OpDef::ArgDef* const arg = function->mutable_signature()->add_input_arg();
    arg->set_name(name);
    arg->set_type(static_cast<tensorflow::DataType>(dtype));
    return name;
  }

  static void AddResult(const std::string& name, DType dtype, const std::string& value,
                        tensorflow::FunctionDef* function) {
    tensorflow::OpDef::ArgDef* const arg = function->mutable_signature()->add_output_arg();
    arg->set_name(name);
    arg->set_type(static_cast<tensorflow::DataType>(dtype));
    (*function->mutable_ret())[name] = value;
  }

  // Makes a function compute something else of the same types: from other numbers, and negated.
  void Vary(tensorflow::FunctionDef* function) {
    for (tensorflow::NodeDef& node : *function->mutable_node_def()) {
      if (!IsConstant(node)) continue;
      const Tensor value = TensorFromProto(node.attr().at("value").tensor()).value();
      if (!IsFloating(value.dtype())) continue;
      const Tensor other = RandomTensor(random_, value.dtype(), value.shape(), {});
      AttrMapToProto({{"dtype", other.dtype()}, {"value", other}}, node.mutable_attr());
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      const DType dtype = results_[i].dtype;
      const bool is_number = dtype == DType::kFloat || dtype == DType::kDouble ||
                             dtype == DType::kInt32 || dtype == DType::kInt64;
      if (!is_number || random_.Chance(0.4)) continue;
      std::string& value = (*function->mutable_ret())[absl::StrCat("y", i)];
      tensorflow::NodeDef* const node = function->add_node_def();
      node->set_name(absl::StrCat("negated", i));
      node->set_op("Neg");
      node->add_input(value);
      AttrMapToProto({{"T", dtype}}, node->mutable_attr());
      value = absl::StrCat(node->name(), ":y:0");
    }
  }

  // Adds a constant that a run feeds, or that stays in the graph, and returns its name.
  std::string AddConstant(const char* what, const Tensor& value) {
    tensorflow::NodeDef node;
    node.set_name(absl::StrCat(random_.Chance(0.7) ? "in_" : "const_", what, number_));
    node.set_op("Const");
    AttrMapToProto({{"dtype", value.dtype()}, {"value", value}}, node.mutable_attr());
    new_nodes_.push_back(node);
    return node.name();
  }

  void SetTypes(const char* in, const char* out, tensorflow::NodeDef* call) const {
    std::vector<DType> arguments, results;
    for (const Argument& argument : arguments_) arguments.push_back(argument.dtype);
    for (const Argument& result : results_) results.push_back(result.dtype);
    AttrMapToProto({{in, arguments}, {out, results}}, call->mutable_attr());
  }

  static void SetAttrs(const AttrMap& attrs, tensorflow::NodeDef* call) {
    AttrMapProto more;
    AttrMapToProto(attrs, &more);
    for (auto& [name, value] : more) (*call->mutable_attr())[name] = value;
  }

  void AddArguments(tensorflow::NodeDef* call) const {
    for (const Argument& argument : arguments_) call->add_input(argument.tensor);
  }

  bool IsStateful() const {
    return std::any_of(body_.begin(), body_.end(), [](const tensorflow::NodeDef* node) {
      return OpRegistry::Global().Find(node->op())->is_stateful;
    });
  }

  // "If" is "StatelessIf" where the body allows it.
  std::string OpName(const char* stateful, const char* stateless) {
    return IsStateful() || random_.Chance(0.5) ? stateful : stateless;
  }

  void MakeCall(tensorflow::NodeDef* call) {
    call->set_op(OpName("StatefulPartitionedCall", "PartitionedCall"));
    AddArguments(call);
    SetTypes("Tin", "Tout", call);
    const std::string name = AddFunction(NewFunctionName("body"))->signature().name();
    SetAttrs({{"f", FunctionRef{name, {}}}}, call);
    first_result_ = 0;
  }

  void MakeConditional(tensorflow::NodeDef* call) {
    const bool is_case = random_.Chance(0.3);
    std::vector<FunctionRef> branches;
    for (int i = 0; i < (is_case ? random_.Between(1, 3) : 2); ++i) {
      tensorflow::FunctionDef* const branch =
          AddFunction(NewFunctionName(absl::StrCat("branch", i).c_str()));
      if (i > 0) Vary(branch);
      branches.push_back({branch->signature().name(), {}});
    }
    SetTypes("Tin", "Tout", call);
    if (is_case) {
      call->set_op(OpName("Case", "StatelessCase"));
      call->add_input(AddConstant(
          "branch", Tensor::Scalar<int32_t>(static_cast<int32_t>(random_.Between(-1, 3)))));
      SetAttrs({{"branches", branches}}, call);
    } else {
      call->set_op(OpName("If", "StatelessIf"));
      call->add_input(AddConstant("condition", Tensor::Scalar<bool>(random_.Chance(0.5))));
      SetAttrs(
          {{"Tcond", DType::kBool}, {"then_branch", branches[0]}, {"else_branch", branches[1]}},
          call);
    }
    AddArguments(call);
    first_result_ = 0;
  }

  // Loop variables: the number of the round, the arguments, the results.
  void MakeLoop(tensorflow::NodeDef* call) {
    call->set_op(OpName("While", "StatelessWhile"));
    const auto rounds = static_cast<int32_t>(random_.Chance(0.05) ? 0 : random_.Between(1, 4));
    std::vector<DType> types = {DType::kInt32};
    call->add_input(AddConstant("round", Tensor::Scalar<int32_t>(0)));
    for (const Argument& argument : arguments_) types.push_back(argument.dtype);
    AddArguments(call);
    first_result_ = static_cast<int>(types.size());
    for (size_t i = 0; i < results_.size(); ++i) {
      types.push_back(results_[i].dtype);
      const Tensor zero = Tensor::Zeros(results_[i].dtype, {}).value();
      call->add_input(AddConstant(absl::StrCat("result", i, "_").c_str(), zero));
    }
    const FunctionRef condition{AddCondition(types, rounds), {}};
    const FunctionRef body{AddBody(), {}};
    SetAttrs({{"T", types},
              {"cond", condition},
              {"body", body},
              {"output_shapes", std::vector<PartialShape>(types.size())}},
             call);
  }

  std::string AddCondition(const std::vector<DType>& types, int32_t rounds) {
    tensorflow::FunctionDef* const function = graph_.mutable_library()->add_function();
    function->mutable_signature()->set_name(NewFunctionName("condition"));
    for (size_t i = 0; i < types.size(); ++i) {
      AddArgument(absl::StrCat("v", i), types[i], function);
    }
    AddConstantNode("rounds", Tensor::Scalar<int32_t>(rounds), function);
    AddBinary("less", "Less", "v0", "rounds:output:0", function);
    AddResult("result", DType::kBool, "less:z:0", function);
    return function->signature().name();
  }

  std::string AddBody() {
    tensorflow::FunctionDef* const function = AddFunction(NewFunctionName("body"));
    tensorflow::OpDef signature;
    signature.set_name(function->signature().name());
    signature.Swap(function->mutable_signature());
    const std::map<std::string, std::string> computed(function->ret().begin(),
                                                      function->ret().end());
    function->clear_ret();
    AddArgument("round", DType::kInt32, function);
    for (auto& arg : *signature.mutable_input_arg()) {
      *function->mutable_signature()->add_input_arg() = arg;
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      AddArgument(absl::StrCat("before", i), results_[i].dtype, function);
    }
    AddConstantNode("one", Tensor::Scalar<int32_t>(1), function);
    AddBinary("next", "AddV2", "round", "one:output:0", function);
    AddResult("next_round", DType::kInt32, "next:z:0", function);
    for (size_t k = 0; k < arguments_.size(); ++k) {
      AddResult(absl::StrCat("next_x", k), arguments_[k].dtype, NextArgument(k, computed),
                function);
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      const std::string name = absl::StrCat("y", i);
      AddResult(name, results_[i].dtype, computed.at(name), function);
    }
    return function->signature().name();
  }

  // What argument `k` of a loop's body is in the next round: the same, or a result that fits.
  std::string NextArgument(size_t k, const std::map<std::string, std::string>& computed) {
    for (size_t i = 0; i < results_.size(); ++i) {
      const auto result = shapes_.find(results_[i].tensor);
      if (results_[i].dtype != arguments_[k].dtype || result == shapes_.end()) continue;
      if (ShapeOf(arguments_[k].tensor) == result->second && random_.Chance(0.6)) {
        return computed.at(absl::StrCat("y", i));
      }
    }
    return absl::StrCat("x", k);
  }

  std::optional<Shape> ShapeOf(const std::string& tensor) const {
    const TensorName name = ParseTensorName(tensor);
    const tensorflow::NodeDef& node = *nodes_.at(name.node);
    if (IsConstant(node)) {
      return TensorFromProto(node.attr().at("value").tensor()).value().shape();
    }
    const auto it = shapes_.find(absl::StrCat(name.node, ":", name.index));
    if (it == shapes_.end()) return std::nullopt;
    return it->second;
  }

  static void AddConstantNode(const char* name, const Tensor& value,
                              tensorflow::FunctionDef* function) {
    tensorflow::NodeDef* const node = function->add_node_def();
    node->set_name(name);
    node->set_op("Const");
    AttrMapToProto({{"dtype", value.dtype()}, {"value", value}}, node->mutable_attr());
  }

  static void AddBinary(const char* name, const char* op, const char* x, const char* y,
                        tensorflow::FunctionDef* function) {
    tensorflow::NodeDef* const node = function->add_node_def();
    node->set_name(name);
    node->set_op(op);
    node->add_input(x);
    node->add_input(y);
    AttrMapToProto({{"T", DType::kInt32}}, node->mutable_attr());
  }

  // Puts `call` in place of the calls that are inside of the function now.
  void Replace(tensorflow::NodeDef call) {
    std::map<std::string, std::string> renamed;
    for (size_t i = 0; i < results_.size(); ++i) {
      renamed[results_[i].tensor] = absl::StrCat(call.name(), ":", first_result_ + i);
    }
    auto new_name = [&](const std::string& tensor) {
      const TensorName name = ParseTensorName(tensor);
      const auto it = renamed.find(absl::StrCat(name.node, ":", name.index));
      return it == renamed.end() ? tensor : it->second;
    };
    std::vector<tensorflow::NodeDef> before, after;
    for (const tensorflow::NodeDef& node : graph_.node()) {
      if (inside_.contains(node.name())) continue;
      const bool is_later = later_.contains(node.name()) || node.name() == "plan";
      (is_later ? after : before).push_back(node);
    }
    for (tensorflow::NodeDef& node : after) {
      for (std::string& input : *node.mutable_input()) {
        if (!IsControl(input)) {
          input = new_name(input);
        } else if (inside_.contains(input.substr(1))) {
          input = absl::StrCat("^", call.name());
        }
      }
      if (node.name() != "plan") continue;
      for (std::string& fetch : *(*node.mutable_attr())["_fetch"].mutable_list()->mutable_s()) {
        fetch = new_name(fetch);
      }
      auto* const targets = (*node.mutable_attr())["_target"].mutable_list()->mutable_s();
      targets->erase(std::remove_if(targets->begin(), targets->end(),
                                    [&](const std::string& t) { return inside_.contains(t); }),
                     targets->end());
      *targets->Add() = call.name();
    }
    graph_.clear_node();
    for (auto* part : {&new_nodes_, &before}) {
      for (tensorflow::NodeDef& node : *part) *graph_.add_node() = std::move(node);
    }
    *graph_.add_node() = std::move(call);
    for (tensorflow::NodeDef& node : after) *graph_.add_node() = std::move(node);
  }

  Random& random_;
  const int number_;
  const std::map<std::string, Shape>& shapes_;
  tensorflow::GraphDef& graph_;
  std::map<std::string, const tensorflow::NodeDef*> nodes_;
  std::set<std::string> inside_;                  // the calls that move
  std::set<std::string> later_;                   // nodes that depend on them
  std::vector<const tensorflow::NodeDef*> body_;  // of the function, in order
  std::vector<Argument> arguments_, results_;
  std::set<std::string> outside_controls_;
  std::vector<tensorflow::NodeDef> new_nodes_;
  int first_result_ = 0;  // the position of the first result among the outputs of the new call
};

}  // namespace

void OutlineSomeCalls(Random& random, int number, const std::map<std::string, Shape>& shapes,
                      tensorflow::GraphDef* graph) {
  // Fuzzers read only small constants.
  const auto is_readable = [](const tensorflow::NodeDef& node) {
    return !IsConstant(node) || TensorFromProto(node.attr().at("value").tensor()).ok();
  };
  if (!std::all_of(graph->node().begin(), graph->node().end(), is_readable)) return;
  Outliner(random, number, shapes, graph).Run();
}

}  // namespace tessera
