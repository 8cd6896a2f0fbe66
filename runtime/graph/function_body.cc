#include "runtime/graph/function_body.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/side_effects.h"
#include "runtime/graph/unknown_ops.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera {
namespace {

absl::Status Substitute(const AttrMap& values, AttrMap* attrs);

absl::Status SubstituteIn(const AttrMap& values, AttrValue* value) {
  if (const auto* placeholder = value->get<AttrPlaceholder>()) {
    auto it = values.find(placeholder->name);
    if (it == values.end()) {
      return absl::InvalidArgumentError(absl::StrCat("it stands for attribute '", placeholder->name,
                                                     "', which the call does not give"));
    }
    *value = AttrValue(it->second);
  } else if (const auto* function = value->get<FunctionRef>()) {
    FunctionRef substituted = *function;
    RETURN_IF_ERROR(Substitute(values, &substituted.attrs));
    *value = std::move(substituted);
  } else if (const auto* functions = value->get<std::vector<FunctionRef>>()) {
    std::vector<FunctionRef> substituted = *functions;
    for (FunctionRef& f : substituted) RETURN_IF_ERROR(Substitute(values, &f.attrs));
    *value = std::move(substituted);
  }
  return absl::OkStatus();
}

// Replaces placeholders by the values of the instantiation.
absl::Status Substitute(const AttrMap& values, AttrMap* attrs) {
  for (auto& [name, value] : *attrs) {
    if (auto s = SubstituteIn(values, &value); !s.ok()) {
      return Annotate(s, absl::StrCat("attribute '", name, "': "));
    }
  }
  return absl::OkStatus();
}

// An output of the body: of a known node, or of one whose op is unknown.
struct Source {
  Endpoint known;
  int unknown = -1;
  int output = 0;
};

// "node:output:2" or "node:output"; an argument is "arg" or "arg:2".
struct Reference {
  absl::string_view node;
  absl::string_view output;  // empty for arguments
  int index = -1;            // -1: all tensors of the output
};

absl::StatusOr<Reference> ParseReference(absl::string_view text) {
  Reference reference;
  const size_t first = text.find(':');
  reference.node = text.substr(0, first);
  absl::string_view rest = first == absl::string_view::npos ? "" : text.substr(first + 1);
  const size_t second = rest.find(':');
  absl::string_view index;
  int number = 0;
  if (second != absl::string_view::npos) {
    reference.output = rest.substr(0, second);
    index = rest.substr(second + 1);
  } else if (absl::SimpleAtoi(rest, &number)) {
    index = rest;
  } else {
    reference.output = rest;
  }
  if (!index.empty() && (!absl::SimpleAtoi(index, &reference.index) || reference.index < 0)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no reference to an output"));
  }
  return reference;
}

class BodyBuilder {
 public:
  BodyBuilder(const tensorflow::FunctionDef& definition, const OpDef& signature, AttrMap attrs,
              std::shared_ptr<const FunctionLibrary> library)
      : definition_(definition),
        signature_(signature),
        attrs_(std::move(attrs)),
        graph_(std::make_unique<Graph>(std::move(library))),
        unknown_(graph_.get()) {}

  absl::StatusOr<FunctionBody> Build() && {
    RETURN_IF_ERROR(CompleteAttrs(signature_, &attrs_));
    nodes_.reserve(definition_.node_def_size());
    for (const tensorflow::NodeDef& node : definition_.node_def()) RETURN_IF_ERROR(AddNode(node));
    RETURN_IF_ERROR(AddArgs());
    for (int i = 0; i < definition_.node_def_size(); ++i) {
      const tensorflow::NodeDef& node = definition_.node_def(i);
      if (auto s = ConnectInputs(node, nodes_[i]); !s.ok()) return AtNode(node, s);
    }
    RETURN_IF_ERROR(AddResults());
    RETURN_IF_ERROR(unknown_.CreateNodes());
    RETURN_IF_ERROR(AddControlResults());
    RETURN_IF_ERROR(CheckAcyclic(*graph_));
    std::vector<Node*> roots = body_.args;
    roots.insert(roots.end(), body_.results.begin(), body_.results.end());
    roots.insert(roots.end(), body_.control_results.begin(), body_.control_results.end());
    RemoveAllBut(graph_.get(), roots);
    body_.graph = std::move(graph_);
    return std::move(body_);
  }

 private:
  static absl::Status AtNode(const tensorflow::NodeDef& node, const absl::Status& status) {
    return absl::InvalidArgumentError(
        absl::StrCat("node '", node.name(), "' (", node.op(), "): ", status.message()));
  }

  // The nodes that stand for arguments and results are made of the signature.
  static bool IsEndOfBody(absl::string_view op) {
    return op == "_Arg" || op == "_DeviceArg" || op == "_Retval" || op == "_DeviceRetval";
  }

