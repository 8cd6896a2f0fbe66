// Op declarations: what a node of a given op takes, gives and may be told.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include "absl/strings/string_view.h"
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/attr_value.h"

namespace tessera {

class ShapeContext;  // runtime/framework/shape_inference.h
using ShapeFn = absl::Status (*)(ShapeContext&);

// One declared input or output. Stands for one tensor, for `number_attr` tensors of one type, or for
// one tensor for each element of `type_list_attr`.
struct ArgDef {
  std::string name;
  DType type = DType::kInvalid;  // fixed type, or kInvalid if an attribute decides
  std::string type_attr;         // attribute of type `type`
  std::string type_list_attr;    // attribute of type `list(type)`
  std::string number_attr;       // attribute of type `int`: how many
  bool is_ref = false;
};

struct AttrDef {
  std::string name;
  // "int", "float", "bool", "string", "type", "shape", "tensor", "func" or "list(...)" of one.
  std::string type;
  std::optional<AttrValue> default_value;
  std::vector<DType> allowed_types;          // empty: any
  std::vector<std::string> allowed_strings;  // empty: any
  std::optional<int64_t> minimum;            // of an int, or of a list's length
};

// Immutable once registered.
struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::vector<std::string> control_outputs;  // functions only
  bool is_stateful = false;
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  int deprecated_at = 0;  // GraphDef producer from which on it is refused; 0: never
  ShapeFn shape_fn = nullptr;

  const AttrDef* FindAttr(absl::string_view name) const;
};

// Adds the defaults of attributes that `attrs` lacks, and checks types, allowed values and minima.
// Errors: INVALID_ARGUMENT naming the attribute: missing, of a wrong type, or not allowed.
// Attributes that the op does not declare are kept; those starting with '_' are always fine.
absl::Status CompleteAttrs(const OpDef& op, AttrMap* attrs);

// The dtypes of all inputs (outputs) of a node with complete attributes, lists spelled out; ref
// arguments give ref types.
absl::StatusOr<std::vector<DType>> InputTypes(const OpDef& op, const AttrMap& attrs);
absl::StatusOr<std::vector<DType>> OutputTypes(const OpDef& op, const AttrMap& attrs);

// Where each declared argument's tensors lie in the node's flat list: [begin, end).
struct ArgRange {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};
// Errors: NOT_FOUND if `arg` is not declared.
absl::StatusOr<ArgRange> InputRange(const OpDef& op, const AttrMap& attrs, absl::string_view arg);
absl::StatusOr<ArgRange> OutputRange(const OpDef& op, const AttrMap& attrs, absl::string_view arg);

// Builds an OpDef from short specifications. See REGISTER_OP.
//   Input/Output: "x: T", "x: float", "xs: N * T", "args: Tin" (a list(type) attribute), "ref: Ref(T)"
//   Attr: "T: type", "T: {float, double}", "T: {float, int32} = DT_INT32", "N: int >= 2",
//         "keep_dims: bool = false", "shape: shape = { unknown_rank: true }", "f: func",
//         "strides: list(int)", "padding: {'SAME', 'VALID'}", "value: tensor", "dts: list(type) >= 1"
// A malformed specification aborts when it is parsed: it is our bug.
class OpBuilder {
 public:
  explicit OpBuilder(absl::string_view name);
  OpBuilder(OpBuilder&&) noexcept;
  ~OpBuilder();  // out of line, as is all that a declaration calls: there are a thousand
  OpBuilder& Input(absl::string_view spec);
  OpBuilder& Output(absl::string_view spec);
  OpBuilder& Attr(absl::string_view spec);
  OpBuilder& Stateful();
  OpBuilder& Commutative();
  OpBuilder& Aggregate();
  OpBuilder& AllowsUninitializedInput();
  OpBuilder& Deprecated(int producer);
  OpBuilder& ShapeFn(tessera::ShapeFn fn);
  const std::string& name() const { return op_->name; }
  // The result; input and output types may name attributes declared in any order.
  std::unique_ptr<OpDef> Build() &&;

 private:
  std::unique_ptr<OpDef> op_;
  // One after the other, each with what it is of before it and a zero behind: 'I', 'O' or 'A'.
  std::string specs_;
};

// The process's op declarations. Filled before main by REGISTER_OP and by op libraries loaded
// later; thread-safe; entries live for ever. A program declares a thousand ops and uses some
// dozens: specifications are parsed once an op is looked for.
class OpRegistry {
 public:
  static OpRegistry& Global();
  // Null if unknown.
  const OpDef* Find(absl::string_view name) const;
  // Errors: ALREADY_EXISTS for a second declaration of a name.
  absl::Status Register(OpBuilder builder);
  std::vector<const OpDef*> All() const;

 private:
  struct State;
  OpRegistry();
  std::unique_ptr<State> state_;
};

// Registers at static initialisation:
//   REGISTER_OP("AddV2").Input("x: T").Input("y: T").Output("z: T")
//       .Attr("T: {bfloat16, half, float, ...}").ShapeFn(shape::Broadcast).Commutative();
struct OpRegistration {
  OpRegistration(OpBuilder& builder);                                // NOLINT: converts on purpose
  OpRegistration(OpBuilder&& builder) : OpRegistration(builder) {}  // NOLINT: as above
};
#define REGISTER_OP(name) TESSERA_REGISTER_OP(__COUNTER__, name)
#define TESSERA_REGISTER_OP(counter, name) TESSERA_REGISTER_OP_INNER(counter, name)
#define TESSERA_REGISTER_OP_INNER(counter, name)                             \
  static const ::tessera::OpRegistration op_registration_##counter [[maybe_unused]] = \
      ::tessera::OpBuilder(name)

}  // namespace tessera
