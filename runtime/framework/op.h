// Op declarations: the inputs, outputs, attributes and traits of an op.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/attr_value.h"
#include "runtime/framework/op_abi.h"
#include "runtime/framework/op_traits.h"

namespace tessera {

class ShapeContext;  // runtime/framework/shape_inference.h
using ShapeFn = absl::Status (*)(ShapeContext&);

// One declared input or output. It is one tensor; or, if `number_attr` is set, as many tensors as
// that attribute says; or, if `type_list_attr` is set, one tensor for each type in that attribute.
struct ArgDef {
  std::string name;
  DType type = DType::kInvalid;  // the fixed type; kInvalid if an attribute decides
  std::string type_attr;         // the attribute of type `type` that decides
  std::string type_list_attr;    // the attribute of type `list(type)` that decides
  std::string number_attr;       // the attribute of type `int` that gives the number of tensors
  bool is_ref = false;
  ArgUse use = ArgUse::kUndeclared;  // of an input
};

struct AttrDef {
  std::string name;
  // "int", "float", "bool", "string", "type", "shape", "tensor", "func" or "list(...)" of one.
  std::string type;
  std::optional<AttrValue> default_value;
  std::vector<DType> allowed_types;          // empty if every type is allowed
  std::vector<std::string> allowed_strings;  // empty if every string is allowed
  std::optional<int64_t> minimum;            // lower limit of an int, or of the length of a list
};

// The declaration of an op, or the signature of a function. Immutable once it is registered.
struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::vector<std::string> control_outputs;  // of functions only
  OpTraits traits;
  // Nodes of the op have an identity: each has one kernel in a session, which outlives the runs.
  // The flag agrees with TensorFlow's; `traits` says what the node does with its state.
  bool is_stateful = false;
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  int deprecated_at = 0;  // the first GraphDef producer that must not use the op; 0 if all may
  ShapeFn shape_fn = nullptr;

  bool Has(OpTrait trait) const { return traits.Has(trait); }
  // Null if the op does not declare the attribute.
  const AttrDef* FindAttr(absl::string_view name) const;
};

// Adds the defaults of attributes that `attrs` lacks, and checks types, allowed values and minima.
// Attributes that the op does not declare are kept.
// Errors: INVALID_ARGUMENT that names the attribute which is missing, of a wrong type, or not
// allowed.
absl::Status CompleteAttrs(const OpDef& op, AttrMap* attrs);

// Returns the dtypes of all inputs (outputs) of a node with complete attributes, one for each
// tensor. A reference argument has a reference type.
absl::StatusOr<std::vector<DType>> InputTypes(const OpDef& op, const AttrMap& attrs);
absl::StatusOr<std::vector<DType>> OutputTypes(const OpDef& op, const AttrMap& attrs);

// The positions [begin, end) of a declared argument's tensors among all inputs (outputs) of a node.
struct ArgRange {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};
// Errors: NOT_FOUND if `arg` is not declared.
absl::StatusOr<ArgRange> InputRange(const OpDef& op, const AttrMap& attrs, absl::string_view arg);
absl::StatusOr<ArgRange> OutputRange(const OpDef& op, const AttrMap& attrs, absl::string_view arg);
// Returns how the op uses input `index` of a node with complete attributes; kUndeclared if the node
// has no such input.
ArgUse InputUse(const OpDef& op, const AttrMap& attrs, int index);

