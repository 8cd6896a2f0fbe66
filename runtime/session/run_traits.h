// Tells what runs of a graph may do, by the traits of their ops (framework/op_traits.h).
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace tensorflow {
class FunctionDef;
class GraphDef;
class NodeDef;
}  // namespace tensorflow

namespace tessera {

struct OpDef;
struct RunSignature;

//   RunTraits traits(graph_def);
//   if (traits.IsPure(signature)) ...  // may be run once more, with any inputs, and nobody notices
//
// The ops of a run are all that it may reach, in functions too.
//
// Views the graph, which must outlive this object. Thread-safe.
class RunTraits {
 public:
  explicit RunTraits(const tensorflow::GraphDef& graph);

  // Returns true if all ops change nothing but the step's own state, draw no random numbers, and
  // wait for nobody. Reading variables, tables and files is pure, and so is making a resource that
  // exists from the first run on. A run with an unknown op is not pure.
  bool IsPure(const RunSignature& signature) const;
  // Returns true if the values of the inputs, or somebody else, may decide how long a run takes: it
  // loops, waits, writes files or text, or has an unknown op.
  bool IsOpenEnded(const RunSignature& signature) const;

 private:
  using Names = std::vector<absl::string_view>;
  using Predicate = absl::FunctionRef<bool(const OpDef& op)>;

  // Returns true if all ops of a run are known and fulfil the predicate.
  bool AllOps(const RunSignature& signature, Predicate predicate) const;
  // Returns true if the op of `node` by itself is known and fulfils the predicate. Adds the
  // functions that it may call to `called`.
  bool Fulfils(const tensorflow::NodeDef& node, Predicate predicate, Names* called) const;

  absl::flat_hash_map<absl::string_view, const tensorflow::NodeDef*> nodes_;
  absl::flat_hash_map<absl::string_view, const tensorflow::FunctionDef*> functions_;
};

}  // namespace tessera
