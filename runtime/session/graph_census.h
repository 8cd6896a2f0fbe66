// Counts the ops of a graph, and finds its nodes without a kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

struct OpUse {
  std::vector<std::string> nodes;           // a node of a function is named "function/node"
  std::vector<std::string> without_kernel;  // the nodes among them that no kernel runs
  std::string detail;                       // the reason, if the op has kernels for other nodes
};

struct GraphCensus {
  std::map<std::string, OpUse> ops;  // calls of functions by their name are not counted
  int num_nodes = 0;                 // outside functions
  int num_functions = 0;
  int num_function_nodes = 0;
};

// Counts the graph's nodes and those of all its functions, called or not. A node has a kernel if
// its op is declared and a CPU kernel is registered for its attributes. In a function, an attribute
// whose value depends on the caller is taken to have a value that some kernel accepts.
GraphCensus TakeCensus(const tensorflow::GraphDef& graph);

}  // namespace tessera