  absl::Status AddNode(const tensorflow::NodeDef& node) {
    if (IsEndOfBody(node.op())) {
      return AtNode(node, absl::InvalidArgumentError("a function has no nodes of this op"));
    }
    auto attrs = AttrMapFromProto(node.attr());
    if (!attrs.ok()) return AtNode(node, attrs.status());
    if (auto s = Substitute(attrs_, &*attrs); !s.ok()) return AtNode(node, s);
    if (unknown_.Find(node.name()) >= 0) return AtNode(node, TwoOfTheName());
    const OpDef* const op = graph_->FindOp(node.op());
    const std::string reason = op == nullptr ? "" : WhyDTypeIsNotAllowed(*op, *attrs);
    if (!reason.empty()) attrs->insert_or_assign("_unsupported", AttrValue(reason));
    if (op == nullptr || !reason.empty()) {
      if (graph_->FindNode(node.name()) != nullptr) return AtNode(node, TwoOfTheName());
      unknown_.Add(node.name(), node.op(), *std::move(attrs), node.device());
      nodes_.push_back(nullptr);
      return absl::OkStatus();
    }
    auto added = graph_->AddNode(node.name(), node.op(), *std::move(attrs), node.device());
    if (!added.ok()) return absl::InvalidArgumentError(added.status().message());
    nodes_.push_back(*added);
    return absl::OkStatus();
  }
  static absl::Status TwoOfTheName() {
    return absl::InvalidArgumentError("there is another node or argument of this name");
  }

  // How many tensors an argument or result stands for; the attributes are complete.
  absl::StatusOr<int> CountOf(const ArgDef& arg) const {
    if (!arg.type_list_attr.empty()) {
      ASSIGN_OR_RETURN(const auto types, GetAttr<std::vector<DType>>(attrs_, arg.type_list_attr));
      return static_cast<int>(types.size());
    }
    if (arg.number_attr.empty()) return 1;
    ASSIGN_OR_RETURN(const int64_t count, GetAttr<int64_t>(attrs_, arg.number_attr));
    return static_cast<int>(count);
  }

  // One `_Arg` node for each tensor of each declared argument.
  absl::Status AddArgs() {
    ASSIGN_OR_RETURN(body_.arg_types, InputTypes(signature_, attrs_));
    ArgRange range;
    for (const ArgDef& arg : signature_.inputs) {
      if (graph_->FindNode(arg.name) != nullptr || unknown_.Find(arg.name) >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", arg.name, "' is an argument and a node"));
      }
      // Not looked up by name: functions that restore a model take each of its variables.
      ASSIGN_OR_RETURN(const int count, CountOf(arg));
      range = {range.end, range.end + count};
      const bool is_list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
      arg_ranges_.emplace(arg.name, range);
      for (int i = range.begin; i < range.end; ++i) {
        const std::string name =
            is_list ? graph_->UniqueName(absl::StrCat(arg.name, "_", i - range.begin)) : arg.name;
        AttrMap attrs = {{"T", body_.arg_types[i]}, {"index", i}};
        ASSIGN_OR_RETURN(Node * node, graph_->AddNode(name, "_Arg", std::move(attrs)));
        body_.args.push_back(node);
      }
    }
    return absl::OkStatus();
  }

  // `to` is null for a node of an unknown op.
  absl::Status ConnectInputs(const tensorflow::NodeDef& node, Node* to) {
    const int unknown_to = to == nullptr ? unknown_.Find(node.name()) : -1;
    int position = 0;
    std::vector<Source> sources;
    for (const std::string& input : node.input()) {
      if (!input.empty() && input[0] == '^') {
        RETURN_IF_ERROR(ConnectControl(absl::string_view(input).substr(1), to, unknown_to));
        continue;
      }
      sources.clear();
      RETURN_IF_ERROR(Resolve(input, &sources));
      for (const Source& source : sources) {
        if (to != nullptr && position >= to->num_inputs()) return WrongCount(*to);
        RETURN_IF_ERROR(Connect(source, to, unknown_to, position++));
      }
    }
    if (to != nullptr && position < to->num_inputs()) return WrongCount(*to);
    return absl::OkStatus();
  }

  absl::Status Connect(const Source& source, Node* to, int unknown_to, int position) {
    if (source.known.node != nullptr) {
      if (to != nullptr) return graph_->Connect(source.known, to, position);
      unknown_.ConnectTo(unknown_to, source.known);
    } else if (to != nullptr) {
      unknown_.ConnectFrom(source.unknown, source.output, Use{to, position});
    } else {
      unknown_.ConnectTo(unknown_to, source.unknown, source.output);
    }
    return absl::OkStatus();
  }

  absl::Status ConnectControl(absl::string_view name, Node* to, int unknown_to) {
    Node* from = graph_->FindNode(name);
    const int unknown_from = from == nullptr ? unknown_.Find(name) : -1;
    if (from == nullptr && unknown_from < 0) return NoSuch(absl::StrCat("^", name));
    if (from != nullptr && to != nullptr) {
      graph_->AddControlEdge(from, to);
    } else if (from != nullptr) {
      unknown_.AddControlTo(unknown_to, from);
    } else if (to != nullptr) {
      unknown_.AddControlFrom(unknown_from, to);
    } else {
      unknown_.AddControl(unknown_from, unknown_to);
    }
    return absl::OkStatus();
  }

