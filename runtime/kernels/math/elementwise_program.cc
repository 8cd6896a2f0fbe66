#include "runtime/kernels/math/elementwise_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/strided_operands.h"

namespace tessera {
namespace {

constexpr int64_t kSize = sizeof(float);

constexpr char kSelect[] = "SelectV2";

// The declaration that a step of `op` calls. AddN of two adds.
std::string FunctionOf(const std::string& op) { return op == "AddN" ? "AddV2" : op; }

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed attributes: ", what));
}

// Returns the axis from 0 on. Errors: INVALID_ARGUMENT if there is no such axis.
absl::StatusOr<int> AxisOf(int axis, const Shape& shape) {
  const int found = axis < 0 ? axis + shape.rank() : axis;
  if (found >= 0 && found < shape.rank()) return found;
  return absl::InvalidArgumentError(
      absl::StrCat("shape ", shape.ToString(), " has no dimension ", axis));
}

bool AgreeApartFrom(int axis, const Shape& a, const Shape& b) {
  bool agree = a.rank() == b.rank();
  for (int d = 0; agree && d < a.rank(); ++d) agree = d == axis || a.dim(d) == b.dim(d);
  return agree;
}

}  // namespace

ElementwiseProgram::ElementwiseProgram(const KernelBuild& build) {
  const absl::Status status = Read(build);
  if (!status.ok()) build.Fail(status);
}

absl::Status ElementwiseProgram::Read(const KernelBuild& build) {
  const auto ops = build.attr<std::vector<std::string>>("ops");
  const auto names = build.attr<std::vector<std::string>>("names");
  const auto operands = build.attr<std::vector<int64_t>>("operands");
  const auto views = build.attr<std::vector<int64_t>>("views");
  const auto results = build.attr<std::vector<int64_t>>("results");
  const auto joins = build.attr<std::vector<int64_t>>("joins");
  if (!build.status().ok()) return absl::OkStatus();
  const int num_inputs = build.num_inputs();
  const int num_outputs = static_cast<int>(build.output_types().size());

  if (views.size() % 4 != 0) return Malformed("views");
  for (size_t i = 0; i < views.size(); i += 4) {
    const View view{static_cast<int>(views[i]), static_cast<int>(views[i + 1]),
                    static_cast<int>(views[i + 2]), static_cast<int>(views[i + 3])};
    if (view.input < 0 || view.input >= num_inputs || view.part < 0 || view.part >= view.parts) {
      return Malformed("views");
    }
    views_.push_back(view);
  }
  if (names.size() != ops.size()) return Malformed("names");
  if (ops.size() > ElementwiseSweep::kMaxSlots) return Malformed("too many ops");
  size_t next = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    ASSIGN_OR_RETURN(Step step, MakeStep(ops[i]));
    step.node = names[i];
    for (int k = 0; k < step.arity; ++k) {
      const int64_t value = next < operands.size() ? operands[next++] : -1;
      if (value < 0 || value >= static_cast<int64_t>(views_.size() + i)) {
        return Malformed("operands");
      }
      step.operands[k] = static_cast<int>(value);
    }
    RETURN_IF_ERROR(CheckOperands(step));
    steps_.push_back(std::move(step));
  }
  if (next != operands.size()) return Malformed("operands");
  if (joins.size() != 2 * static_cast<size_t>(num_outputs)) return Malformed("joins");
  const int num_values = static_cast<int>(views_.size() + steps_.size());
  std::vector<bool> is_result(num_values);
  auto result = results.begin();
  for (int i = 0; i < num_outputs; ++i) {
    Output output{.axis = static_cast<int>(joins[2 * i + 1]), .values = {}};
    if (joins[2 * i] < 1 || joins[2 * i] > results.end() - result) return Malformed("joins");
    for (int64_t k = 0; k < joins[2 * i]; ++k) {
      // Each step's result is stored in one place.
      if (*result < static_cast<int64_t>(views_.size()) || *result >= num_values ||
          is_result[*result] || TypeOf(static_cast<int>(*result)) != DType::kFloat) {
        return Malformed("results");
      }
      is_result[*result] = true;
      output.values.push_back(static_cast<int>(*result++));
    }
    outputs_.push_back(std::move(output));
  }
  return result == results.end() ? absl::OkStatus() : Malformed("results");
}

