#include "runtime/graph/graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/function.h"

namespace tessera {
namespace {

// Inputs and outputs of one node: far beyond any real one's, so that a few bytes of a hostile graph
// cannot ask for gigabytes.
constexpr size_t kMaxEnds = 1 << 16;

// Returns where in `uses` a use is erased next, if users are taken in the order in which they were
// added, or in reverse. A hint that may be wrong: it belongs to no list in particular, but lists
// that are erased from in turn rarely share one.
size_t& PlaceHint(const std::vector<Use>& uses) {
  static thread_local std::array<size_t, 64> hints = {};
  return hints[absl::Hash<const void*>()(&uses) % hints.size()];
}

// Puts the last use in the place of the erased one. The search goes from the place of the latest
// erasure to both ends, so that a pass that takes the users of one output in turn needs no square
// of their number.
void EraseUse(std::vector<Use>& uses, const Use& use) {
  size_t& hint = PlaceHint(uses);
  size_t before = std::min(hint, uses.size()), after = before;
  while (before > 0 || after < uses.size()) {
    for (const bool is_after : {true, false}) {
      if (is_after ? after == uses.size() : before == 0) continue;
      const size_t at = is_after ? after++ : --before;
      if (!(uses[at] == use)) continue;
      uses[at] = uses.back();
      uses.pop_back();
      hint = at;
      return;
    }
  }
}

// Keeps the order of the rest: control edges are exported in it.
void EraseNode(std::vector<Node*>& list, Node* node) {
  auto it = std::find(list.begin(), list.end(), node);
  if (it != list.end()) list.erase(it);
}

std::string Describe(const Node& node) {
  return absl::StrCat("node '", node.name(), "' (", node.op_name(), ")");
}

absl::Status CheckName(absl::string_view name) {
  bool ok = !name.empty() && name[0] != '^';
  for (char c : name) ok = ok && c != ':' && static_cast<unsigned char>(c) > ' ';
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no name for a node: it is empty, starts with '^', or holds ",
                   "':' or a space"));
}

AttrValue EmptyListOf(absl::string_view type) {
  if (type == "list(int)") return std::vector<int64_t>();
  if (type == "list(float)") return std::vector<float>();
  if (type == "list(bool)") return std::vector<bool>();
  if (type == "list(string)") return std::vector<std::string>();
  if (type == "list(type)") return std::vector<DType>();
  if (type == "list(shape)") return std::vector<PartialShape>();
  if (type == "list(tensor)") return std::vector<Tensor>();
  if (type == "list(func)") return std::vector<FunctionRef>();
  return EmptyList{};
}

// On the wire an empty list has no element type; giving it the declared one makes equal nodes
// compare equal however they were written.
void TypeEmptyLists(const OpDef& op, AttrMap* attrs) {
  for (const AttrDef& def : op.attrs) {
    auto it = attrs->find(def.name);
    if (it != attrs->end() && it->second.get<EmptyList>()) it->second = EmptyListOf(def.type);
  }
}

// A reference can be read as a plain tensor, not the other way round.
bool CanFeed(DType output, DType input) {
  return output == input || (IsRef(output) && RemoveRef(output) == input);
}

absl::Status CheckEdge(const Endpoint& from, const Node& to, int input) {
  if (from.node == nullptr || from.index < 0 || from.index >= from.node->num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", input, " of ", Describe(to), " asks for output ", from.index, " of ",
                     from.node == nullptr ? "no node"
                                          : absl::StrCat(Describe(*from.node), ", which has ",
                                                         from.node->num_outputs(), " outputs")));
  }
  if (input < 0 || input >= to.num_inputs()) {
    return absl::InvalidArgumentError(absl::StrCat(Describe(to), " has ", to.num_inputs(),
                                                   " inputs, ", Describe(*from.node),
                                                   " cannot be connected to input ", input));
  }
  const DType output_type = from.node->output_type(from.index);
  const DType input_type = to.input_type(input);
  if (!CanFeed(output_type, input_type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", input, " of ", Describe(to), " must be ", DTypeName(input_type), ", but output ",
        from.index, " of ", Describe(*from.node), " is ", DTypeName(output_type)));
  }
  return absl::OkStatus();
}

}  // namespace

Graph::Graph(std::shared_ptr<const FunctionLibrary> library) : library_(std::move(library)) {}
Graph::~Graph() = default;

