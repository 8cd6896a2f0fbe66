#include "runtime/graph/partition.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/control_flow_nodes.h"
#include "runtime/graph/loop_frames.h"

namespace tessera {
namespace {

// A node's output, or, with index -1, the fact that it has run.
struct Signal {
  Node* node = nullptr;
  int index = -1;
};

class Partitioner {
 public:
  // `graph` is the partitioner's own: it gets further nodes.
  Partitioner(std::unique_ptr<Graph> graph, const PartitionOptions& options)
      : graph_(std::move(graph)), options_(options) {}

  absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> Run() && {
    for (Node* node : graph_->nodes()) {
      if (node->device().empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("node '", node->name(), "' has not been placed on a device"));
      }
    }
    ASSIGN_OR_RETURN(loops_, FindLoopFrames(*graph_));
    RETURN_IF_ERROR(AddLoops());
    for (Node* node : graph_->nodes()) {
      std::unique_ptr<Graph>& part = parts_[PartOf(*node)];
      if (part == nullptr) {
        part = std::make_unique<Graph>(graph_->library());
        part->set_versions(graph_->versions());
      }
      ASSIGN_OR_RETURN(Node * copy,
                       part->AddNode(node->name(), node->op_name(), node->attrs(), node->device()));
      copies_[node] = copy;
    }
    for (Node* node : graph_->nodes()) RETURN_IF_ERROR(ConnectInputs(node));
    return std::move(parts_);
  }

 private:
  std::string PartOf(const Node& node) const {
    return options_.part_of == nullptr ? node.device() : options_.part_of(node);
  }
  bool Crosses(const Node& from, const Node& to) const { return PartOf(from) != PartOf(to); }

  // The frame of a value that `node` gives. Nodes added here are recorded as they are made.
  int FrameAfter(const Node& node) const { return loops_.frame_after[node.id()]; }

