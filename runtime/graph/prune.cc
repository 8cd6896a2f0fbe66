#include "runtime/graph/prune.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

absl::StatusOr<Endpoint> Find(const Graph& graph, absl::string_view name, absl::string_view role) {
  auto found = graph.FindEndpoint(name);
  if (found.ok()) return found;
  return Annotate(found.status(), absl::StrCat(role, " "));
}

// Copies what a signature needs, walking from fetches and targets to the feeds.
class Pruner {
 public:
  Pruner(const Graph& graph, const RunSignature& signature)
      : graph_(graph),
        signature_(signature),
        needed_(graph.id_bound(), false),
        copies_(graph.id_bound(), nullptr) {}

  absl::StatusOr<PrunedGraph> Prune() && {
    RETURN_IF_ERROR(FindEnds());
    for (const Endpoint& fetch : fetches_) VisitData(fetch);
    for (Node* target : targets_) Visit(target);
    while (!stack_.empty()) {
      const Node* node = stack_.back();
      stack_.pop_back();
      for (const Endpoint& input : node->inputs()) {
        if (input.node != nullptr) VisitData(input);
      }
      for (Node* control : node->control_inputs()) {
        if (!IsFedPlaceholder(control)) Visit(control);
      }
    }
    pruned_.graph = std::make_unique<Graph>(graph_.library());
    pruned_.graph->set_versions(graph_.versions());
    RETURN_IF_ERROR(CopyNodes());
    RETURN_IF_ERROR(AddArgs());
    RETURN_IF_ERROR(CopyEdges());
    RETURN_IF_ERROR(AddResults());
    return std::move(pruned_);
  }

 private:
  absl::Status FindEnds() {
    for (const std::string& feed : signature_.feeds) {
      ASSIGN_OR_RETURN(const Endpoint fed, Find(graph_, feed, "feed"));
      if (!fed_.emplace(fed, static_cast<int>(fed_.size())).second) {
        return absl::InvalidArgumentError(absl::StrCat("feed '", feed, "' is fed twice"));
      }
    }
    for (const std::string& fetch : signature_.fetches) {
      ASSIGN_OR_RETURN(const Endpoint fetched, Find(graph_, fetch, "fetch"));
      fetches_.push_back(fetched);
    }
    for (const std::string& target : signature_.targets) {
      Node* node = graph_.FindNode(target);
      if (node == nullptr) {
        return absl::NotFoundError(
            absl::StrCat("target '", target, "': the graph has no such node"));
      }
      targets_.push_back(node);
    }
    return absl::OkStatus();
  }

  // A fed placeholder does not run, since it could only fail: who waits for it waits for the feed.
  bool IsFedPlaceholder(Node* node) const {
    return node->op().Has(OpTrait::kFromCaller) && fed_.contains(Endpoint{node, 0});
  }

  void Visit(Node* node) {
    if (needed_[node->id()]) return;
    needed_[node->id()] = true;
    stack_.push_back(node);
  }
  void VisitData(const Endpoint& endpoint) {
    if (!fed_.contains(endpoint)) Visit(endpoint.node);
  }

  absl::Status CopyNodes() {
    for (int id = 0; id < graph_.id_bound(); ++id) {
      if (!needed_[id] || IsFedPlaceholder(graph_.node(id))) continue;
      const Node& node = *graph_.node(id);
      ASSIGN_OR_RETURN(copies_[id], pruned_.graph->AddNode(node.name(), node.op_name(),
                                                           node.attrs(), node.device()));
    }
    return absl::OkStatus();
  }

  absl::Status AddArgs() {
    pruned_.args.resize(fed_.size());
    for (const auto& [fed, index] : fed_) {
      const std::string name =
          pruned_.graph->UniqueName(absl::StrCat("_arg_", fed.node->name(), "_", fed.index));
      AttrMap attrs = {{"T", RemoveRef(fed.node->output_type(fed.index))}, {"index", index}};
      ASSIGN_OR_RETURN(pruned_.args[index], pruned_.graph->AddNode(name, "_Arg", std::move(attrs)));
    }
    return absl::OkStatus();
  }

  Endpoint CopyOf(const Endpoint& endpoint) const {
    if (auto it = fed_.find(endpoint); it != fed_.end()) return {pruned_.args[it->second], 0};
    return {copies_[endpoint.node->id()], endpoint.index};
  }
  Node* CopyOf(Node* node) const {
    if (IsFedPlaceholder(node)) return pruned_.args[fed_.at(Endpoint{node, 0})];
    return copies_[node->id()];
  }

  absl::Status CopyEdges() {
    for (int id = 0; id < graph_.id_bound(); ++id) {
      Node* copy = copies_[id];
      if (copy == nullptr) continue;
      const Node& node = *graph_.node(id);
      for (int i = 0; i < node.num_inputs(); ++i) {
        if (node.input(i).node == nullptr) continue;
        RETURN_IF_ERROR(pruned_.graph->Connect(CopyOf(node.input(i)), copy, i));
      }
      for (Node* control : node.control_inputs()) {
        pruned_.graph->AddControlEdge(CopyOf(control), copy);
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddResults() {
    for (size_t i = 0; i < fetches_.size(); ++i) {
      const Endpoint& fetch = fetches_[i];
      const std::string name =
          pruned_.graph->UniqueName(absl::StrCat("_retval_", fetch.node->name(), "_", fetch.index));
      AttrMap attrs = {{"T", RemoveRef(fetch.node->output_type(fetch.index))},
                       {"index", static_cast<int64_t>(i)}};
      ASSIGN_OR_RETURN(Node * result,
                       pruned_.graph->AddNode(name, "_Retval", std::move(attrs), {CopyOf(fetch)}));
      pruned_.results.push_back(result);
    }
    for (Node* target : targets_) pruned_.targets.push_back(CopyOf(target));
    return absl::OkStatus();
  }

  const Graph& graph_;
  const RunSignature& signature_;
  absl::flat_hash_map<Endpoint, int> fed_;  // to the position among the feeds
  std::vector<Endpoint> fetches_;
  std::vector<Node*> targets_;
  std::vector<bool> needed_;
  std::vector<Node*> stack_;
  std::vector<Node*> copies_;  // by id in graph_
  PrunedGraph pruned_;
};

}  // namespace

absl::StatusOr<PrunedGraph> Prune(const Graph& graph, const RunSignature& signature) {
  return Pruner(graph, signature).Prune();
}

}  // namespace tessera
