// Translates the ops of a StableHLO function into nodes of a graph.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"
#include "runtime/stablehlo/dims.h"
#include "runtime/stablehlo/module.h"
#include "runtime/training/gradients/graph_builder.h"

namespace tensorflow {
class FunctionDefLibrary;
}  // namespace tensorflow

namespace tessera::stablehlo {

// A value of the module in the graph. StableHLO broadcasts explicitly before each element-wise op,
// the ops here do it themselves: a broadcast value is therefore kept as what it was before, and
// takes its full shape only where an op needs it.
struct Value {
  Expr expr;
  // Empty for a value in full. Otherwise a vector with the full shape, to which `expr` broadcasts
  // by NumPy's rules.
  Expr shape;
  Dims dims;  // of `expr`; kDynamic where unknown

  bool is_broadcast() const { return !shape.empty(); }
};

// The destination of the functions that loops, branches and reducers call.
struct FunctionOutput {
  tensorflow::FunctionDefLibrary* library = nullptr;
  std::string prefix;  // of the names of new functions
  bool asserts_shapes = true;
  int count = 0;
  int depth = 0;           // of the functions that are being translated, one within the other
  int64_t operations = 0;  // translated so far, of all functions
};

// Translates one function or region into one graph. Calls are translated where they stand, so that
// shapes that the caller knows are known in the callee. After an error, which status() keeps,
// everything is a no-op.
class Translator {
 public:
  // `module` and `output` must outlive the translator. `outer` translates what is around a region;
  // null for a function.
  Translator(const Module& module, FunctionOutput* output, Graph* graph, Translator* outer);

  GraphBuilder& build() { return build_; }
  const Module& module() const { return module_; }
  FunctionOutput* output() { return output_; }
  const Type& type(ValueId value) const { return module_.type(value); }
  const absl::Status& status() const { return build_.status(); }
  // Fails with the name of the op that is being translated. Keeps the first error.
  void Fail(absl::string_view why);
  // Fails, and returns false, unless tensors can hold values of the type of `value`.
  bool CheckType(ValueId value);

  // Translates all ops of a region in order; returns what it returns.
  std::vector<ValueId> Translate(const Region& region);
  // Translates a call of a function of the module.
  void TranslateCall(absl::string_view callee, const Operation& call);
  // Returns true, and fails, if a function that is to be called is being translated already.
  bool CallsItself(absl::string_view callee);

  // The value as it is.
  Value Get(ValueId value);
  // The value with its full shape.
  Expr Full(ValueId value);
  // The shape of the value, as a vector of int32, or of whatever its broadcast was given.
  Expr ShapeOfValue(ValueId value);
  void Set(ValueId value, Expr expr);
  void SetBroadcast(ValueId value, Expr compact, Dims dims, Expr shape);
  void Set(ValueId value, Value known) { values_[value] = std::move(known); }

  // Attributes of `op`; they fail if there is none of that kind.
  Dims IntsAttr(const Operation& op, absl::string_view name);
  std::vector<bool> BoolsAttr(const Operation& op, absl::string_view name);
  int64_t IntAttr(const Operation& op, absl::string_view name);
  bool BoolAttr(const Operation& op, absl::string_view name);
  std::string StringAttr(const Operation& op, absl::string_view name);

  // A vector constant; int32 if all values fit.
  Expr Ints(absl::Span<const int64_t> values);
  // Reshapes to dimensions of which one may be unknown. `shape` gives them if more are; it is
  // called only then.
  Expr ReshapeTo(const Expr& x, const Dims& dims, const std::function<Expr()>& shape);
  // Adds dimensions of extent 1 at ascending positions of the result.
  Expr InsertOnes(const Expr& x, const Dims& dims, const Dims& positions);
  Expr Transposed(const Expr& x, const Dims& permutation);

  // Adds a function with the region as its body, whose arguments are those of the region and then
  // the `captured` values of this translator. The body of a loop also returns the latter. Returns
  // the name of the function.
  std::string AddFunction(const Region& region, const std::vector<ValueId>& captured,
                          bool is_loop_body = false);
  // The function that a custom call names; fails, and returns null, if there is none.
  const Function* CalledFunction(const Operation& custom_call);
  // Adds a function with the body of the one that a custom call names. Returns its name.
  std::string AddCalledFunction(const Operation& custom_call);
  // Adds a function with a region that is made of the body of function `callee`. Returns its name.
  std::string AddFunctionMadeOf(absl::string_view callee, const Region& region);
  // The values that the regions use and do not define, but constants: functions have their own.
  std::vector<ValueId> CapturedBy(absl::Span<const Region* const> regions);
  // The arguments that stand for captured values at the call of a function.
  std::vector<Expr> CapturedArguments(const std::vector<ValueId>& captured);

  // Nodes that must run although no result needs them.
  std::vector<Node*>& effects() { return effects_; }

 private:
  void TranslateOperation(const Operation& op);

  const Module& module_;
  FunctionOutput* const output_;
  Translator* const outer_;
  GraphBuilder build_;
  absl::flat_hash_map<ValueId, Value> values_;
  std::vector<std::string> calls_;  // functions that are being translated
  std::vector<Node*> effects_;
  const Operation* current_ = nullptr;
};

// Translates one op. Handlers are found by the name of the op.
using Handler = void (*)(Translator& t, const Operation& op);
struct NamedHandler {
  absl::string_view op;
  Handler handler;
};
absl::Span<const NamedHandler> ElementwiseHandlers();
absl::Span<const NamedHandler> IntegerHandlers();
absl::Span<const NamedHandler> ShapeHandlers();
absl::Span<const NamedHandler> IndexingHandlers();
absl::Span<const NamedHandler> ProductHandlers();
absl::Span<const NamedHandler> ConvolutionHandlers();
absl::Span<const NamedHandler> ReductionHandlers();
absl::Span<const NamedHandler> SortHandlers();
absl::Span<const NamedHandler> FourierHandlers();
absl::Span<const NamedHandler> RandomHandlers();
absl::Span<const NamedHandler> LinearAlgebraHandlers();
absl::Span<const NamedHandler> ControlFlowHandlers();
absl::Span<const NamedHandler> CustomCallHandlers();

// The first elements by an order, as many as the results have. It is a custom call.
void ApproximateTopK(Translator& t, const Operation& op);

// Translates the call of a routine of LAPACK, such as "lapack_spotrf_ffi". Returns false if
// `target` is none that is known.
bool LapackCall(Translator& t, const Operation& op, absl::string_view target);

// A reduction over windows whose sizes are operands. It is a custom call.
void DynamicReduceWindow(Translator& t, const Operation& op);

// Names the reduction that a region computes with its two arguments: "add", "maximum", ...; empty
// if it is no single commutative op.
absl::string_view KnownReducer(const Region& region);

}  // namespace tessera::stablehlo
