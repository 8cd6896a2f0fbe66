// Counts the ops of a graph, and finds its nodes without a kernel.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

struct OpUse {
  std::vector<std::string> nodes;               // a node of a function is named "function/node"
  std::vector<std::string> without_kernel;      // the nodes among them that no kernel runs
  std::vector<std::string> without_gpu_kernel;  // those that a CPU runs beside GPUs
  std::string
      detail;  // the reason, if the op has kernels for other nodes or could not be translated
  // The dtypes of the first outputs of the nodes that have a kernel. A node of a function whose
  // dtypes the caller decides adds none.
  std::set<std::string> dtypes;
  // The devices of the kernels: "CPU", "every device", or "by primitives" for kernels that run on
  // each type of device that implements what they compute with.
  std::set<std::string> devices;
};

struct GraphCensus {
  int NumOpsWithoutKernel() const;
  int NumOpsWithoutGpuKernel() const;

  std::map<std::string, OpUse> ops;  // calls of functions by their name are not counted
  int num_nodes = 0;                 // outside functions
  int num_functions = 0;
  int num_function_nodes = 0;
};

// Counts the graph's nodes and those of the functions that they call. A SavedModel has further
// functions, which are the traces of its Python objects: copies of those that are called, most of
// them, which nothing here runs. A node has a kernel if
// its op is declared and a CPU kernel is registered for its attributes. In a function, an attribute
// whose value depends on the caller is taken to have a value that some kernel accepts.
//
// If `has_gpus`, nodes that have a kernel, but none on a GPU, are in OpUse::without_gpu_kernel.
GraphCensus TakeCensus(const tensorflow::GraphDef& graph, bool has_gpus = false);

}  // namespace tessera
