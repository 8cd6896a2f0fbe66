// Recognises products with weights (MatMul, Conv2D, DepthwiseConv2dNative) and biases after them.
#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace tessera {

// A node that computes each output channel as a weighted sum.
struct LinearOp {
  Node* node = nullptr;
  // The number of output channels; -1 if it is not known before the run.
  int64_t channels = -1;
  // Whether the last dimension of the output holds the channels; otherwise the second one does.
  bool channels_last = true;
};
// Returns `node` as a linear op; nullopt if it is none.
std::optional<LinearOp> AsLinearOp(Node* node);

// The addition of a bias, with one element for each channel, to the output of a linear op.
struct ChannelBias {
  LinearOp linear;
  Node* node = nullptr;  // BiasAdd, Add or AddV2
  Endpoint bias;
};
// True if the node multiplies the last dimension of its input, which may have any rank, by a
// constant matrix or by that of a variable.
bool IsBatchLinear(const Node& node);

// Recognises a BiasAdd, and an Add whose other operand is known to have one element for each
// channel.
std::optional<ChannelBias> AsChannelBias(Node* node);

// True if the attribute `data_format` puts the channels last; false for nodes without it.
bool IsChannelsLast(const Node& node);

// Returns the shape of a constant, of the value of a variable, or of scaled weights. The shape of
// other outputs is unknown before the run.
PartialShape KnownShape(const Endpoint& endpoint);
// Returns the shape of what pure nodes compute from such values, as far as their ops' shape
// functions tell it.
PartialShape InferredShape(const Endpoint& endpoint);
// True if a tensor of this shape, combined with the linear op's output by broadcasting, applies one
// value to each channel: [channels] or [1, ..., channels] of no higher rank. Channels must be last.
bool IsPerChannel(const LinearOp& linear, const PartialShape& shape);
// True if the node is a _FusedConv2D that scales its filter.
bool HasScale(const Node& node);
// True if the only output of the node has exactly one use and no control edge leaves the node. A
// rewrite may then merge the node with its user without closing a cycle: nothing but the user
// depends on the node.
bool HasOneUse(const Node& node);

}  // namespace tessera
