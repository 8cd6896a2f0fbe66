// Finds signatures of a graph that compute the same.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace tensorflow {
class FunctionDef;
class GraphDef;
class NodeDef;
}  // namespace tensorflow

namespace tessera {

struct RunSignature;

// Gives signatures that compute the same one key.
//
//   CanonicalSignatures signatures(graph_def);
//   // Feed i of one is feed i of the other, and so is fetch i.
//   if (signatures.CanonicalKey(a) == signatures.CanonicalKey(b)) ...
//
// The key says what a run computes from its feeds, and leaves out how nodes and functions are
// called. Equal keys mean equal results, but for collisions of a hash of 128 bits that stands for
// large attributes; runs with different keys may still compute the same.
// Writers of SavedModels often give one function several signatures, each with a placeholder and a
// wrapper of its own.
//
// Nodes with state keep their names in the key. Nodes inside functions that differ only in the
// names of the functions have one key, although each may draw its own random numbers: ask PureRuns
// first. Views the graph, which must outlive this. Not thread-safe.
class CanonicalSignatures {
 public:
  explicit CanonicalSignatures(const tensorflow::GraphDef& graph);

  // Returns the key; empty if the run names nodes that the graph lacks, or feeds a tensor twice.
  std::string CanonicalKey(const RunSignature& run);

 private:
  class Walk;

  // Returns the key of a function. Functions that differ in nothing but their names share it.
  std::string FunctionKey(const std::string& name);
  // The reference is valid until the next call.
  const std::string& NodeKey(const tensorflow::NodeDef& node);

  absl::flat_hash_map<absl::string_view, const tensorflow::NodeDef*> nodes_;
  absl::flat_hash_map<absl::string_view, const tensorflow::FunctionDef*> functions_;
  absl::flat_hash_map<const tensorflow::NodeDef*, std::string> node_keys_;
  absl::flat_hash_map<std::string, std::string> function_keys_;  // by name
  absl::flat_hash_map<std::string, size_t> function_ids_;        // by definition without name
};

}  // namespace tessera
