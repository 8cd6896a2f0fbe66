// Which ops a graph uses, and which of them nothing here can run.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

struct OpUse {
  std::vector<std::string> nodes;  // those in functions as "function/node"
  bool has_kernel = true;
};

struct GraphCensus {
  std::map<std::string, OpUse> ops;  // calls of functions by their name are not counted
  int num_nodes = 0;                 // outside functions
  int num_functions = 0;
  int num_function_nodes = 0;
};

// Counts the graph's nodes and those of all its functions, called or not. Looks at ops alone: a
// kernel may still lack for a node's dtypes.
GraphCensus TakeCensus(const tensorflow::GraphDef& graph);

}  // namespace tessera
