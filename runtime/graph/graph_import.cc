#include "runtime/graph/graph_import.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/repeated_constant.h"
#include "runtime/graph/unknown_ops.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// An output number beyond any real op's, so that a hostile graph cannot ask for endless stand-ins.
constexpr int kMaxUnknownOutputs = 1 << 16;

absl::Status CheckVersions(const GraphVersions& versions) {
  if (versions.min_consumer > kGraphDefProducer) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph asks for a reader of GraphDef version ", versions.min_consumer,
                     " or later, this one reads up to ", kGraphDefProducer));
  }
  if (versions.producer < kGraphDefMinProducer) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the graph was written by GraphDef version ", versions.producer,
        ", the oldest that can be read is ", kGraphDefMinProducer, "; export it anew"));
  }
  const std::vector<int>& bad = versions.bad_consumers;
  if (std::find(bad.begin(), bad.end(), kGraphDefProducer) != bad.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph forbids readers of GraphDef version ", kGraphDefProducer));
  }
  return absl::OkStatus();
}

GraphVersions VersionsOf(const tensorflow::GraphDef& graph_def) {
  GraphVersions versions;
  versions.producer = graph_def.versions().producer();
  versions.min_consumer = graph_def.versions().min_consumer();
  versions.bad_consumers.assign(graph_def.versions().bad_consumers().begin(),
                                graph_def.versions().bad_consumers().end());
  return versions;
}

// What holds for nodes of both: the older producer, the stricter demand.
GraphVersions Joined(const GraphVersions& a, const GraphVersions& b) {
  GraphVersions joined = a;
  joined.producer = std::min(a.producer, b.producer);
  joined.min_consumer = std::max(a.min_consumer, b.min_consumer);
  for (int version : b.bad_consumers) {
    if (std::find(a.bad_consumers.begin(), a.bad_consumers.end(), version) ==
        a.bad_consumers.end()) {
      joined.bad_consumers.push_back(version);
    }
  }
  return joined;
}

std::string Describe(const tensorflow::NodeDef& node) {
  return absl::StrCat("node '", node.name(), "' (", node.op(), ")");
}

// Nodes of these ops stand for the ends of a graph, or copy between memories. Pruning, partitioning
// and calls of functions make them, and their kernels rely on that.
bool IsMadeByRuntime(absl::string_view op) {
  return op == "_Arg" || op == "_DeviceArg" || op == "_Retval" || op == "_DeviceRetval" ||
         op == "_CopyToHost" || op == "_CopyToDevice";
}

absl::StatusOr<AttrMap> AttrsOf(const tensorflow::NodeDef& node) {
  const auto value = node.attr().find("value");
  if (node.op() != "Const" || value == node.attr().end()) return AttrMapFromProto(node.attr());
  absl::StatusOr<std::optional<Tensor>> tensor = RepeatedConstant(value->second.tensor());
  if (!tensor.ok()) return Annotate(tensor.status(), "attribute 'value': ");
  if (!tensor->has_value()) return AttrMapFromProto(node.attr());
  auto others = node.attr();
  others.erase("value");
  ASSIGN_OR_RETURN(AttrMap attrs, AttrMapFromProto(others));
  attrs.insert_or_assign("value", AttrValue(**std::move(tensor)));
  return attrs;
}

// Builds the nodes of one GraphDef in a graph, and takes them out again unless Commit() is called.
class Importer {
 public:
  Importer(const tensorflow::GraphDef& graph_def, const GraphImportOptions& options, Graph* graph)
      : graph_def_(graph_def),
        options_(options),
        graph_(graph),
        first_id_(graph->id_bound()),
        old_library_(graph->library()),
        old_versions_(graph->versions()),
        unknown_(graph) {}

  ~Importer() {
    if (committed_) return;
    for (int id = first_id_; id < graph_->id_bound(); ++id) {
      if (graph_->node(id) != nullptr) graph_->Remove(graph_->node(id));
    }
    graph_->set_library(old_library_);
    graph_->set_versions(old_versions_);
  }

  absl::Status Import() {
    const GraphVersions versions = VersionsOf(graph_def_);
    RETURN_IF_ERROR(CheckVersions(versions));
    RETURN_IF_ERROR(ImportLibrary());
    nodes_.reserve(graph_def_.node_size());
    for (const tensorflow::NodeDef& node : graph_def_.node()) {
      RETURN_IF_ERROR(AddNode(node, versions.producer));
    }
    if (!options_.allow_unknown_ops && !unknown_.empty()) return unknown_.NotFound();
    for (int i = 0; i < graph_def_.node_size(); ++i) {
      RETURN_IF_ERROR(ConnectInputs(graph_def_.node(i), nodes_[i]));
    }
    RETURN_IF_ERROR(unknown_.CreateNodes());
    RETURN_IF_ERROR(CheckAcyclic(*graph_));
    graph_->set_versions(first_id_ == 0 ? versions : Joined(old_versions_, versions));
    committed_ = true;
    return absl::OkStatus();
  }

 private:
  absl::Status ImportLibrary() {
    if (!graph_def_.has_library()) return absl::OkStatus();
    auto library = old_library_ == nullptr ? FunctionLibrary::Create(graph_def_.library())
                                           : old_library_->Extended(graph_def_.library());
    if (!library.ok()) return library.status();
    graph_->set_library(*std::move(library));
    return absl::OkStatus();
  }