// Builds an OpDef from short specifications. See REGISTER_OP.
//   Input, Output: "x: T", "x: float", "xs: N * T", "ref: Ref(T)", "args: Tin" (of a list(type))
//   Attr: "T: type", "T: {float, double}", "T: {float, int32} = DT_INT32", "N: int >= 2",
//         "keep_dims: bool = false", "shape: shape = { unknown_rank: true }", "f: func",
//         "strides: list(int)", "padding: {'SAME', 'VALID'}", "value: tensor", "dts: list(type) >=
//         1"
// A malformed specification aborts the process when it is parsed, since it is a bug of the program.
//
// The members are not inline: a program calls them some ten thousand times before main.
class OpBuilder {
 public:
  explicit OpBuilder(absl::string_view name);
  OpBuilder(OpBuilder&&) noexcept;
  ~OpBuilder();
  OpBuilder& Input(absl::string_view spec);
  OpBuilder& Output(absl::string_view spec);
  OpBuilder& Attr(absl::string_view spec);
  OpBuilder& Stateful();
  OpBuilder& Commutative();
  OpBuilder& Aggregate();
  OpBuilder& AllowsUninitializedInput();
  OpBuilder& Deprecated(int producer);
  OpBuilder& ShapeFn(tessera::ShapeFn fn);

  // How the op uses the input `arg`. See ArgUse.
  OpBuilder& Reads(absl::string_view arg);
  OpBuilder& Writes(absl::string_view arg);
  OpBuilder& Forwards(absl::string_view arg);
  OpBuilder& Routes(absl::string_view arg);
  // The op calls functions with `arg` as their arguments, once or in a loop.
  OpBuilder& CallsFunctions(absl::string_view arg);
  OpBuilder& LoopsFunctions(absl::string_view arg);
  // The traits of these names. See OpTrait.
  OpBuilder& ComputesOnly();
  OpBuilder& MakesHandle();
  OpBuilder& MakesResource();
  OpBuilder& OwnedByStep();
  OpBuilder& ReadsOutside();
  OpBuilder& WritesOutside();
  OpBuilder& Random();
  OpBuilder& MayWait();
  OpBuilder& Asserts();
  OpBuilder& ControlFlow();
  OpBuilder& FromCaller();

  const std::string& name() const { return op_->name; }
  // Returns the declaration, with the traits that follow from others. Types and uses may name
  // attributes and arguments that are declared later.
  std::unique_ptr<OpDef> Build() &&;

 private:
  OpBuilder& Add(char kind, absl::string_view spec);
  OpBuilder& Add(ArgUse use, absl::string_view arg);
  OpBuilder& Add(OpTrait trait);

  std::unique_ptr<OpDef> op_;
  // All specifications, in order. Each is a letter for its kind, the text, and a zero byte.
  std::string specs_;
};

// The op declarations of the process. REGISTER_OP fills it before main; op libraries add theirs
// when they are loaded. A program declares a thousand ops and uses some dozens, so a specification
// is parsed when its op is first looked up. Thread-safe. Entries are never removed.
class OpRegistry {
 public:
  static OpRegistry& Global();
  // Returns null for an unknown op.
  const OpDef* Find(absl::string_view name) const;
  // Errors: ALREADY_EXISTS for a second declaration of a name.
  absl::Status Register(OpBuilder builder);
  // Returns all declarations in the order of their names.
  std::vector<const OpDef*> All() const;

 private:
  struct State;
  OpRegistry();
  std::unique_ptr<State> state_;
};

// Declares an op at static initialisation:
//   REGISTER_OP("AddV2").Input("x: T").Input("y: T").Output("z: T")
//       .Attr("T: {bfloat16, half, float, ...}").ShapeFn(shape::Broadcast).Commutative();
//   REGISTER_OP("AssignVariableOp").Input("resource: resource").Input("value: dtype")
//       .Attr("dtype: type").Stateful().Writes("resource");
struct OpRegistration {
  OpRegistration(OpBuilder& builder);                               // NOLINT: converts on purpose
  OpRegistration(OpBuilder&& builder) : OpRegistration(builder) {}  // NOLINT: as above
};
#define REGISTER_OP(name) TESSERA_REGISTER_OP(__COUNTER__, name)
#define TESSERA_REGISTER_OP(counter, name) TESSERA_REGISTER_OP_INNER(counter, name)
#define TESSERA_REGISTER_OP_INNER(counter, name)                                      \
  static const ::tessera::OpRegistration op_registration_##counter [[maybe_unused]] = \
      ::tessera::OpBuilder(name)

}  // namespace tessera
