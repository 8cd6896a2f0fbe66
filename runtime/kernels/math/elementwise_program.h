// Programs of elementwise functions: what a _FusedElementwise node computes, and how for inputs of
// given shapes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/fused_elementwise.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// The attributes of a _FusedElementwise node (runtime/ops/internal_ops.cc). Value i is view i of an
// input, or, from the number of views on, the result of a step. Immutable.
class ElementwiseProgram {
 public:
  // How to compute for inputs of certain shapes.
  struct Plan {
    std::vector<Shape> input_shapes;
    std::vector<Shape> output_shapes;
    // Inputs whose memory an output may take over, by output.
    std::vector<std::vector<int>> forwards;
    // Values that one sweep leaves to another. Base addresses are those of the inputs, the outputs
    // and these, in this order.
    std::vector<Shape> temporaries;
    // In their order. A sweep has the steps whose results have one shape.
    std::vector<ElementwiseSweep> sweeps;
  };

  // Attributes that contradict each other fail the build.
  explicit ElementwiseProgram(const KernelBuild& build);

  // The name of the elementwise declaration that each step calls.
  std::vector<std::string> Functions() const;
  // Errors: INVALID_ARGUMENT naming the node that a step stands for if its operands have shapes
  // that it does not take, or if an input cannot be split as its views say, or results cannot be
  // joined.
  absl::StatusOr<Plan> MakePlan(std::vector<Shape> input_shapes) const;

 private:
  // A part of an input: part `part` of `parts` equal ones along `axis`.
  struct View {
    int input, axis, part, parts;
  };
  struct Step {
    std::string function;
    std::string node;  // that it stands for
    int arity = 0;
    std::array<int, 3> operands{};
    DType result = DType::kFloat;  // or kBool
    // The flags of the same names in ElementwiseOp.
    bool same_shapes = false, same_sizes = false;
    double cost = 0;
  };
  // Values that are joined along `axis`; a single one is the output itself.
  struct Output {
    int axis;
    std::vector<int> values;
  };
  class Planner;

  absl::Status Read(const KernelBuild& build);
  // Returns a step that calls `op`, still without operands. Errors: INVALID_ARGUMENT.
  static absl::StatusOr<Step> MakeStep(const std::string& op);
  // Errors: INVALID_ARGUMENT if the step gets a bool for a float, or a float for a bool.
  absl::Status CheckOperands(const Step& step) const;
  DType TypeOf(int value) const {
    const int step = value - static_cast<int>(views_.size());
    return step < 0 ? DType::kFloat : steps_[step].result;
  }

  std::vector<View> views_;
  std::vector<Step> steps_;
  std::vector<Output> outputs_;
};

}  // namespace tessera