absl::StatusOr<ElementwiseProgram::Step> ElementwiseProgram::MakeStep(const std::string& name) {
  if (name == kSelect) return Step{.function = name, .arity = 3, .cost = 0.3};
  const ElementwiseOp* const op = FindElementwiseOp(FunctionOf(name));
  const bool is_known = op != nullptr && op->arity <= 2 && op->attr == nullptr &&
                        (Contains(op->dtypes, DType::kFloat) || Contains(op->dtypes, DType::kBool));
  if (!is_known) return Malformed(absl::StrCat("op ", name));
  Step step{.function = op->name, .arity = op->arity};
  const bool takes_float = Contains(op->dtypes, DType::kFloat);
  step.result = op->ResultOf(takes_float ? DType::kFloat : DType::kBool);
  step.same_shapes = op->same_shapes || name == "AddN";
  step.same_sizes = op->same_sizes;
  step.cost = op->cost;
  if (step.result == DType::kFloat || step.result == DType::kBool) return step;
  return Malformed(absl::StrCat("op ", name));
}

absl::Status ElementwiseProgram::CheckOperands(const Step& step) const {
  const bool takes_float =
      step.function == kSelect || Contains(FindElementwiseOp(step.function)->dtypes, DType::kFloat);
  for (int k = 0; k < step.arity; ++k) {
    const bool is_condition = k == 0 && step.function == kSelect;
    const DType wanted = takes_float && !is_condition ? DType::kFloat : DType::kBool;
    if (TypeOf(step.operands[k]) != wanted) return Malformed("operands");
  }
  return absl::OkStatus();
}

std::vector<std::string> ElementwiseProgram::Functions() const {
  std::vector<std::string> functions;
  for (const Step& step : steps_) functions.push_back(step.function);
  return functions;
}

// Makes one plan.
class ElementwiseProgram::Planner {
 public:
  Planner(const ElementwiseProgram& program, std::vector<Shape> input_shapes)
      : program_(program),
        num_views_(static_cast<int>(program.views_.size())),
        values_(program.views_.size() + program.steps_.size()) {
    plan_.input_shapes = std::move(input_shapes);
  }

  absl::StatusOr<Plan> Make() && {
    RETURN_IF_ERROR(PlaceViews());
    RETURN_IF_ERROR(InferShapes());
    RETURN_IF_ERROR(PlaceOutputs());
    AssignSweeps();
    PlaceTemporaries();
    for (int sweep = 0; sweep < num_sweeps_; ++sweep) AddSweep(sweep);
    FindForwards();
    return std::move(plan_);
  }

 private:
  // Where a value lies. Strides have an entry for each dimension of the shape.
  struct ValuePlace {
    Shape shape;
    int base = -1;  // -1: in scratch memory
    int64_t offset = 0;
    ByteStrides strides;
    int sweep = -1;        // that computes it; -1 for views
    int last_reader = -1;  // the last step that reads it
    int reads = 0;         // by all steps
  };

  int64_t SizeOf(int value) const {
    return static_cast<int64_t>(DTypeSize(program_.TypeOf(value)));
  }
  const Step& step(int i) const { return program_.steps_[i]; }
  int num_steps() const { return static_cast<int>(program_.steps_.size()); }
  ValuePlace& result_of(int step) { return values_[num_views_ + step]; }

