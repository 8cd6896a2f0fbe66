// Tells which runs of a graph leave everything as it was.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace tensorflow {
class FunctionDef;
class GraphDef;
class NodeDef;
}  // namespace tensorflow

namespace tessera {

struct RunSignature;

//   PureRuns pure(graph_def);
//   if (pure.IsPure(signature)) ...  // may be run once more, with any inputs, and nobody notices
//
// A run is pure if, by their traits (framework/op_traits.h), all ops that it may reach, in
// functions too, change nothing but the step's own state, draw no random numbers, and wait for
// nobody. Reading variables, tables and files is pure, and so is making a resource that exists from
// the first run on. A run with an unknown op is not pure.
//
// Views the graph, which must outlive this object. Thread-safe.
class PureRuns {
 public:
  explicit PureRuns(const tensorflow::GraphDef& graph);

  bool IsPure(const RunSignature& signature) const;

 private:
  using Names = std::vector<absl::string_view>;

  // Returns false if the op of `node` by itself is not pure. Adds the functions that it may call to
  // `called`.
  bool IsPureNode(const tensorflow::NodeDef& node, Names* called) const;

  absl::flat_hash_map<absl::string_view, const tensorflow::NodeDef*> nodes_;
  absl::flat_hash_map<absl::string_view, const tensorflow::FunctionDef*> functions_;
};

}  // namespace tessera