  // True for the Merge of a loop variable; that of a conditional in a loop's body is another.
  static bool IsLoopMerge(const Node& node) {
    if (!IsMerge(node)) return false;
    return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Endpoint& input) {
      return input.node != nullptr && IsEnter(*input.node);
    });
  }

  // What is received inside a loop must be received in every iteration. The Merge of a loop
  // variable starts each; where there is none, one is added with a loop of its own.
  absl::Status AddLoops() {
    for (Node* node : graph_->nodes()) {
      const int frame = loops_.frame_of[node->id()];
      if (frame >= 0 && IsLoopMerge(*node)) starts_.try_emplace({frame, PartOf(*node)}, node);
    }
    for (Node* node : graph_->nodes()) {  // not those that are added meanwhile
      auto check = [&](const Node* from) -> absl::Status {
        if (from == nullptr || FrameAfter(*from) < 0 || !Crosses(*from, *node)) {
          return absl::OkStatus();
        }
        return StartOf(FrameAfter(*from), *node).status();
      };
      for (const Endpoint& input : node->inputs()) RETURN_IF_ERROR(check(input.node));
      for (const Node* control : node->control_inputs()) RETURN_IF_ERROR(check(control));
    }
    return absl::OkStatus();
  }

  // The node that starts each iteration of a frame in the part of `neighbour`.
  absl::StatusOr<Node*> StartOf(int frame, const Node& neighbour) {
    const std::pair<int, std::string> key(frame, PartOf(neighbour));
    if (auto it = starts_.find(key); it != starts_.end()) return it->second;
    const LoopFrame loop = loops_.frames[frame];
    if (loop.condition == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("loop '", loop.name, "' spans ", PartOf(*loop.enters.front()), " and ",
                       key.second, ", but has no LoopCond by which they could stay in step"));
    }
    const std::string& device = neighbour.device();
    const AttrMap t = {{"T", DType::kBool}};
    ASSIGN_OR_RETURN(Node * value, Add("start", "Const",
                                       {{"dtype", DType::kBool}, {"value", Tensor::Scalar(false)}},
                                       {}, device, loop.parent, loop));
    if (loop.parent >= 0) {
      ASSIGN_OR_RETURN(Node * outer, StartOf(loop.parent, neighbour));
      graph_->AddControlEdge(outer, value);
    }
    ASSIGN_OR_RETURN(Node * enter, Add("Enter", "Enter",
                                       {{"T", DType::kBool},
                                        {"frame_name", loop.name},
                                        {"parallel_iterations", loop.parallel_iterations}},
                                       {{value, 0}}, device, loop.parent, loop));
    loops_.frame_after[enter->id()] = frame;
    // The second input is the back edge, which is connected when there is something to connect.
    auto merge =
        graph_->AddNode(NameIn(loop, "Merge"), "Merge", {{"T", DType::kBool}, {"N", 2}}, device);
    RETURN_IF_ERROR(merge.status());
    Record(*merge, frame);
    RETURN_IF_ERROR(graph_->Connect({enter, 0}, *merge, 0));
    starts_[key] = *merge;
    ASSIGN_OR_RETURN(Node * go_on, Add("Switch", "Switch", t, {{*merge, 0}, {loop.condition, 0}},
                                       device, frame, loop));
    ASSIGN_OR_RETURN(Node * next,
                     Add("NextIteration", "NextIteration", t, {{go_on, 1}}, device, frame, loop));
    RETURN_IF_ERROR(graph_->Connect({next, 0}, *merge, 1));
    return *merge;
  }

  std::string NameIn(const LoopFrame& loop, absl::string_view role) {
    return graph_->UniqueName(absl::StrCat("_follow/", loop.name, "/", role));
  }

  absl::StatusOr<Node*> Add(absl::string_view role, absl::string_view op, AttrMap attrs,
                            const std::vector<Endpoint>& inputs, const std::string& device,
                            int frame, const LoopFrame& loop) {
    ASSIGN_OR_RETURN(Node * node,
                     graph_->AddNode(NameIn(loop, role), op, std::move(attrs), inputs, device));
    Record(node, frame);
    return node;
  }

  void Record(const Node* node, int frame) {
    loops_.frame_of.resize(node->id() + 1, -1);
    loops_.frame_after.resize(node->id() + 1, -1);
    loops_.frame_of[node->id()] = frame;
    loops_.frame_after[node->id()] = frame;
  }

  absl::Status ConnectInputs(Node* node) {
    Node* copy = copies_[node];
    Graph& part = *parts_[PartOf(*node)];
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Endpoint& from = node->input(i);
      if (from.node == nullptr) continue;
      if (!Crosses(*from.node, *node)) {
        RETURN_IF_ERROR(part.Connect({copies_[from.node], from.index}, copy, i));
        continue;
      }
      if (IsRef(node->input_type(i))) {
        return absl::InvalidArgumentError(
            absl::StrCat("node '", node->name(), "' on ", node->device(),
                         " needs a reference to what node '", from.node->name(), "' holds on ",
                         from.node->device(), "; references do not leave their device"));
      }
      ASSIGN_OR_RETURN(Node * recv, Receive({from.node, from.index}, *node));
      RETURN_IF_ERROR(part.Connect({recv, 0}, copy, i));
    }
    for (Node* control : node->control_inputs()) {
      if (!Crosses(*control, *node)) {
        part.AddControlEdge(copies_[control], copy);
        continue;
      }
      ASSIGN_OR_RETURN(Node * recv, Receive({control, -1}, *node));
      part.AddControlEdge(recv, copy);
    }
    return absl::OkStatus();
  }

  // The `_Recv` for a signal in the part of `to`, made with its `_Send` on the first call.
  absl::StatusOr<Node*> Receive(const Signal& from, const Node& to) {
    const auto key = std::make_tuple(from.node->id(), from.index, PartOf(to));
    if (auto it = received_.find(key); it != received_.end()) return it->second;
    Graph& source = *parts_[PartOf(*from.node)];
    Graph& target = *parts_[PartOf(to)];
    const std::string& send_device = from.node->device();
    const std::string edge = absl::StrCat("edge_", num_edges_++, "_", from.node->name());
    AttrMap attrs = {{"tensor_name", edge},
                     {"send_device", send_device},
                     {"send_device_incarnation",
                      static_cast<int64_t>(
                          options_.incarnation == nullptr ? 1 : options_.incarnation(send_device))},
                     {"recv_device", to.device()}};
    Endpoint sent{copies_[from.node], from.index};
    if (from.index < 0) {
      ASSIGN_OR_RETURN(Tensor nothing, Tensor::Zeros(DType::kFloat, {0}));
      ASSIGN_OR_RETURN(
          Node * token,
          source.AddNode(source.UniqueName(absl::StrCat("_done/", edge)), "Const",
                         {{"dtype", DType::kFloat}, {"value", std::move(nothing)}}, send_device));
      source.AddControlEdge(copies_[from.node], token);
      sent = {token, 0};
    }
    const DType type = RemoveRef(sent.node->output_type(sent.index));
    AttrMap send_attrs = attrs;
    send_attrs.emplace("T", type);
    RETURN_IF_ERROR(source
                        .AddNode(source.UniqueName(absl::StrCat("_send/", edge)), "_Send",
                                 std::move(send_attrs), {sent}, send_device)
                        .status());
    attrs.emplace("tensor_type", type);
    ASSIGN_OR_RETURN(Node * recv, target.AddNode(target.UniqueName(absl::StrCat("_recv/", edge)),
                                                 "_Recv", std::move(attrs), to.device()));
    if (const int frame = FrameAfter(*from.node); frame >= 0) {
      target.AddControlEdge(copies_[starts_.at({frame, PartOf(to)})], recv);
    }
    received_.emplace(key, recv);
    return recv;
  }

  const std::unique_ptr<Graph> graph_;
  const PartitionOptions& options_;
  LoopFrames loops_;
  absl::flat_hash_map<std::pair<int, std::string>, Node*> starts_;  // by frame and part
  std::map<std::string, std::unique_ptr<Graph>> parts_;
  absl::flat_hash_map<const Node*, Node*> copies_;
  absl::flat_hash_map<std::tuple<int, int, std::string>, Node*> received_;
  int num_edges_ = 0;
};

}  // namespace

absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> Partition(
    const Graph& graph, const PartitionOptions& options) {
  return Partitioner(graph.Clone(), options).Run();
}

}  // namespace tessera
