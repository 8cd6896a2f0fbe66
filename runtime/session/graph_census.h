// Which ops a graph uses, and which of its nodes nothing here can run.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

struct OpUse {
  std::vector<std::string> nodes;           // those in functions as "function/node"
  std::vector<std::string> without_kernel;  // of these nodes, those that no kernel runs
  std::string detail;                       // why not, where the op has kernels for other nodes
};

struct GraphCensus {
  std::map<std::string, OpUse> ops;  // calls of functions by their name are not counted
  int num_nodes = 0;                 // outside functions
  int num_functions = 0;
  int num_function_nodes = 0;
};

// Counts the graph's nodes and those of all its functions, called or not. A node has a kernel if
// its op is declared and a CPU kernel is registered for its attributes; of attributes in a function
// that depend on the caller, any value will do.
GraphCensus TakeCensus(const tensorflow::GraphDef& graph);

}  // namespace tessera
