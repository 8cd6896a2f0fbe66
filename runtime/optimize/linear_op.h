// Products with weights: MatMul, Conv2D, DepthwiseConv2dNative, and what commonly follows them.
#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace tessera {

// A node that computes each output channel as a weighted sum.
struct LinearOp {
  Node* node = nullptr;
  // Channels of the output; -1 if they are not known before the run.
  int64_t channels = -1;
  bool channels_last = true;  // in the output; else the second dimension
};
// What `node` is as a linear op; nullopt if it is none.
std::optional<LinearOp> AsLinearOp(Node* node);

// The addition of one value a channel to a linear op's output.
struct ChannelBias {
  LinearOp linear;
  Node* node = nullptr;  // BiasAdd, Add or AddV2
  Endpoint bias;
};
// Recognises BiasAdd, and an addition whose other operand is known to be a vector of the channels.
std::optional<ChannelBias> AsChannelBias(Node* node);

// True if the node's `data_format` has the channels last; false without the attribute.
bool IsChannelsLast(const Node& node);

// The shape of an output that is known before the run: of a constant, of a variable's value, or of
// weights that are scaled.
PartialShape KnownShape(const Endpoint& endpoint);
// True if a tensor of this shape, combined with the linear op's output by broadcasting, applies one
// value to each channel: [channels] or [1, ..., channels] of no higher rank. Channels must be last.
bool IsPerChannel(const LinearOp& linear, const PartialShape& shape);
// True if the node is a _FusedConv2D that scales its filter.
bool HasScale(const Node& node);
// True if the node's one output goes to one input and nothing else waits for the node. A rewrite
// may then make one node of it and its user: whatever either waits for cannot wait for this node in
// turn, so that no cycle can close.
bool HasOneUse(const Node& node);

}  // namespace tessera
