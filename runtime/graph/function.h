// Functions: named graphs that nodes call.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/framework/op.h"
#include "runtime/graph/graph.h"

namespace tensorflow {
class FunctionDef;
class FunctionDefLibrary;
}  // namespace tensorflow

namespace tessera {

// The body of a function whose attributes are all known. The graph has an `_Arg` node for each
// argument and a `_Retval` node for each result (attributes `T` and `index`). The nodes in
// `control_results` must run even if no result depends on them: those that the definition names,
// and all nodes with side effects (see side_effects.h). Nodes that neither a result nor a control
// result needs are left out.
struct FunctionBody {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;
  std::vector<Node*> results;
  std::vector<Node*> control_results;
  std::vector<DType> arg_types;
  std::vector<DType> result_types;
};

// The functions of a graph, as they were imported. Bodies are built on demand. Immutable and
// thread-safe.
class FunctionLibrary : public std::enable_shared_from_this<FunctionLibrary> {
 public:
  // Keeps its own copy of the definitions. Errors: INVALID_ARGUMENT for two different functions of
  // one name, a function of an op's name, or a malformed signature.
  static absl::StatusOr<std::shared_ptr<const FunctionLibrary>> Create(
      const tensorflow::FunctionDefLibrary& proto);
  // Returns a library with additional functions, for Session::Extend(). Errors: those of Create().
  absl::StatusOr<std::shared_ptr<const FunctionLibrary>> Extended(
      const tensorflow::FunctionDefLibrary& proto) const;
  ~FunctionLibrary();

  bool Contains(absl::string_view name) const;
  // Returns the signature of a function as an op; null if the function is unknown.
  const OpDef* FindSignature(absl::string_view name) const;
  // Returns the definition as it was imported; null if the function is unknown.
  const tensorflow::FunctionDef* FindDefinition(absl::string_view name) const;
  // Returns an attribute of the definition (`_noinline`, `api_implements`, ...); null if it is not
  // set.
  const AttrValue* FindFunctionAttr(absl::string_view name, absl::string_view attr) const;
  // Builds the body with the attributes of `function`. Nodes with unknown ops become `_Unsupported`
  // placeholders, see GraphImportOptions. Errors: NOT_FOUND; INVALID_ARGUMENT with the function and
  // the node, also for functions that nest in attributes of functions without end.
  absl::StatusOr<FunctionBody> Instantiate(const FunctionRef& function) const;
  // True if a call can be noticed by something other than the users of its results: if the
  // function, or one that it names, has a node with a side effect (see side_effects.h) or of an
  // unknown op. True for unknown functions.
  bool HasSideEffect(absl::string_view name) const;
  // Returns the names of all functions, sorted.
  std::vector<std::string> Names() const;
  // Overwrites *proto with everything that was imported. Functions are sorted by name.
  void Export(tensorflow::FunctionDefLibrary* proto) const;

 private:
  FunctionLibrary();
  absl::Status Add(const tensorflow::FunctionDefLibrary& proto);

  struct Entry;
  void Scan(const Entry& entry) const;

  absl::flat_hash_map<std::string, std::shared_ptr<const Entry>> functions_;
  std::map<std::string, std::string> gradients_;     // by function
  std::map<std::string, std::string> op_gradients_;  // by op
};

}  // namespace tessera
