#include "runtime/graph/reference_reads.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/control_flow_nodes.h"
#include "runtime/graph/graph_algorithms.h"

namespace tessera {
namespace {

using EndpointKey = std::pair<Node*, int>;

// The outputs of a node that are one of its inputs, unchanged.
std::vector<Endpoint> HandedOn(Node* node, int input, ArgUse how) {
  std::vector<Endpoint> outputs;
  for (int i = 0; i < node->num_outputs(); ++i) {
    const bool is_same_type = RemoveRef(node->output_type(i)) == RemoveRef(node->input_type(input));
    const bool is_same_place = how == ArgUse::kRouted || i == input;
    if (is_same_type && is_same_place) outputs.push_back({node, i});
  }
  return outputs;
}

// A v1 variable as a graph uses it.
struct ReferenceUses {
  std::vector<Use> reads;  // by nodes that hand on its value
  std::vector<Node*> writers;
};

// Follows the references of a variable, also through writers and nodes that hand them on.
ReferenceUses FindUses(Endpoint reference) {
  ReferenceUses found;
  std::set<EndpointKey> seen;
  std::vector<Endpoint> pending = {reference};
  while (!pending.empty()) {
    const Endpoint from = pending.back();
    pending.pop_back();
    if (!seen.emplace(from.node, from.index).second) continue;
    for (const Use& use : from.node->uses(from.index)) {
      const ArgUse how = InputUse(use.node->op(), use.node->attrs(), use.index);
      const bool is_writer = how == ArgUse::kWritten && IsRef(use.node->input_type(use.index));
      const bool hands_on = how == ArgUse::kForwarded || how == ArgUse::kRouted;
      if (is_writer) found.writers.push_back(use.node);
      bool is_read = false;
      // A writer gives the reference that it has updated through any of its outputs.
      for (const Endpoint& output :
           HandedOn(use.node, use.index, is_writer ? ArgUse::kRouted : how)) {
        const bool gives_reference = IsRef(output.node->output_type(output.index));
        if ((hands_on || is_writer) && gives_reference) pending.push_back(output);
        is_read |= hands_on && !gives_reference;
      }
      if (is_read) found.reads.push_back(use);
    }
  }
  return found;
}

// Indexed by node id: whether the node runs behind `start`, in another iteration of a loop too if
// `with_back_edges`.
std::vector<bool> Descendants(const Graph& graph, Node* start, bool with_back_edges) {
  std::vector<bool> reached(graph.id_bound());
  std::vector<Node*> pending = {start};
  auto visit = [&](Node* node) {
    if (reached[node->id()]) return;
    reached[node->id()] = true;
    pending.push_back(node);
  };
  while (!pending.empty()) {
    Node* const node = pending.back();
    pending.pop_back();
    if (!with_back_edges && IsNextIteration(*node)) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      for (const Use& use : node->uses(i)) visit(use.node);
    }
    for (Node* next : node->control_outputs()) visit(next);
  }
  return reached;
}

// Rewires the uses of one variable's value.
class Rewiring {
 public:
  Rewiring(Graph* graph, ReferenceUses uses) : graph_(*graph), uses_(std::move(uses)) {
    for (Node* writer : uses_.writers) {
      behind_.push_back(Descendants(graph_, writer, true));
      behind_at_once_.push_back(Descendants(graph_, writer, false));
    }
  }

  absl::Status Run() {
    for (const Use& read : uses_.reads) FindStale(read);
    for (const StaleUse& stale : stale_) RETURN_IF_ERROR(Rewire(stale));
    return absl::OkStatus();
  }

 private:
  // Where a value was read, and the Enter nodes through which it has gone since.
  struct Origin {
    Endpoint reference;
    std::vector<Node*> enters;
  };

  struct StaleUse {
    Use use;
    Endpoint value;
    Origin origin;
    std::vector<Node*> waits;  // inputs of the user that are behind a writer which `value` is not
  };

  // Finds the stale uses of what the node of `read` hands on, and of what their nodes hand on.
  void FindStale(const Use& read) {
    std::vector<std::pair<Use, Origin>> pending = {{read, {read.node->input(read.index), {}}}};
    while (!pending.empty()) {
      auto [through, origin] = std::move(pending.back());
      pending.pop_back();
      Node* const node = through.node;
      if (node->IsOp("Enter")) origin.enters.push_back(node);
      for (const Endpoint& value : ValuesHandedOn(through)) {
        for (const Use& use : node->uses(value.index)) {
          std::vector<Node*> waits = InputsBehindWriters(*use.node, *node);
          if (!waits.empty()) stale_.push_back({use, value, origin, std::move(waits)});
          pending.emplace_back(use, origin);
        }
      }
    }
  }

  // The outputs that are the input of a node whenever they are anything. Where paths come together
  // the value of one of them goes on, and a loop's variables change.
  static std::vector<Endpoint> ValuesHandedOn(const Use& use) {
    Node* const node = use.node;
    const ArgUse how = InputUse(node->op(), node->attrs(), use.index);
    const bool is_handed_on =
        how == ArgUse::kForwarded || (how == ArgUse::kRouted && IsBranch(*node)) ||
        (node->IsOp("Enter") && node->attr<bool>("is_constant").value_or(false));
    if (!is_handed_on) return {};
    std::vector<Endpoint> values = HandedOn(node, use.index, how);
    std::erase_if(values, [&](const Endpoint& e) { return IsRef(node->output_type(e.index)); });
    return values;
  }

