// Shape functions: what is known of an op's output shapes before it runs.
//
//   absl::Status MatMulShape(ShapeContext& c) {
//     ASSIGN_OR_RETURN(PartialShape a, c.WithRank(0, 2));
//     ...
//     c.set_output(0, PartialShape({m, n}));
//     return absl::OkStatus();
//   }
#pragma once

#include "absl/strings/string_view.h"
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/op.h"

namespace tessera {

// What a shape function sees of one node. Inputs may be of unknown rank; an input's value is there
// when it is constant. Outputs start as unknown. Not thread-safe.
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
  // The constant value of input i, or null.
  const Tensor* input_value(int i) const {
    return i < static_cast<int>(input_values_.size()) ? input_values_[i] : nullptr;
  }
  // A constant int32 or int64 vector (or scalar) input as numbers. Errors: NOT_FOUND if unknown.
  absl::StatusOr<std::vector<int64_t>> IntInput(int i) const;
  // A constant shape-valued input as a shape, -1 as unknown; unknown (of the vector's length if
  // that is known) if it is not constant.
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

  // Input i constrained to a rank: unknown rank becomes `rank` unknown dimensions.
  // Errors: INVALID_ARGUMENT if the rank differs.
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
absl::Status Unknown(ShapeContext& c);
absl::Status Scalar(ShapeContext& c);             // every output is a scalar
absl::Status SameAsFirstInput(ShapeContext& c);   // every output like input 0
absl::Status Broadcast(ShapeContext& c);          // output 0: inputs 0 and 1 broadcast together
absl::Status FromShapeAttr(ShapeContext& c);      // output 0 from attribute `shape`
absl::Status Reduction(ShapeContext& c);          // input 0 reduced over constant axes, `keep_dims`
}  // namespace shape

// The shape two operands broadcast to. Errors: INVALID_ARGUMENT if two known dimensions clash.
absl::StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b);

}  // namespace tessera
