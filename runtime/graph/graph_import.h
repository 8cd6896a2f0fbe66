// Converts a tensorflow.GraphDef to a Graph: fills in attribute defaults and checks versions.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/graph/graph.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

struct GraphImportOptions {
  // If true, a node whose op is unknown does not fail the import but becomes an `_Unsupported`
  // placeholder, whose attribute `_op` holds the name of the op and which fails when it is
  // compiled. The training part of a SavedModel may use ops that its signatures do not. The inputs
  // and outputs of a placeholder are derived from the edges. Function bodies are always treated
  // like this, because they are built only when they are needed.
  bool allow_unknown_ops = false;
};

// Converts a whole graph. Keeps attributes that an op does not declare, because a newer producer
// may have added them. Errors: INVALID_ARGUMENT, naming the node, for duplicate names, unknown
// inputs, dtype clashes, missing attributes, deprecated ops, cycles outside v1 loops, or versions
// we cannot read; NOT_FOUND listing all unknown ops with their nodes in one message.
absl::StatusOr<std::unique_ptr<Graph>> ImportGraph(const tensorflow::GraphDef& graph_def,
                                                   const GraphImportOptions& options = {});
// Adds the nodes and functions of `graph_def` to `graph`, for Session::Extend(). The new nodes may
// refer to nodes that are in `graph` already. On an error `graph` is unchanged.
absl::Status ImportInto(const tensorflow::GraphDef& graph_def, const GraphImportOptions& options,
                        Graph* graph);

// The GraphDef version that this runtime writes, which is also the newest one that it reads, and
// the oldest one that it reads (TensorFlow's numbers).
inline constexpr int kGraphDefProducer = 2474;
inline constexpr int kGraphDefMinProducer = 0;

}  // namespace tessera
