// Converts a Graph to a tensorflow.GraphDef.
#pragma once

#include "runtime/graph/attr_value_proto.h"
#include "runtime/graph/graph.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

// Overwrites *graph_def with the nodes, in order of id and with all their attributes, the function
// library and the versions. Importing the result gives an equal graph.
void ExportGraph(const Graph& graph, tensorflow::GraphDef* graph_def);

}  // namespace tessera