  static absl::Status NoSuch(absl::string_view reference) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", reference, "' is neither an argument nor an output of the function's nodes"));
  }
  static absl::Status WrongCount(const Node& node) {
    return absl::InvalidArgumentError(
        absl::StrCat("it does not have the ", node.num_inputs(), " inputs that the op takes"));
  }

  // Appends what `text` refers to.
  absl::Status Resolve(absl::string_view text, std::vector<Source>* sources) {
    ASSIGN_OR_RETURN(const Reference reference, ParseReference(text));
    ArgRange range;
    Node* node = nullptr;
    if (auto arg = arg_ranges_.find(reference.node); arg != arg_ranges_.end()) {
      if (!reference.output.empty()) return NoSuch(text);
      range = arg->second;
    } else if ((node = graph_->FindNode(reference.node)) != nullptr) {
      if (reference.output.empty()) return NoSuch(text);
      auto declared = OutputRange(node->op(), node->attrs(), reference.output);
      if (!declared.ok()) return NoSuch(text);
      range = *declared;
    } else if (int unknown = unknown_.Find(reference.node); unknown >= 0) {
      sources->push_back(Source{.unknown = unknown, .output = UnknownOutput(unknown, reference)});
      return absl::OkStatus();
    } else {
      return NoSuch(text);
    }
    if (reference.index >= 0) {
      if (reference.index >= range.size()) return NoSuch(text);
      range = {range.begin + reference.index, range.begin + reference.index + 1};
    }
    for (int i = range.begin; i < range.end; ++i) {
      sources->push_back(
          Source{.known = node == nullptr ? Endpoint{body_.args[i], 0} : Endpoint{node, i}});
    }
    return absl::OkStatus();
  }

  // Where the outputs of an unknown op lie cannot be known: they are numbered as they are met.
  int UnknownOutput(int unknown, const Reference& reference) {
    auto& outputs = unknown_outputs_[unknown];
    const std::string key = absl::StrCat(reference.output, ":", std::max(reference.index, 0));
    return outputs.emplace(key, static_cast<int>(outputs.size())).first->second;
  }

  absl::Status AddResults() {
    ASSIGN_OR_RETURN(body_.result_types, OutputTypes(signature_, attrs_));
    std::vector<Source> sources;
    for (const ArgDef& output : signature_.outputs) {
      auto it = definition_.ret().find(output.name);
      if (it == definition_.ret().end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the function does not say where result '", output.name, "' comes from"));
      }
      sources.clear();
      if (auto s = Resolve(it->second, &sources); !s.ok()) {
        return Annotate(s, absl::StrCat("result '", output.name, "': "));
      }
      ASSIGN_OR_RETURN(const int count, CountOf(output));
      if (count != static_cast<int>(sources.size())) {
        return absl::InvalidArgumentError(absl::StrCat("result '", output.name, "' has ", count,
                                                       " tensors, '", it->second, "' are ",
                                                       sources.size()));
      }
      for (const Source& source : sources) {
        const int index = static_cast<int>(body_.results.size());
        AttrMap attrs = {{"T", body_.result_types[index]}, {"index", index}};
        ASSIGN_OR_RETURN(Node * node,
                         graph_->AddNode(graph_->UniqueName(absl::StrCat(output.name, "_RetVal")),
                                         "_Retval", std::move(attrs)));
        body_.results.push_back(node);
        RETURN_IF_ERROR(Connect(source, node, -1, 0));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddControlResults() {
    std::vector<Node*>& roots = body_.control_results;
    for (const std::string& name : signature_.control_outputs) {
      auto it = definition_.control_ret().find(name);
      Node* node = it == definition_.control_ret().end() ? nullptr : graph_->FindNode(it->second);
      if (node == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("control result '", name, "' names no node of the function"));
      }
      if (std::find(roots.begin(), roots.end(), node) == roots.end()) roots.push_back(node);
    }
    for (Node* node : graph_->nodes()) {
      if (HasSideEffect(*node, graph_->library().get()) &&
          std::find(roots.begin(), roots.end(), node) == roots.end()) {
        roots.push_back(node);
      }
    }
    return absl::OkStatus();
  }

  const tensorflow::FunctionDef& definition_;
  const OpDef& signature_;
  AttrMap attrs_;
  std::unique_ptr<Graph> graph_;
  UnknownOps unknown_;
  std::vector<Node*> nodes_;  // one a NodeDef; null for an unknown op
  absl::flat_hash_map<std::string, ArgRange> arg_ranges_;
  absl::flat_hash_map<int, absl::flat_hash_map<std::string, int>> unknown_outputs_;
  FunctionBody body_;
};

}  // namespace

absl::StatusOr<FunctionBody> BuildFunctionBody(const tensorflow::FunctionDef& definition,
                                               const OpDef& signature, AttrMap attrs,
                                               std::shared_ptr<const FunctionLibrary> library) {
  auto body = BodyBuilder(definition, signature, std::move(attrs), std::move(library)).Build();
  if (body.ok()) return body;
  return Annotate(body.status(), absl::StrCat("function '", signature.name, "': "));
}

}  // namespace tessera
