// Branches and loops as graphs of TensorFlow 1 have them: Switch and Merge, and frames.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/random_cases/random_graph.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

DType DrawNumberType(Random& random) {
  static const std::vector<DType> types = {DType::kFloat,  DType::kFloat, DType::kInt32,
                                           DType::kInt64,  DType::kHalf,  DType::kComplex64,
                                           DType::kDouble, DType::kUint8, DType::kBfloat16};
  return random.Pick(types);
}

// Adds one or two calls that wait for nothing but `value`, and `other`, a tensor of its shape.
StepOutput Compute(Sequence& sequence, StepOutput value, const StepOutput& other) {
  Random& random = sequence.random();
  for (int64_t n = random.Between(1, 2); n > 0; --n) {
    if (!IsNumber(value.dtype)) {
      value = sequence.Free("Identity", {value})[0];
      continue;
    }
    static const std::vector<std::string> ops = {"AddV2", "Sub", "Mul"};
    switch (random.Below(4)) {
      case 0:
        value = sequence.Free("Square", {value})[0];
        break;
      case 1:
        value = sequence.Free("Identity", {value})[0];
        break;
      default:
        value = sequence.Free(random.Pick(ops), {value, other})[0];
    }
  }
  return value;
}

// Gives `data` to one of two branches and what that makes of it back, and which branch that was.
// Branches nest.
std::vector<StepOutput> Branch(Sequence& sequence, const StepOutput& data, const StepOutput& pred,
                               int depth) {
  Random& random = sequence.random();
  const std::vector<StepOutput> sides = sequence.Free("Switch", {data, pred});
  std::vector<StepOutput> results;
  for (const StepOutput& side : sides) {
    StepOutput result = random.Chance(0.8) ? Compute(sequence, side, side) : side;
    // A call that only waits for the branch runs with it.
    if (random.Chance(0.2)) {
      const StepOutput trigger = sequence.Free("Identity", {result})[0];
      const StepOutput constant = sequence.Free("ZerosLike", {data})[0];
      sequence.AddControl(constant, trigger);
      if (IsNumber(data.dtype)) result = sequence.Free("AddV2", {result, constant})[0];
    }
    if (depth > 0 && random.Chance(0.4)) result = Branch(sequence, result, pred, depth - 1)[0];
    results.push_back(result);
  }
  if (random.Chance(0.5)) std::swap(results[0], results[1]);
  return sequence.Free("Merge", results);
}

void MakeBranches(Sequence& sequence) {
  Random& random = sequence.random();
  StepOutput data = sequence.Drawn(DrawType(random), RandomShape(random, 2));
  while (sequence.Continues()) {
    const StepOutput pred = sequence.Given(Tensor::Scalar<bool>(random.Chance(0.5)));
    const std::vector<StepOutput> merged = Branch(sequence, data, pred, 2);
    data = merged[0];
    if (random.Chance(0.5)) sequence.Fetch(merged[1]);
    if (random.Chance(0.5)) sequence.Fetch(data);
    // The side that is not taken has no value, and neither has what depends on it.
    if (sequence.Fails()) {
      data = sequence.Free("Switch", {data, pred})[random.Below(2)];
      sequence.Fetch(data);
    }
  }
  sequence.Step("Identity", {data});
}

// A loop in a frame, which counts up to a bound.
class LoopSteps {
 public:
  LoopSteps(Sequence& sequence, std::string frame)
      : sequence_(sequence), random_(sequence.random()), frame_(std::move(frame)) {}

  // Returns what the values of the state are after the loop. Its outermost loop may have others in
  // its body, and branches. `pred` is a scalar for these.
  std::vector<StepOutput> Run(const std::vector<StepOutput>& initial, const StepOutput& pred,
                              const StepOutput& bound, int depth) {
    parallel_ = random_.Between(1, 10);
    std::vector<StepOutput> merged;
    const StepOutput zero = Int(0, initial[0]);
    merged.push_back(Merge(Enter(zero, false)));
    for (const StepOutput& value : initial) merged.push_back(Merge(Enter(value, false)));
    const StepOutput limit = Enter(bound, true);
    const StepOutput pred_inside = Enter(pred, true);
    std::vector<StepOutput> constants;
    for (const StepOutput& value : initial) constants.push_back(Enter(value, true));

    const StepOutput less = sequence_.Free("Less", {merged[0], limit})[0];
    const StepOutput goes_on = sequence_.Free("LoopCond", {less})[0];
    std::vector<StepOutput> exits;
    for (size_t i = 0; i < merged.size(); ++i) {
      const std::vector<StepOutput> sides = sequence_.Free("Switch", {merged[i], goes_on});
      exits.push_back(sequence_.Free("Exit", {sides[0]})[0]);
      const StepOutput inside = sequence_.Free("Identity", {sides[1]})[0];
      StepOutput next;
      if (i == 0) {
        next = sequence_.Free("AddV2", {inside, Int(1, inside)})[0];
        inside_ = inside;
      } else {
        next = Body(inside, constants[i - 1], pred_inside, depth);
      }
      sequence_.SetInput(merged[i], 1, sequence_.Free("NextIteration", {next})[0]);
    }
    return exits;
  }

