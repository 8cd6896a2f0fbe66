// Which runs of a graph leave everything as it was.
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
// A run is pure if all ops that it may reach, in functions too, keep nothing and touch nothing
// outside, or do no more than read variables and tables or make what is made once. An op that
// nobody knows is not, nor are random numbers: the ones that come next would be others.
//
// Views the graph, which must outlive this. Thread-safe.
class PureRuns {
 public:
  explicit PureRuns(const tensorflow::GraphDef& graph);

  bool IsPure(const RunSignature& signature) const;

 private:
  using Names = std::vector<absl::string_view>;

  // False if the op of `node` by itself is not pure. Adds the functions that it may call.
  bool IsPureNode(const tensorflow::NodeDef& node, Names* called) const;

  absl::flat_hash_map<absl::string_view, const tensorflow::NodeDef*> nodes_;
  absl::flat_hash_map<absl::string_view, const tensorflow::FunctionDef*> functions_;
};

}  // namespace tessera
