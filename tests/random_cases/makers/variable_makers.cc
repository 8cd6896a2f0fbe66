// Sequences of ops on variables behind resources.
#include <algorithm>

#include "tests/random_cases/makers/variable_updates.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

// The steps on a few variables of one type and shape.
class VariableSteps {
 public:
  explicit VariableSteps(Sequence& sequence)
      : sequence_(sequence),
        random_(sequence.random()),
        dtype_(DrawType(random_)),
        shape_(RandomShape(random_, 3)) {}

  void Run() {
    const int64_t count = random_.Between(1, 2);
    for (int64_t i = 0; i < count; ++i) Make(i);
    while (sequence_.Continues()) {
      variable_ = random_.Pick(variables_);
      random_.Chance(0.65) ? Change() : Read();
    }
    for (const StepOutput& variable : variables_) {
      if (!destroyed_) sequence_.Step("ReadVariableOp", {variable}, Type());
    }
  }

 private:
  AttrMap Type() const { return {{"dtype", dtype_}}; }

  void Make(int64_t i) {
    const bool says = random_.Chance(0.5);
    variables_.push_back(sequence_.Step("VarHandleOp", {},
                                        {{"dtype", dtype_},
                                         {"shape", says ? PartialShape(shape_) : PartialShape()},
                                         {"shared_name", "variable" + std::to_string(i)}})[0]);
    if (random_.Chance(0.03)) return;
    sequence_.Step("AssignVariableOp", {variables_.back(), sequence_.Drawn(dtype_, shape_)});
  }

  void Change() {
    static const std::vector<std::string> scatter = {"Update", "Add", "Sub", "Mul",
                                                     "Min",    "Max", "Div"};
    switch (random_.Below(8)) {
      case 0:
        sequence_.Step("AssignVariableOp", {variable_, sequence_.Drawn(dtype_, shape_)},
                       {{"validate_shape", random_.Chance(0.3)}});
        break;
      case 1:
      case 2:
        if (!IsNumber(dtype_)) break;
        sequence_.Step(random_.Chance(0.5) ? "AssignAddVariableOp" : "AssignSubVariableOp",
                       {variable_, sequence_.Drawn(dtype_, shape_)});
        break;
      case 3:
      case 4: {
        if (shape_.rank() == 0) break;
        const std::string& kind = IsNumber(dtype_) ? random_.Pick(scatter) : scatter[0];
        const UpdateRows rows = DrawUpdateRows(random_, shape_);
        const DType type = DrawIndexType(random_);
        const StepOutput indices = sequence_.Given(ConvertedTensor(random_, rows.indices, type));
        const Shape updates = random_.Chance(0.2) ? Shape() : rows.updates;
        sequence_.Step("ResourceScatter" + kind,
                       {variable_, indices, Divisor(kind == "Div", updates)});
        break;
      }
      case 5: {
        if (shape_.rank() == 0) break;
        static const std::vector<std::string> nd = {"Update", "Add", "Sub", "Min", "Max"};
        const UpdateRows rows = DrawUpdatePositions(random_, shape_);
        const DType type = DrawIndexType(random_);
        const StepOutput indices = sequence_.Given(ConvertedTensor(random_, rows.indices, type));
        sequence_.Step("ResourceScatterNd" + (IsNumber(dtype_) ? random_.Pick(nd) : nd[0]),
                       {variable_, indices, sequence_.Drawn(dtype_, rows.updates)});
        break;
      }
      case 6: {
        const SliceSteps slice = DrawSlice(random_, shape_);
        const DType type = DrawIndexType(random_);
        std::vector<StepOutput> inputs = {variable_};
        for (const Tensor& part : {slice.begin, slice.end, slice.strides}) {
          inputs.push_back(sequence_.Given(ConvertedTensor(random_, part, type)));
        }
        inputs.push_back(sequence_.Drawn(dtype_, slice.shape));
        sequence_.Step("ResourceStridedSliceAssign", inputs, slice.masks);
        break;
      }
      default:
        if (random_.Chance(0.15)) {
          sequence_.Step("DestroyResourceOp", {variable_},
                         {{"ignore_lookup_error", random_.Chance(0.5)}});
          destroyed_ = true;
        } else if (shape_.rank() == 0 && (dtype_ == DType::kInt32 || dtype_ == DType::kInt64)) {
          sequence_.Step("ResourceCountUpTo", {variable_},
                         {{"limit", random_.Between(1, 9)}, {"T", dtype_}});
        }
    }
  }

  // Integers are not divided by zero.
  StepOutput Divisor(bool divides, const Shape& shape) {
    Tensor drawn = sequence_.Draw(dtype_, shape);
    for (int64_t i = 0; divides && i < drawn.num_elements(); ++i) {
      if (ElementAsDouble(drawn, i) == 0) {
        return sequence_.Given(ConvertedTensor(
            random_,
            Tensor::Of(shape,
                       absl::Span<const int32_t>(std::vector<int32_t>(shape.num_elements(), 3))),
            dtype_));
      }
    }
    return sequence_.Given(drawn);
  }

  void Read() {
    switch (random_.Below(5)) {
      case 0:
        sequence_.Step("VarIsInitializedOp", {variable_});
        break;
      case 1:
        sequence_.Step("VariableShape", {variable_},
                       {{"out_type", random_.Chance(0.5) ? DType::kInt32 : DType::kInt64}});
        break;
      case 2: {
        if (shape_.rank() == 0) break;
        const UpdateRows rows = DrawUpdateRows(random_, shape_);
        const StepOutput indices =
            sequence_.Given(ConvertedTensor(random_, rows.indices, DrawIndexType(random_)));
        sequence_.Step("ResourceGather", {variable_, indices}, Type());
        break;
      }
      case 3: {
        if (shape_.rank() == 0) break;
        const UpdateRows rows = DrawUpdatePositions(random_, shape_);
        const StepOutput indices =
            sequence_.Given(ConvertedTensor(random_, rows.indices, DrawIndexType(random_)));
        sequence_.Step("ResourceGatherNd", {variable_, indices}, Type());
        break;
      }
      default:
        sequence_.Step("ReadVariableOp", {variable_}, Type());
    }
  }

  Sequence& sequence_;
  Random& random_;
  const DType dtype_;
  const Shape shape_;
  std::vector<StepOutput> variables_;
  StepOutput variable_;
  bool destroyed_ = false;
};

void MakeVariable(Sequence& sequence) { VariableSteps(sequence).Run(); }

}  // namespace

std::vector<SequenceMaker> VariableMakers() { return {MakeVariable}; }

}  // namespace tessera
