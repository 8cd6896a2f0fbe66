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

// The body of a function with all attributes known: a graph with one `_Arg` node an argument and
// one `_Retval` node a result (attributes `T`, `index`). `control_results` are nodes that must run
// though no result may need them: those the definition names, and all with side effects (see
// side_effects.h). What neither results nor control results need is not in the graph.
struct FunctionBody {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;
  std::vector<Node*> results;
  std::vector<Node*> control_results;
  std::vector<DType> arg_types;
  std::vector<DType> result_types;
};

// The functions of a graph, as imported; bodies are instantiated on demand. Immutable once shared;
// thread-safe.
class FunctionLibrary : public std::enable_shared_from_this<FunctionLibrary> {
 public:
  // Keeps its own copy of the definitions. Errors: INVALID_ARGUMENT for two different functions of
  // one name, a function of an op's name, or a malformed signature.
  static absl::StatusOr<std::shared_ptr<const FunctionLibrary>> Create(
      const tensorflow::FunctionDefLibrary& proto);
  // This library with more functions, for Session::Extend(). Errors as above.
  absl::StatusOr<std::shared_ptr<const FunctionLibrary>> Extended(
      const tensorflow::FunctionDefLibrary& proto) const;
  ~FunctionLibrary();

  bool Contains(absl::string_view name) const;
  // The signature, usable as an op; null if unknown.
  const OpDef* FindSignature(absl::string_view name) const;
  // The definition as it was imported; null if unknown.
  const tensorflow::FunctionDef* FindDefinition(absl::string_view name) const;
  // An attribute of the function itself (`_noinline`, `api_implements`, ...); null if absent.
  const AttrValue* FindFunctionAttr(absl::string_view name, absl::string_view attr) const;
  // Builds the body for these attributes. Nodes of unknown ops become `_Unsupported` stand-ins, see
  // GraphImportOptions. Errors: NOT_FOUND; INVALID_ARGUMENT naming function and node, also for
  // functions in attributes of functions without end.
  absl::StatusOr<FunctionBody> Instantiate(const FunctionRef& function) const;
  // True if a call can be noticed by something other than the users of its results: if the
  // function, or one that it names, has a node with a side effect (see side_effects.h) or of an
  // unknown op. True for unknown functions.
  bool HasSideEffect(absl::string_view name) const;
  // All functions' names, sorted.
  std::vector<std::string> Names() const;
  // Overwrites *proto with all that was imported, functions in order of name.
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