  // The inputs of `user` that run behind a writer, which `from` does not.
  std::vector<Node*> InputsBehindWriters(const Node& user, const Node& from) const {
    std::vector<Node*> waits;
    if (IsMerge(user)) return waits;  // it waits for one of its inputs only
    auto add = [&](Node* input) {
      if (input == nullptr || input == &from) return;
      for (size_t i = 0; i < behind_.size(); ++i) {
        const bool is_writer = input == uses_.writers[i];
        if ((is_writer || behind_[i][input->id()]) && !behind_at_once_[i][from.id()]) {
          waits.push_back(input);
          return;
        }
      }
    };
    for (const Endpoint& input : user.inputs()) add(input.node);
    for (Node* input : user.control_inputs()) add(input);
    std::sort(waits.begin(), waits.end(),
              [](const Node* a, const Node* b) { return a->id() < b->id(); });
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    return waits;
  }

  absl::Status Rewire(const StaleUse& stale) {
    Node*& late = late_[{{stale.value.node, stale.value.index}, stale.waits}];
    if (late == nullptr) {
      ASSIGN_OR_RETURN(const Endpoint reference, ReferenceWhere(stale.origin));
      Node* const from = stale.value.node;
      const DType type = RemoveRef(from->output_type(stale.value.index));
      ASSIGN_OR_RETURN(late, graph_.AddNode(graph_.UniqueName(from->name()), "Identity",
                                            {{"T", type}, WithVariable(reference)}, {reference},
                                            reference.node->device()));
      for (Node* wait : stale.waits) graph_.AddControlEdge(wait, late);
      // An Identity which waits for nothing gives only what the new one gives, too.
      const bool is_plain_read = from->input(0) == reference && from->num_outputs() == 1;
      if (!is_plain_read || !from->control_inputs().empty()) {
        ASSIGN_OR_RETURN(Node* const alive, Alive(stale.value));
        graph_.AddControlEdge(alive, late);
      }
    }
    return graph_.Connect({late, 0}, stale.use.node, stale.use.index);
  }

  // Another device would be sent the value as soon as the reference is there.
  static std::pair<std::string, AttrValue> WithVariable(const Endpoint& reference) {
    return {"_class", std::vector<std::string>{absl::StrCat("loc:@", reference.node->name())}};
  }

  // The reference in the loop into which the value has gone.
  absl::StatusOr<Endpoint> ReferenceWhere(const Origin& origin) {
    Endpoint reference = origin.reference;
    for (Node* enter : origin.enters) {
      Node*& inner = entered_[{{reference.node, reference.index}, enter}];
      if (inner == nullptr) {
        AttrMap attrs = enter->attrs();
        attrs["T"] = RemoveRef(reference.node->output_type(reference.index));
        auto [name, value] = WithVariable(reference);
        attrs.insert_or_assign(std::move(name), std::move(value));
        ASSIGN_OR_RETURN(
            inner, graph_.AddNode(graph_.UniqueName(enter->name()), "RefEnter", std::move(attrs),
                                  {reference}, reference.node->device()));
        // A loop in a branch is entered if the branch is taken.
        ASSIGN_OR_RETURN(Node* const alive, Alive(enter->input(0)));
        graph_.AddControlEdge(alive, inner);
      }
      reference = {inner, 0};
    }
    return reference;
  }

  // A node to wait for which runs if and only if `value` is computed: the one that gives it, but
  // for a Switch, which runs whichever output it gives.
  absl::StatusOr<Node*> Alive(Endpoint value) {
    if (!IsBranch(*value.node)) return value.node;
    Node*& branch = branches_[{value.node, value.index}];
    if (branch == nullptr) {
      const DType type = RemoveRef(value.node->output_type(value.index));
      ASSIGN_OR_RETURN(branch, graph_.AddNode(graph_.UniqueName(value.node->name()), "Identity",
                                              {{"T", type}}, {value}, value.node->device()));
    }
    return branch;
  }

  Graph& graph_;
  const ReferenceUses uses_;
  // For each writer: what runs behind it, and that without another iteration of a loop.
  std::vector<std::vector<bool>> behind_;
  std::vector<std::vector<bool>> behind_at_once_;
  std::vector<StaleUse> stale_;
  std::map<std::pair<EndpointKey, std::vector<Node*>>, Node*> late_;
  std::map<std::pair<EndpointKey, Node*>, Node*> entered_;
  std::map<EndpointKey, Node*> branches_;
};

}  // namespace

absl::Status ReadReferencesBehindWrites(Graph* graph) {
  std::vector<ReferenceUses> variables;
  for (Node* node : graph->nodes()) {
    // Other outputs that are references hand one on.
    if (!node->op().Has(OpTrait::kMakesResource)) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (!IsRef(node->output_type(i))) continue;
      ReferenceUses uses = FindUses({node, i});
      if (!uses.writers.empty() && !uses.reads.empty()) variables.push_back(std::move(uses));
    }
  }
  // The executor refuses a graph with cycles outside of loops, and says why.
  if (variables.empty() || !CheckAcyclic(*graph).ok()) return absl::OkStatus();
  for (ReferenceUses& uses : variables) RETURN_IF_ERROR(Rewiring(graph, std::move(uses)).Run());
  return absl::OkStatus();
}

}  // namespace tessera
