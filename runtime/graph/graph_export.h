// Graph -> tensorflow.GraphDef.
#pragma once

#include "runtime/graph/attr_value_proto.h"
#include "runtime/graph/graph.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

// Overwrites *graph_def, library and versions included; nodes come in order of id, with all their
// attributes. Importing the result gives an equal graph.
void ExportGraph(const Graph& graph, tensorflow::GraphDef* graph_def);

}  // namespace tessera