 private:
  // A constant in the frame of `beside`.
  StepOutput Int(int32_t number, const StepOutput& beside) {
    const StepOutput constant = sequence_.Free(
        "Const", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(number)}})[0];
    sequence_.AddControl(constant, beside);
    return constant;
  }

  StepOutput Enter(const StepOutput& value, bool is_constant) {
    return sequence_.Free("Enter", {value},
                          {{"frame_name", frame_},
                           {"is_constant", is_constant},
                           {"parallel_iterations", parallel_}})[0];
  }
  // Its second input is set once the body is there.
  StepOutput Merge(const StepOutput& entered) {
    return sequence_.Free("Merge", {entered, entered})[0];
  }

  StepOutput Body(const StepOutput& value, const StepOutput& constant, const StepOutput& pred,
                  int depth) {
    StepOutput next = Compute(sequence_, value, constant);
    if (random_.Chance(0.3)) {
      const StepOutput is_late = sequence_.Free("Less", {Int(1, inside_), inside_})[0];
      next = Branch(sequence_, next, random_.Chance(0.5) ? is_late : pred, 1)[0];
    }
    if (depth > 0 && random_.Chance(0.4)) {
      const StepOutput bound = random_.Chance(0.5) ? inside_ : Int(2, inside_);
      LoopSteps inner(sequence_, absl::StrCat(frame_, "_", num_inner_++));
      next = inner.Run({next}, pred, bound, depth - 1)[1];
    }
    return next;
  }

  Sequence& sequence_;
  Random& random_;
  const std::string frame_;
  int64_t parallel_ = 10;
  StepOutput inside_;  // the number of the iteration
  int num_inner_ = 0;
};

void MakeLoop(Sequence& sequence) {
  Random& random = sequence.random();
  for (int64_t loop = 0, loops = random.Between(1, 2); loop < loops; ++loop) {
    std::vector<StepOutput> state;
    for (int64_t n = random.Between(1, 3); n > 0; --n) {
      state.push_back(sequence.Drawn(DrawNumberType(random), RandomShape(random, 2)));
    }
    const StepOutput pred = sequence.Given(Tensor::Scalar<bool>(random.Chance(0.5)));
    const auto times = static_cast<int32_t>(random.Between(0, 4));
    const StepOutput bound = sequence.Exactly(Tensor::Scalar<int32_t>(times));
    LoopSteps steps(sequence, absl::StrCat("loop", loop));
    for (const StepOutput& value : steps.Run(state, pred, bound, 2)) {
      sequence.Step("Identity", {value});
    }
    if (!sequence.Continues()) break;
  }
}

// A reference that goes through one of two branches, each of which writes into the variable.
void MakeReferenceBranch(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = DrawNumberType(random);
  const Shape shape = RandomShape(random, 2);
  const StepOutput variable =
      sequence.Step("VariableV2", {}, {{"dtype", dtype}, {"shape", PartialShape(shape)}})[0];
  sequence.Step("Assign", {variable, sequence.Drawn(dtype, shape)});
  while (sequence.Continues()) {
    const StepOutput pred = sequence.Given(Tensor::Scalar<bool>(random.Chance(0.5)));
    const std::vector<StepOutput> sides = sequence.Unseen("RefSwitch", {variable, pred});
    const StepOutput added =
        sequence.Free("AssignAdd", {sides[0], sequence.Drawn(dtype, shape)})[0];
    const StepOutput subtracted =
        sequence.Free("AssignSub", {sides[1], sequence.Drawn(dtype, shape)})[0];
    const StepOutput merged = sequence.Free("RefMerge", {added, subtracted})[0];
    const StepOutput kept = random.Chance(0.5) ? sequence.Free("RefIdentity", {merged})[0] : merged;
    sequence.Step("DeepCopy", {kept});
  }
}

// Calls that wait for others by control edges alone.
void MakeTriggers(Sequence& sequence) {
  Random& random = sequence.random();
  StepOutput value = sequence.Drawn(DrawNumberType(random), RandomShape(random, 2));
  while (sequence.Continues()) {
    if (random.Chance(0.5)) sequence.Step("ControlTrigger", {});
    if (random.Chance(0.3)) sequence.Step("NoOp", {});
    const StepOutput pred = sequence.Given(Tensor::Scalar<bool>(random.Chance(0.9)));
    const std::vector<StepOutput> sides = sequence.Unseen("Switch", {value, pred});
    value = sequence.Step("Merge", {sides[1], sides[0]})[0];
  }
  sequence.Step("Identity", {value});
}

}  // namespace

std::vector<SequenceMaker> ControlFlowMakers() {
  return {MakeBranches, MakeLoop, MakeLoop, MakeReferenceBranch, MakeTriggers};
}

}  // namespace tessera
