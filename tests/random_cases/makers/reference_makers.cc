// Sequences of ops on variables behind references, as graphs of TensorFlow 1 have them.
#include <algorithm>

#include "tests/random_cases/argument_roles.h"
#include "tests/random_cases/makers/variable_updates.h"
#include "tests/random_cases/random_graph.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

StepOutput MakeVariable(Sequence& sequence, DType dtype, const Shape& shape) {
  Random& random = sequence.random();
  const StepOutput variable = sequence.Step(random.Chance(0.7) ? "VariableV2" : "Variable", {},
                                            {{"dtype", dtype}, {"shape", PartialShape(shape)}})[0];
  if (random.Chance(0.98)) {
    sequence.Step("Assign", {variable, sequence.Drawn(dtype, shape)},
                  {{"validate_shape", random.Chance(0.8)}});
  }
  return variable;
}

// A fetch of a reference sees what later steps write: its value is copied.
void Read(Sequence& sequence, const StepOutput& variable) { sequence.Step("DeepCopy", {variable}); }

// The steps on one variable.
class ReferenceSteps {
 public:
  explicit ReferenceSteps(Sequence& sequence)
      : sequence_(sequence),
        random_(sequence.random()),
        dtype_(DrawType(random_)),
        shape_(RandomShape(random_, 3)) {}

  void Run() {
    variable_ = MakeVariable(sequence_, dtype_, shape_);
    // An op gives the reference on, and the next one may take it from there.
    while (sequence_.Continues()) {
      const std::vector<StepOutput> given = Change();
      if (!given.empty() && IsRef(given[0].dtype) && random_.Chance(0.5)) variable_ = given[0];
      if (random_.Chance(0.4)) Read(sequence_, variable_);
      if (random_.Chance(0.1)) sequence_.Step("IsVariableInitialized", {variable_});
    }
    Read(sequence_, variable_);
  }

 private:
  std::vector<StepOutput> Change() {
    static const std::vector<std::string> scatter = {"Update", "Add", "Sub", "Mul", "Min", "Max"};
    static const std::vector<std::string> nd = {"Update", "Add", "Sub", "Min", "Max"};
    const AttrMap locking = {{"use_locking", random_.Chance(0.5)}};
    switch (random_.Below(8)) {
      case 0:
        return sequence_.Step("Assign", {variable_, sequence_.Drawn(dtype_, shape_)}, locking);
      case 1:
      case 2:
        if (!IsNumber(dtype_)) return {};
        return sequence_.Step(random_.Chance(0.5) ? "AssignAdd" : "AssignSub",
                              {variable_, sequence_.Drawn(dtype_, shape_)}, locking);
      case 3:
      case 4: {
        if (shape_.rank() == 0) return {};
        const std::string op = "Scatter" + (HasOrder() ? random_.Pick(scatter) : scatter[0]);
        const UpdateRows rows = DrawUpdateRows(random_, shape_);
        const StepOutput indices =
            sequence_.Given(ConvertedTensor(random_, rows.indices, DrawIndexType(random_)));
        const Shape updates = random_.Chance(0.2) ? Shape() : rows.updates;
        return sequence_.Step(op, {variable_, indices, sequence_.Drawn(dtype_, updates)}, locking);
      }
      case 5: {
        if (shape_.rank() == 0) return {};
        const UpdateRows rows = DrawUpdatePositions(random_, shape_);
        const StepOutput indices =
            sequence_.Given(ConvertedTensor(random_, rows.indices, DrawIndexType(random_)));
        return sequence_.Step("ScatterNd" + (HasOrder() ? random_.Pick(nd) : nd[0]),
                              {variable_, indices, sequence_.Drawn(dtype_, rows.updates)}, locking);
      }
      case 6: {
        const SliceSteps slice = DrawSlice(random_, shape_);
        const DType type = DrawIndexType(random_);
        std::vector<StepOutput> inputs = {variable_};
        for (const Tensor& part : {slice.begin, slice.end, slice.strides}) {
          inputs.push_back(sequence_.Given(ConvertedTensor(random_, part, type)));
        }
        inputs.push_back(sequence_.Drawn(dtype_, slice.shape));
        return sequence_.Step("StridedSliceAssign", inputs, slice.masks);
      }
      default:
        if (shape_.rank() == 0 && (dtype_ == DType::kInt32 || dtype_ == DType::kInt64)) {
          return sequence_.Step("CountUpTo", {variable_}, {{"limit", random_.Between(1, 9)}});
        }
        return sequence_.Step("RefIdentity", {variable_});
    }
  }

