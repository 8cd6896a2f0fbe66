#include "runtime/graph/unknown_ops.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

bool IsAllowed(const AttrDef& def, const AttrValue& value) {
  const auto is_allowed = [&](DType dtype) {
    return std::find(def.allowed_types.begin(), def.allowed_types.end(), dtype) !=
           def.allowed_types.end();
  };
  if (def.allowed_types.empty()) return true;
  if (const DType* const dtype = value.get<DType>()) return is_allowed(*dtype);
  const auto* const dtypes = value.get<std::vector<DType>>();
  return dtypes == nullptr || std::all_of(dtypes->begin(), dtypes->end(), is_allowed);
}

}  // namespace

std::string WhyDTypeIsNotAllowed(const OpDef& op, const AttrMap& attrs) {
  const bool is_allowed = std::all_of(op.attrs.begin(), op.attrs.end(), [&](const AttrDef& def) {
    const auto it = attrs.find(def.name);
    return it == attrs.end() || IsAllowed(def, it->second);
  });
  if (is_allowed) return "";
  AttrMap completed = attrs;
  return std::string(CompleteAttrs(op, &completed).message());
}

int UnknownOps::Add(absl::string_view name, absl::string_view op, AttrMap attrs,
                    absl::string_view device) {
  const int number = static_cast<int>(nodes_.size());
  Unknown node;
  node.name = std::string(name);
  node.op = std::string(op);
  node.device = std::string(device);
  node.attrs = std::move(attrs);
  nodes_.push_back(std::move(node));
  numbers_.emplace(name, number);
  return number;
}

int UnknownOps::Find(absl::string_view name) const {
  auto it = numbers_.find(name);
  return it == numbers_.end() ? -1 : it->second;
}

void UnknownOps::NoteOutput(Unknown& node, int output) {
  if (output >= static_cast<int>(node.output_types.size())) {
    node.output_types.resize(output + 1, DType::kInvalid);
  }
}

void UnknownOps::ConnectTo(int to, Endpoint from) {
  nodes_[to].inputs.push_back(Source{.known = from});
}

void UnknownOps::ConnectTo(int to, int from, int output) {
  NoteOutput(nodes_[from], output);
  nodes_[to].inputs.push_back(Source{.unknown = from, .output = output});
}

void UnknownOps::ConnectFrom(int from, int output, Use to) {
  NoteOutput(nodes_[from], output);
  nodes_[from].uses.emplace_back(output, to);
}

void UnknownOps::AddControlTo(int to, Node* from) { nodes_[to].controls_in.push_back(from); }
void UnknownOps::AddControlFrom(int from, Node* to) { nodes_[from].controls_out.push_back(to); }
void UnknownOps::AddControl(int from, int to) { nodes_[to].unknown_controls_in.push_back(from); }

absl::Status UnknownOps::DeduceOutputs(Unknown& node) {
  for (const auto& [output, use] : node.uses) {
    const DType wanted = use.node->input_type(use.index);
    DType& type = node.output_types[output];
    if (type == DType::kInvalid || MakeRef(type) == wanted) {
      type = wanted;  // what gives a reference serves who wants a plain tensor as well
    } else if (RemoveRef(type) != RemoveRef(wanted)) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", output, " of node '", node.name, "' (", node.op,
                       ", an unknown op) is used as ", DTypeName(type), " and, by node '",
                       use.node->name(), "', as ", DTypeName(wanted)));
    }
  }
  return absl::OkStatus();
}

absl::Status UnknownOps::CreateNodes() {
  for (Unknown& node : nodes_) RETURN_IF_ERROR(DeduceOutputs(node));
  for (Unknown& node : nodes_) {
    std::vector<DType> input_types;
    for (const Source& source : node.inputs) {
      input_types.push_back(source.known.node != nullptr
                                ? source.known.node->output_type(source.known.index)
                                : nodes_[source.unknown].output_types[source.output]);
    }
    AttrMap attrs = node.attrs;
    attrs.insert_or_assign("_op", AttrValue(node.op));
    attrs.insert_or_assign("_inputs", AttrValue(std::move(input_types)));
    attrs.insert_or_assign("_outputs", AttrValue(node.output_types));
    ASSIGN_OR_RETURN(node.created,
                     graph_->AddNode(node.name, kUnsupportedOp, std::move(attrs), node.device));
  }
  for (const Unknown& node : nodes_) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Source& source = node.inputs[i];
      const Endpoint from = source.known.node != nullptr
                                ? source.known
                                : Endpoint{nodes_[source.unknown].created, source.output};
      RETURN_IF_ERROR(graph_->Connect(from, node.created, static_cast<int>(i)));
    }
    for (const auto& [output, use] : node.uses) {
      RETURN_IF_ERROR(graph_->Connect(Endpoint{node.created, output}, use.node, use.index));
    }
    for (Node* from : node.controls_in) graph_->AddControlEdge(from, node.created);
    for (Node* to : node.controls_out) graph_->AddControlEdge(node.created, to);
    for (int from : node.unknown_controls_in) {
      graph_->AddControlEdge(nodes_[from].created, node.created);
    }
  }
  return absl::OkStatus();
}

absl::Status UnknownOps::NotFound() const {
  std::map<std::string, std::vector<std::string>> by_op;
  for (const Unknown& node : nodes_) by_op[node.op].push_back(absl::StrCat("'", node.name, "'"));
  return absl::NotFoundError(absl::StrCat(
      by_op.size(), by_op.size() == 1 ? " op is unknown: " : " ops are unknown: ",
      absl::StrJoin(by_op, ", ",
                    [](std::string* out, const auto& op) {
                      absl::StrAppend(out, op.first, op.second.size() == 1 ? " (node " : " (nodes ",
                                      absl::StrJoin(op.second, ", "), ")");
                    }),
      "; custom ops load with --op_library=FILE.so"));
}

}  // namespace tessera