std::unique_ptr<Graph> Graph::Clone() const {
  auto copy = std::make_unique<Graph>(library_);
  copy->versions_ = versions_;
  copy->next_suffix_ = next_suffix_;
  copy->num_nodes_ = num_nodes_;
  copy->by_name_.reserve(num_nodes_);
  copy->nodes_.reserve(nodes_.size());
  for (const auto& node : nodes_) {
    copy->nodes_.push_back(node ? std::make_unique<Node>(*node) : nullptr);
    if (node) copy->by_name_.emplace(copy->nodes_.back()->name_, copy->nodes_.back().get());
  }
  auto moved = [&](Node* node) {
    return node == nullptr ? nullptr : copy->nodes_[node->id_].get();
  };
  for (auto& node : copy->nodes_) {
    if (node == nullptr) continue;
    for (Endpoint& input : node->inputs_) input.node = moved(input.node);
    for (std::vector<Use>& uses : node->uses_) {
      for (Use& use : uses) use.node = moved(use.node);
    }
    for (Node*& control : node->control_inputs_) control = moved(control);
    for (Node*& control : node->control_outputs_) control = moved(control);
  }
  return copy;
}

const OpDef* Graph::FindOp(absl::string_view name) const {
  if (library_ != nullptr) {
    if (const OpDef* signature = library_->FindSignature(name)) return signature;
  }
  return OpRegistry::Global().Find(name);
}

absl::StatusOr<Node*> Graph::AddNode(absl::string_view name, absl::string_view op_name,
                                     AttrMap attrs, absl::string_view device) {
  RETURN_IF_ERROR(CheckName(name));
  if (by_name_.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("there are two nodes '", name, "'"));
  }
  const OpDef* op = FindOp(op_name);
  if (op == nullptr) {
    return absl::NotFoundError(absl::StrCat("node '", name, "' uses op '", op_name,
                                            "', which is neither declared nor a function of the "
                                            "graph; custom ops load with --op_library=FILE.so"));
  }
  auto annotated = [&](const absl::Status& status) {
    return Annotate(status, absl::StrCat("node '", name, "': "));
  };
  if (auto s = CompleteAttrs(*op, &attrs); !s.ok()) return annotated(s);
  TypeEmptyLists(*op, &attrs);
  auto input_types = InputTypes(*op, attrs);
  if (!input_types.ok()) return annotated(input_types.status());
  auto output_types = OutputTypes(*op, attrs);
  if (!output_types.ok()) return annotated(output_types.status());
  if (input_types->size() > kMaxEnds || output_types->size() > kMaxEnds) {
    return annotated(absl::InvalidArgumentError(
        absl::StrCat("op ", op_name, " with ", input_types->size(), " inputs and ",
                     output_types->size(), " outputs; there may be ", kMaxEnds)));
  }

  auto node = std::make_unique<Node>();
  node->id_ = static_cast<int>(nodes_.size());
  node->name_ = std::string(name);
  node->op_ = op;
  node->attrs_ = std::move(attrs);
  node->device_ = std::string(device);
  node->input_types_ = *std::move(input_types);
  node->output_types_ = *std::move(output_types);
  node->inputs_.resize(node->input_types_.size());
  node->uses_.resize(node->output_types_.size());
  by_name_.emplace(node->name_, node.get());
  ++num_nodes_;
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

absl::StatusOr<Node*> Graph::AddNode(absl::string_view name, absl::string_view op, AttrMap attrs,
                                     const std::vector<Endpoint>& inputs,
                                     absl::string_view device) {
  ASSIGN_OR_RETURN(Node * node, AddNode(name, op, std::move(attrs), device));
  absl::Status status;
  if (static_cast<int>(inputs.size()) != node->num_inputs()) {
    status = absl::InvalidArgumentError(absl::StrCat(Describe(*node), " takes ", node->num_inputs(),
                                                     " inputs, not ", inputs.size()));
  }
  for (int i = 0; status.ok() && i < node->num_inputs(); ++i) {
    status = Connect(inputs[i], node, i);
  }
  if (!status.ok()) {
    Remove(node);
    return status;
  }
  return node;
}

absl::Status Graph::Connect(Endpoint from, Node* to, int input) {
  RETURN_IF_ERROR(CheckEdge(from, *to, input));
  DropInput(to, input);
  to->inputs_[input] = from;
  from.node->uses_[from.index].push_back(Use{to, input});
  return absl::OkStatus();
}