  absl::Status AddNode(const tensorflow::NodeDef& node, int producer) {
    auto attrs = AttrsOf(node);
    if (!attrs.ok()) return Annotate(attrs.status(), absl::StrCat(Describe(node), ": "));
    if (IsMadeByRuntime(node.op())) {
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(node), ": nodes of this op are made by the runtime alone; remove it"));
    }
    const OpDef* op = graph_->FindOp(node.op());
    if (op != nullptr && options_.allow_unknown_ops) {
      const std::string reason = WhyDTypeIsNotAllowed(*op, *attrs);
      if (!reason.empty()) {
        attrs->insert_or_assign("_unsupported", AttrValue(reason));
        op = nullptr;
      }
    }
    if (op == nullptr) {
      if (unknown_.Find(node.name()) >= 0 || graph_->FindNode(node.name()) != nullptr) {
        return TwoNodes(node);
      }
      unknown_.Add(node.name(), node.op(), *std::move(attrs), node.device());
      nodes_.push_back(nullptr);
      return absl::OkStatus();
    }
    if (op->deprecated_at != 0 && producer >= op->deprecated_at) {
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(node), ": op ", node.op(), " was removed in GraphDef version ",
                       op->deprecated_at, ", the graph is of version ", producer));
    }
    auto added = graph_->AddNode(node.name(), node.op(), *std::move(attrs), node.device());
    if (added.status().code() == absl::StatusCode::kAlreadyExists ||
        unknown_.Find(node.name()) >= 0) {
      return TwoNodes(node);
    }
    RETURN_IF_ERROR(added.status());
    nodes_.push_back(*added);
    return absl::OkStatus();
  }

  static absl::Status TwoNodes(const tensorflow::NodeDef& node) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are two nodes '", node.name(), "', the second is ", Describe(node)));
  }

  // `to` is null for a node of an unknown op.
  absl::Status ConnectInputs(const tensorflow::NodeDef& node, Node* to) {
    const int unknown_to = to == nullptr ? unknown_.Find(node.name()) : -1;
    int position = 0;
    for (const std::string& input : node.input()) {
      if (!input.empty() && input[0] == '^') {
        RETURN_IF_ERROR(ConnectControl(node, input.substr(1), to, unknown_to));
        continue;
      }
      absl::string_view name;
      int index = 0;
      if (auto s = ParseTensorName(input, &name, &index); !s.ok()) {
        return Annotate(s, absl::StrCat(Describe(node), ": input ", position, ": "));
      }
      Node* from = graph_->FindNode(name);
      const int unknown_from = from == nullptr ? unknown_.Find(name) : -1;
      if (from == nullptr && (unknown_from < 0 || index >= kMaxUnknownOutputs)) {
        return NoInput(node, input);
      }
      if (to != nullptr && position >= to->num_inputs()) return WrongCount(node, to->num_inputs());
      if (from == nullptr) {
        if (to == nullptr) {
          unknown_.ConnectTo(unknown_to, unknown_from, index);
        } else {
          unknown_.ConnectFrom(unknown_from, index, Use{to, position});
        }
      } else if (to == nullptr) {
        if (index >= from->num_outputs()) return NoInput(node, input);
        unknown_.ConnectTo(unknown_to, Endpoint{from, index});
      } else {
        RETURN_IF_ERROR(graph_->Connect(Endpoint{from, index}, to, position));
      }
      ++position;
    }
    if (to != nullptr && position != to->num_inputs()) return WrongCount(node, to->num_inputs());
    return absl::OkStatus();
  }

  absl::Status ConnectControl(const tensorflow::NodeDef& node, const std::string& name, Node* to,
                              int unknown_to) {
    Node* from = graph_->FindNode(name);
    const int unknown_from = from == nullptr ? unknown_.Find(name) : -1;
    if (from == nullptr && unknown_from < 0) return NoInput(node, absl::StrCat("^", name));
    if (from == nullptr) {
      if (to == nullptr) {
        unknown_.AddControl(unknown_from, unknown_to);
      } else {
        unknown_.AddControlFrom(unknown_from, to);
      }
    } else if (to == nullptr) {
      unknown_.AddControlTo(unknown_to, from);
    } else {
      graph_->AddControlEdge(from, to);
    }
    return absl::OkStatus();
  }

  static absl::Status NoInput(const tensorflow::NodeDef& node, absl::string_view input) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(node), ": its input '", input, "' is not in the graph"));
  }
  static absl::Status WrongCount(const tensorflow::NodeDef& node, int declared) {
    int count = 0;
    for (const std::string& input : node.input()) count += input.empty() || input[0] != '^';
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(node), ": has ", count, " inputs where the op takes ", declared));
  }

  const tensorflow::GraphDef& graph_def_;
  const GraphImportOptions& options_;
  Graph* const graph_;
  const int first_id_;
  const std::shared_ptr<const FunctionLibrary> old_library_;
  const GraphVersions old_versions_;
  UnknownOps unknown_;
  std::vector<Node*> nodes_;  // one a NodeDef; null for an unknown op
  bool committed_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> ImportGraph(const tensorflow::GraphDef& graph_def,
                                                   const GraphImportOptions& options) {
  auto graph = std::make_unique<Graph>();
  RETURN_IF_ERROR(ImportInto(graph_def, options, graph.get()));
  return graph;
}

absl::Status ImportInto(const tensorflow::GraphDef& graph_def, const GraphImportOptions& options,
                        Graph* graph) {
  return Importer(graph_def, options, graph).Import();
}

}  // namespace tessera
