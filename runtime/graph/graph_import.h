// tensorflow.GraphDef -> Graph, with attribute defaults and version checks.
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
  // Nodes whose op is unknown become `_Unsupported` placeholders (attribute `_op` holds the name)
  // that fail when they are compiled, instead of failing the import: a SavedModel's training part
  // may use ops that its signatures do not. Their inputs and outputs are what the edges imply.
  // Function bodies are treated so in any case, since they are built when they are needed.
  bool allow_unknown_ops = false;
};

// Attributes that an op does not declare are kept: a newer producer may have added them.
// Errors: INVALID_ARGUMENT, naming the node, for duplicate names, unknown inputs, dtype clashes,
// missing attributes, deprecated ops, cycles outside v1 loops, or versions we cannot read;
// NOT_FOUND listing all unknown ops with their nodes in one message.
absl::StatusOr<std::unique_ptr<Graph>> ImportGraph(const tensorflow::GraphDef& graph_def,
                                                   const GraphImportOptions& options = {});
// Adds the nodes and functions of `graph_def` to `graph`; they may refer to nodes there
// (Session::Extend). On an error `graph` is unchanged.
absl::Status ImportInto(const tensorflow::GraphDef& graph_def, const GraphImportOptions& options,
                        Graph* graph);

// The GraphDef versions this runtime writes and reads (TensorFlow's numbers).
inline constexpr int kGraphDefProducer = 2474;
inline constexpr int kGraphDefMinConsumer = 0;
inline constexpr int kGraphDefMinProducer = 0;

}  // namespace tessera
