// Shape functions: they infer the output shapes of a node before it runs.
//
//   absl::Status MatMulShape(ShapeContext& c) {
//     ASSIGN_OR_RETURN(PartialShape a, c.WithRank(0, 2));
//     ...
//     c.set_output(0, PartialShape({m, n}));
//     return absl::OkStatus();
//   }
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/op.h"

namespace tessera {

// One node as its shape function sees it. An input's rank may be unknown, and its value is known
// only if it is constant. Output shapes are unknown until they are set. Not thread-safe.
class ShapeContext {
 public:
  ShapeContext(const OpDef& op, const AttrMap& attrs, std::vector<PartialShape> inputs,
               std::vector<const Tensor*> input_values, int num_outputs)
      : op_(op),
        attrs_(attrs),
        inputs_(std::move(inputs)),
        input_values_(std::move(input_values)),
        outputs_(num_outputs) {}

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const PartialShape& input(int i) const { return inputs_[i]; }
  // Returns the constant value of input i, or null if it is not constant.
  const Tensor* input_value(int i) const {
    return i < static_cast<int>(input_values_.size()) ? input_values_[i] : nullptr;
  }
  // Returns the elements of input i, a constant int32 or int64 scalar or vector.
  // Errors: NOT_FOUND if the input is not constant.
  absl::StatusOr<std::vector<int64_t>> IntInput(int i) const;
  // Returns the shape that input i, an int32 or int64 vector, describes; -1 is an unknown
  // dimension. If the input is not constant, all dimensions are unknown, and so is the rank unless
  // the input's length is known.
  absl::StatusOr<PartialShape> ShapeInput(int i) const;

  template <typename T>
  absl::StatusOr<T> attr(absl::string_view name) const {
    return GetAttr<T>(attrs_, name);
  }
  const OpDef& op() const { return op_; }
  const AttrMap& attrs() const { return attrs_; }
  absl::StatusOr<ArgRange> InputRange(absl::string_view arg) const {
    return tessera::InputRange(op_, attrs_, arg);
  }

  // Returns the shape of input i, which must have this rank. An unknown rank becomes `rank` unknown
  // dimensions. Errors: INVALID_ARGUMENT if the rank differs.
  absl::StatusOr<PartialShape> WithRank(int i, int rank) const;

  void set_output(int i, PartialShape shape) { outputs_[i] = std::move(shape); }
  const std::vector<PartialShape>& outputs() const { return outputs_; }

 private:
  const OpDef& op_;
  const AttrMap& attrs_;
  std::vector<PartialShape> inputs_;
  std::vector<const Tensor*> input_values_;
  std::vector<PartialShape> outputs_;
};

// Shape functions that many ops share.
namespace shape {
absl::Status Unknown(ShapeContext& c);            // leaves every output unknown
absl::Status Scalar(ShapeContext& c);             // makes every output a scalar
absl::Status ScalarsAfterFirst(ShapeContext& c);  // makes every output but the first a scalar
absl::Status SameAsFirstInput(ShapeContext& c);   // gives every output the shape of input 0
absl::Status Broadcast(ShapeContext& c);          // output 0 is inputs 0 and 1 broadcast together
absl::Status FromShapeAttr(ShapeContext& c);      // output 0 has the shape in attribute `shape`
absl::Status Reduction(ShapeContext& c);          // input 0 reduced over the axes in input 1
}  // namespace shape

// Returns the shape that two operands broadcast to.
// Errors: INVALID_ARGUMENT if two known dimensions are incompatible.
absl::StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b);

}  // namespace tessera
