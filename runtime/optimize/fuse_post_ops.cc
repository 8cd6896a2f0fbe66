#include "runtime/optimize/fuse_post_ops.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/optimize/fused_activation.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// What is to become one node.
struct Chain {
  Node* linear = nullptr;
  Node* bias_add = nullptr;
  Endpoint bias;
  std::vector<Node*> gate;     // of a swish, whose product is the activation
  Node* activation = nullptr;  // may be null

  Node* last() const { return activation != nullptr ? activation : bias_add; }
  std::vector<Node*> nodes() const {
    std::vector<Node*> all = {linear, bias_add};
    all.insert(all.end(), gate.begin(), gate.end());
    if (activation != nullptr) all.push_back(activation);
    return all;
  }
};

// Recognises the addition of a vector to the product of a tensor of any rank and a matrix.
std::optional<ChannelBias> AsBatchBias(const Node& add) {
  if (!add.IsOp("Add") && !add.IsOp("AddV2")) return std::nullopt;
  for (int side : {0, 1}) {
    Node* const product = add.input(side).node;
    if (!IsBatchLinear(*product)) continue;
    const auto transposes = product->attr<bool>("adj_y");
    if (!transposes.ok()) continue;
    const int64_t columns = KnownShape(product->input(1)).dim(*transposes ? 0 : 1);
    const Endpoint bias = add.input(1 - side);
    const PartialShape shape = KnownShape(bias);
    if (shape.rank() == 1 && columns >= 0 && shape.dim(0) == columns) {
      return ChannelBias{{.node = product, .channels = columns}, nullptr, bias};
    }
  }
  return std::nullopt;
}

AttrMap FusedAttrs(const Chain& chain, const OpDef& fused) {
  AttrMap attrs = AttrsFor(fused, *chain.linear);
  std::vector<std::string> ops = {"BiasAdd"};
  if (chain.activation != nullptr) {
    ops.push_back(chain.gate.empty() ? FusedActivation(*chain.activation) : "Swish");
    SetActivationAttrs(*chain.activation, &attrs);
  }
  attrs.insert_or_assign("fused_ops", std::move(ops));
  attrs.insert_or_assign("num_args", 1);
  if (fused.FindAttr("TArgs") != nullptr) {
    attrs.insert_or_assign("TArgs", std::vector<DType>{chain.linear->output_type(0)});
  }
  return attrs;
}

class Fuser {
 public:
  explicit Fuser(const OptimizationItem& item) : item_(item), graph_(*item.graph) {}

  // False if the chain stays as it is.
  absl::StatusOr<bool> Fuse(const Chain& chain) {
    const std::string op = "_Fused" + chain.linear->op_name();
    const OpDef* def = graph_.FindOp(op);
    if (def == nullptr) return false;
    AttrMap attrs = FusedAttrs(chain, *def);
    // The fused op takes fewer dtypes and paddings.
    if (AttrMap complete = attrs;
        !CompleteAttrs(*def, &complete).ok() || !item_.HasKernel(op, *chain.linear, complete)) {
      return false;
    }
    ASSIGN_OR_RETURN(
        Node * fused,
        graph_.AddNode(graph_.UniqueName(chain.last()->name() + "/fused"), op, std::move(attrs),
                       {chain.linear->input(0), chain.linear->input(1), chain.bias},
                       chain.linear->device()));
    RETURN_IF_ERROR(graph_.ReplaceUses({chain.last(), 0}, {fused, 0}));
    RemoveReplaced(&graph_, chain.nodes(), fused);
    return true;
  }

  std::optional<Chain> Match(Node* bias_add) const {
    auto bias = AsChannelBias(bias_add);
    if (!bias.has_value()) bias = AsBatchBias(*bias_add);
    if (!bias.has_value()) return std::nullopt;
    Node* linear = bias->linear.node;
    if (RoundsEachStep(*linear)) return std::nullopt;
    if (!HasOneUse(*linear) || !MayGo(*linear, *linear) || !MayGo(*bias_add, *linear) ||
        linear->output_type(0) != bias->bias.node->output_type(bias->bias.index)) {
      return std::nullopt;
    }
    Chain chain{.linear = linear, .bias_add = bias_add, .bias = bias->bias};
    if (HasOneUse(*bias_add)) {
      Node* next = bias_add->uses(0)[0].node;
      if (!FusedActivation(*next).empty() && MayGo(*next, *linear)) chain.activation = next;
    } else if (const auto swish = SwishOf(*bias_add); swish.has_value() && MayGo(*swish, *linear)) {
      chain.gate = swish->gate;
      chain.activation = swish->product;
    }
    return chain;
  }

 private:
  // TensorFlow fuses products of half on GPUs alone. On a CPU it rounds each step to half.
  bool RoundsEachStep(const Node& linear) const {
    if (linear.output_type(0) != DType::kHalf) return false;
    const auto device =
        std::find_if(item_.devices.begin(), item_.devices.end(),
                     [&](const Device* one) { return one->full_name() == linear.device(); });
    return (device == item_.devices.end() ? item_.devices.front() : *device)->type() == kCpu;
  }

  bool MayGo(const Node& node, const Node& first) const {
    return !item_.IsPreserved(&node) && node.device() == first.device();
  }
  bool MayGo(const Swish& swish, const Node& first) const {
    return MayGo(*swish.product, first) &&
           std::all_of(swish.gate.begin(), swish.gate.end(),
                       [&](const Node* node) { return MayGo(*node, first); });
  }

  const OptimizationItem& item_;
  Graph& graph_;
};

}  // namespace

absl::Status FusePostOpsPass::Run(OptimizationItem& item, bool* changed) const {
  Fuser fuser(item);
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    if (item.graph->node(id) == nullptr) continue;
    const std::optional<Chain> chain = fuser.Match(item.graph->node(id));
    if (!chain.has_value()) continue;
    ASSIGN_OR_RETURN(const bool fused, fuser.Fuse(*chain));
    *changed |= fused;
  }
  return absl::OkStatus();
}

}  // namespace tessera