  // Whether ScatterMin and its kin take the type.
  bool HasOrder() const {
    return dtype_ == DType::kFloat || dtype_ == DType::kDouble || dtype_ == DType::kInt32 ||
           dtype_ == DType::kInt64 || dtype_ == DType::kHalf || dtype_ == DType::kBfloat16;
  }

  Sequence& sequence_;
  Random& random_;
  const DType dtype_;
  const Shape shape_;
  StepOutput variable_;
};

void MakeReference(Sequence& sequence) { ReferenceSteps(sequence).Run(); }

// A variable of one step, whose last op gives its value.
void MakeTemporary(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = DrawType(random);
  const Shape shape = RandomShape(random, 2);
  StepOutput variable = sequence.Step(
      "TemporaryVariable", {},
      {{"dtype", dtype}, {"shape", PartialShape(shape)}, {"var_name", "temporary"}})[0];
  variable = sequence.Step("Assign", {variable, sequence.Drawn(dtype, shape)})[0];
  while (IsNumber(dtype) && sequence.Continues()) {
    variable = sequence.Step("AssignAdd", {variable, sequence.Drawn(dtype, shape)})[0];
  }
  sequence.Step("DestroyTemporaryVariable", {variable}, {{"var_name", "temporary"}});
}

// The ops by which optimizers update references.
const std::vector<const OpDef*>& Optimizers() {
  static const auto* const ops = [] {
    auto* found = new std::vector<const OpDef*>;
    for (const OpDef* op : OpsWithKernel()) {
      const bool applies = op->name.starts_with("Apply") || op->name.starts_with("SparseApply");
      if (applies && !op->inputs.empty() && op->inputs[0].is_ref) found->push_back(op);
    }
    return found;
  }();
  return *ops;
}

void MakeOptimizer(Sequence& sequence) {
  Random& random = sequence.random();
  const OpDef& op = *random.Pick(Optimizers());
  static const std::vector<DType> types = {DType::kFloat, DType::kFloat, DType::kDouble};
  const DType dtype = random.Pick(types);
  const Shape shape = random.Chance(0.5) ? Shape{4, 3} : Shape{random.Between(1, 6)};
  const UpdateRows rows = DrawUpdateRows(random, shape);
  const bool is_sparse = op.name.starts_with("Sparse");
  const Tensor indices =
      random.Chance(0.8) ? Tensor::Vector<int64_t>({random.Below(shape.dim(0))})
                         : Tensor::Vector(absl::Span<const int64_t>(rows.indices.flat<int64_t>()));
  Shape gradient = shape;
  if (is_sparse) gradient.SetDim(0, indices.num_elements());
  std::vector<StepOutput> variables;
  for (const ArgDef& arg : op.inputs) {
    if (arg.is_ref) variables.push_back(MakeVariable(sequence, dtype, shape));
  }
  while (sequence.Continues()) {
    std::vector<StepOutput> inputs = variables;
    for (const ArgDef& arg : op.inputs) {
      if (arg.is_ref) continue;
      if (arg.name == "grad" || arg.name == "delta") {
        inputs.push_back(sequence.Drawn(dtype, gradient));
      } else if (arg.name == "indices") {
        inputs.push_back(sequence.Given(ConvertedTensor(random, indices, DrawIndexType(random))));
      } else if (arg.type == DType::kInt64) {
        inputs.push_back(sequence.Exactly(Tensor::Scalar<int64_t>(random.Between(1, 9))));
      } else {
        // A rate, a power or a share: small and positive, since a negative one has no meaning.
        const double value = 0.05 * static_cast<double>(random.Between(1, 18));
        inputs.push_back(
            sequence.Exactly(ConvertedTensor(random, Tensor::Scalar<double>(value), dtype)));
      }
    }
    sequence.Step(op.name, inputs);
    for (const StepOutput& variable : variables) Read(sequence, variable);
  }
}

}  // namespace

std::vector<SequenceMaker> ReferenceMakers() {
  return {MakeReference, MakeReference, MakeTemporary, MakeOptimizer};
}

}  // namespace tessera