void Graph::DropInput(Node* node, int input) {
  Endpoint& from = node->inputs_[input];
  if (from.node == nullptr) return;
  EraseUse(from.node->uses_[from.index], Use{node, input});
  from = Endpoint{};
}

void Graph::AddControlEdge(Node* from, Node* to) {
  // The shorter list: an init op waits for thousands of nodes, each of which precedes few.
  const bool by_input = to->control_inputs_.size() < from->control_outputs_.size();
  const std::vector<Node*>& list = by_input ? to->control_inputs_ : from->control_outputs_;
  if (std::find(list.begin(), list.end(), by_input ? from : to) != list.end()) return;
  from->control_outputs_.push_back(to);
  to->control_inputs_.push_back(from);
}

void Graph::RemoveControlEdge(Node* from, Node* to) {
  EraseNode(from->control_outputs_, to);
  EraseNode(to->control_inputs_, from);
}

absl::Status Graph::ReplaceUses(Endpoint from, Endpoint to) {
  if (from == to) return absl::OkStatus();
  const std::vector<Use> uses = from.node->uses_[from.index];
  for (const Use& use : uses) RETURN_IF_ERROR(CheckEdge(to, *use.node, use.index));
  from.node->uses_[from.index].clear();
  for (const Use& use : uses) {
    use.node->inputs_[use.index] = to;
    to.node->uses_[to.index].push_back(use);
  }
  return absl::OkStatus();
}

void Graph::MoveControlOutputs(Node* from, Node* to) {
  if (from == to) return;
  const std::vector<Node*> outputs = std::move(from->control_outputs_);
  from->control_outputs_.clear();
  for (Node* output : outputs) {
    EraseNode(output->control_inputs_, from);
    if (output != to) AddControlEdge(to, output);
  }
}

void Graph::Remove(Node* node) {
  for (int i = 0; i < node->num_inputs(); ++i) DropInput(node, i);
  for (const std::vector<Use>& uses : node->uses_) {
    for (const Use& use : uses) use.node->inputs_[use.index] = Endpoint{};
  }
  for (Node* control : node->control_inputs_) EraseNode(control->control_outputs_, node);
  for (Node* control : node->control_outputs_) EraseNode(control->control_inputs_, node);
  by_name_.erase(node->name_);
  --num_nodes_;
  nodes_[node->id_].reset();
}

Node* Graph::FindNode(absl::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

absl::StatusOr<Endpoint> Graph::FindEndpoint(absl::string_view tensor_name) const {
  absl::string_view name;
  int index = 0;
  RETURN_IF_ERROR(ParseTensorName(tensor_name, &name, &index));
  Node* node = FindNode(name);
  if (node == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("tensor '", tensor_name, "': the graph has no node '", name, "'"));
  }
  if (index >= node->num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", tensor_name, "': ", Describe(*node),
                                                   " has ", node->num_outputs(), " outputs"));
  }
  return Endpoint{node, index};
}

std::string Graph::UniqueName(absl::string_view prefix) {
  if (!by_name_.contains(prefix)) return std::string(prefix);
  int& suffix = next_suffix_[std::string(prefix)];
  std::string name;
  do {
    name = absl::StrCat(prefix, "_", ++suffix);
  } while (by_name_.contains(name));
  return name;
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> all;
  all.reserve(num_nodes_);
  for (const auto& node : nodes_) {
    if (node) all.push_back(node.get());
  }
  return all;
}

absl::Status ParseTensorName(absl::string_view tensor_name, absl::string_view* node, int* index) {
  const size_t colon = tensor_name.rfind(':');
  *node = tensor_name.substr(0, colon);
  *index = 0;
  const bool index_ok =
      colon == absl::string_view::npos ||
      // SimpleAtoi would take signs and spaces as well.
      (colon + 1 < tensor_name.size() && tensor_name[colon + 1] >= '0' &&
       tensor_name[colon + 1] <= '9' && absl::SimpleAtoi(tensor_name.substr(colon + 1), index));
  if (node->empty() || (*node)[0] == '^' || !index_ok) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", tensor_name, "' is no tensor name: \"node\" or \"node:index\" is"));
  }
  return absl::OkStatus();
}

std::string TensorName(const Endpoint& endpoint) {
  if (endpoint.index == 0) return endpoint.node->name();
  return absl::StrCat(endpoint.node->name(), ":", endpoint.index);
}

}  // namespace tessera