  absl::Status PlaceViews() {
    for (int i = 0; i < num_views_; ++i) {
      const View& view = program_.views_[i];
      const Shape& shape = plan_.input_shapes[view.input];
      ValuePlace& place = values_[i];
      place.base = view.input;
      place.shape = shape;
      place.strides = RowMajorByteStrides(shape, kSize);
      if (view.parts == 1) continue;
      ASSIGN_OR_RETURN(const int axis, AxisOf(view.axis, shape));
      if (shape.dim(axis) % view.parts != 0) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of shape ",
                                                       shape.ToString(), " has no ", view.parts,
                                                       " equal parts"));
      }
      place.shape.SetDim(axis, shape.dim(axis) / view.parts);
      place.offset = view.part * place.shape.dim(axis) * place.strides[axis];
    }
    return absl::OkStatus();
  }

  absl::Status InferShapes() {
    for (int i = 0; i < num_steps(); ++i) {
      const Step& s = step(i);
      Shape shape = values_[s.operands[0]].shape;
      for (int k = 1; k < s.arity; ++k) {
        const Shape& other = values_[s.operands[k]].shape;
        if (shape == other) continue;
        const bool is_reshaped =
            s.same_sizes && shape.num_elements() == other.num_elements() && IsWhole(s.operands[k]);
        if (is_reshaped) continue;
        if (s.same_shapes || s.same_sizes) {
          return absl::InvalidArgumentError(absl::StrCat(
              "node '", s.node, "': operands of ", s.function, " must have equal shapes, not ",
              shape.ToString(), ", ", other.ToString()));
        }
        absl::StatusOr<Shape> both = BroadcastShape(shape, other);
        if (!both.ok()) {
          return absl::InvalidArgumentError(
              absl::StrCat("node '", s.node, "': ", both.status().message()));
        }
        shape = *std::move(both);
      }
      result_of(i).shape = std::move(shape);
      for (int k = 0; k < s.arity; ++k) {
        values_[s.operands[k]].last_reader = i;
        ++values_[s.operands[k]].reads;
      }
    }
    return absl::OkStatus();
  }

  // Returns whether a value is a tensor by itself, and not a part of a larger one.
  bool IsWhole(int value) const {
    if (value < num_views_) return program_.views_[value].parts == 1;
    return std::none_of(program_.outputs_.begin(), program_.outputs_.end(), [&](const Output& o) {
      return o.values.size() > 1 && std::count(o.values.begin(), o.values.end(), value) > 0;
    });
  }

  absl::Status PlaceOutputs() {
    const int first_base = static_cast<int>(plan_.input_shapes.size());
    for (const Output& output : program_.outputs_) {
      Shape shape = values_[output.values[0]].shape;
      int axis = 0;
      if (output.values.size() > 1) {
        ASSIGN_OR_RETURN(axis, AxisOf(output.axis, shape));
        for (size_t k = 1; k < output.values.size(); ++k) {
          const Shape& next = values_[output.values[k]].shape;
          if (!AgreeApartFrom(axis, shape, next)) {
            return absl::InvalidArgumentError(
                absl::StrCat("shapes ", shape.ToString(), " and ", next.ToString(),
                             " cannot be joined along dimension ", output.axis));
          }
          absl::InlinedVector<int64_t, 6> dims(shape.dims().begin(), shape.dims().end());
          dims[axis] += next.dim(axis);
          ASSIGN_OR_RETURN(shape, Shape::Make(dims));
        }
      }
      const ByteStrides strides = RowMajorByteStrides(shape, kSize);
      int64_t offset = 0;
      for (const int value : output.values) {
        ValuePlace& place = values_[value];
        place.base = first_base + static_cast<int>(plan_.output_shapes.size());
        place.strides = strides;
        place.offset = offset;
        if (output.values.size() > 1) offset += place.shape.dim(axis) * strides[axis];
      }
      plan_.output_shapes.push_back(std::move(shape));
    }
    return absl::OkStatus();
  }

  // A sweep takes all steps that are ready and have the shape of the first one that is.
  void AssignSweeps() {
    for (int assigned = 0; assigned < num_steps(); ++num_sweeps_) {
      const Shape* shape = nullptr;
      for (int i = 0; i < num_steps(); ++i) {
        ValuePlace& result = result_of(i);
        if (result.sweep >= 0 || (shape != nullptr && !(result.shape == *shape))) continue;
        if (!IsReady(step(i))) continue;
        shape = &result.shape;
        result.sweep = num_sweeps_;
        ++assigned;
      }
    }
  }

  bool IsReady(const Step& s) const {
    for (int k = 0; k < s.arity; ++k) {
      if (s.operands[k] >= num_views_ && values_[s.operands[k]].sweep < 0) return false;
    }
    return true;
  }

  // Results that another sweep reads need memory of their own, as much as floats would.
  void PlaceTemporaries() {
    const int first_base = static_cast<int>(plan_.input_shapes.size() + plan_.output_shapes.size());
    for (int i = 0; i < num_steps(); ++i) {
      for (int k = 0; k < step(i).arity; ++k) {
        ValuePlace& operand = values_[step(i).operands[k]];
        if (operand.base >= 0 || operand.sweep == result_of(i).sweep) continue;
        operand.base = first_base + static_cast<int>(plan_.temporaries.size());
        operand.strides = RowMajorByteStrides(operand.shape, SizeOf(step(i).operands[k]));
        plan_.temporaries.push_back(operand.shape);
      }
    }
  }

  // Strides that let a value be read for each element of `shape`.
  static ByteStrides StridesIn(const ValuePlace& value, const Shape& shape) {
    ByteStrides strides(shape.rank(), 0);
    const int offset = shape.rank() - value.shape.rank();
    for (int d = 0; d < value.shape.rank(); ++d) {
      if (value.shape.dim(d) != 1) strides[d + offset] = value.strides[d];
    }
    return strides;
  }

  void AddSweep(int index) {
    ElementwiseSweep& sweep = plan_.sweeps.emplace_back();
    const Shape* shape = nullptr;
    std::vector<int> operand_of(values_.size(), -1);
    std::vector<ByteStrides> strides;
    std::vector<int> free_slots;
    for (int i = 0; i < num_steps(); ++i) {
      if (result_of(i).sweep != index) continue;
      shape = &result_of(i).shape;
      ElementwiseSweep::Call call{.function = i, .arity = step(i).arity, .operands = {}};
      const auto place_operand = [&](int k, int value) {
        if (operand_of[value] < 0) {
          operand_of[value] = static_cast<int>(sweep.operands.size());
          const ValuePlace& place = values_[value];
          ElementwiseSweep::Operand& operand = sweep.operands.emplace_back();
          operand.base = place.base;
          operand.offset = place.offset;
          if (place.base < 0) {
            if (free_slots.empty()) free_slots.push_back(sweep.num_slots++);
            operand.slot = free_slots.back();
            operand.column_stride = SizeOf(value);
            free_slots.pop_back();
            strides.emplace_back();
          } else if (step(i).same_sizes && !(place.shape == *shape)) {
            // Such an operand is a whole tensor, which is read as one of the result's shape.
            strides.push_back(RowMajorByteStrides(*shape, kSize));
          } else {
            strides.push_back(StridesIn(place, *shape));
          }
        }
        call.operands[k] = operand_of[value];
      };
      for (int k = 1; k <= call.arity; ++k) place_operand(k, step(i).operands[k - 1]);
      // The result may take the slot of what is read for the last time here, element by element,
      // and later results those of other sizes.
      const int result = num_views_ + i;
      const std::vector<std::pair<int, int64_t>> ended = EndedSlots(i, call, sweep);
      for (const auto& [slot, size] : ended) {
        if (size == SizeOf(result)) free_slots.push_back(slot);
      }
      place_operand(0, result);
      for (const auto& [slot, size] : ended) {
        if (size != SizeOf(result)) free_slots.push_back(slot);
      }
      sweep.calls.push_back(call);
      sweep.cost += step(i).cost;
    }
    for (size_t i = 0; i + 1 < sweep.calls.size(); ++i) {
      const ValuePlace& result = result_of(sweep.calls[i].function);
      sweep.calls[i].feeds_next =
          result.base < 0 && result.reads == 1 && result.last_reader == sweep.calls[i + 1].function;
    }
    if (shape->num_elements() == 0) {
      plan_.sweeps.pop_back();
    } else {
      Coalesce(*shape, strides, sweep);
    }
  }

  // Returns the slots, and their elements' sizes, of the scratch operands of step i that no later
  // step reads.
  std::vector<std::pair<int, int64_t>> EndedSlots(int i, const ElementwiseSweep::Call& call,
                                                  const ElementwiseSweep& sweep) const {
    std::vector<std::pair<int, int64_t>> slots;
    for (int k = 1; k <= call.arity; ++k) {
      const int value = step(i).operands[k - 1];
      const bool is_again = std::find(call.operands.begin() + 1, call.operands.begin() + k,
                                      call.operands[k]) != call.operands.begin() + k;
      if (values_[value].base < 0 && values_[value].last_reader == i && !is_again) {
        slots.emplace_back(sweep.operands[call.operands[k]].slot, SizeOf(value));
      }
    }
    return slots;
  }

  // Drops dimensions of one element and merges those that all operands in memory walk through
  // without a gap; the last two that stay become rows and columns.
  static void Coalesce(const Shape& shape, std::vector<ByteStrides>& strides,
                       ElementwiseSweep& sweep) {
    absl::InlinedVector<int64_t, 6> dims;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape.dim(d) == 1) continue;
      const int last = static_cast<int>(dims.size()) - 1;
      const bool merges =
          last >= 0 && std::all_of(strides.begin(), strides.end(), [&](const ByteStrides& s) {
            return s.empty() || s[last] == s[d] * shape.dim(d);
          });
      if (merges) {
        dims[last] *= shape.dim(d);
      } else {
        dims.push_back(shape.dim(d));
      }
      for (ByteStrides& s : strides) {
        if (!s.empty()) s[dims.size() - 1] = s[d];
      }
    }
    const int rank = static_cast<int>(dims.size());
    if (rank > 0) sweep.columns = dims[rank - 1];
    if (rank > 1) sweep.rows = dims[rank - 2];
    if (rank > 2) sweep.outer_dims.assign(dims.begin(), dims.end() - 2);
    for (size_t i = 0; i < strides.size(); ++i) {
      ElementwiseSweep::Operand& operand = sweep.operands[i];
      if (strides[i].empty()) {
        operand.outer_strides.resize(sweep.outer_dims.size(), 0);
        continue;
      }
      if (rank > 0) operand.column_stride = strides[i][rank - 1];
      if (rank > 1) operand.row_stride = strides[i][rank - 2];
      if (rank > 2) operand.outer_strides.assign(strides[i].begin(), strides[i].begin() + rank - 2);
    }
  }

  // An output may take over the memory of an input of its shape that is read element by element,
  // and neither after the output is written nor in another sweep.
  void FindForwards() {
    for (const Output& output : program_.outputs_) {
      std::vector<int>& candidates = plan_.forwards.emplace_back();
      if (output.values.size() > 1) continue;
      const int writer = output.values[0] - num_views_;
      for (int i = 0; i < num_views_; ++i) {
        const View& view = program_.views_[i];
        if (view.parts == 1 && values_[i].shape == result_of(writer).shape &&
            std::count_if(program_.views_.begin(), program_.views_.end(),
                          [&](const View& v) { return v.input == view.input; }) == 1 &&
            IsReadBefore(i, writer)) {
          candidates.push_back(view.input);
        }
      }
    }
  }

  bool IsReadBefore(int value, int writer) {
    for (int i = 0; i < num_steps(); ++i) {
      for (int k = 0; k < step(i).arity; ++k) {
        if (step(i).operands[k] != value) continue;
        if (i > writer || result_of(i).sweep != result_of(writer).sweep ||
            !(result_of(i).shape == values_[value].shape)) {
          return false;
        }
      }
    }
    return true;
  }

  const ElementwiseProgram& program_;
  const int num_views_;
  std::vector<ValuePlace> values_;
  int num_sweeps_ = 0;
  Plan plan_;
};

absl::StatusOr<ElementwiseProgram::Plan> ElementwiseProgram::MakePlan(
    std::vector<Shape> input_shapes) const {
  return Planner(*this, std::move(input_shapes)).Make();
}

}  // namespace tessera
