// Sequences of ops on tensor arrays.
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

// The steps on one tensor array or on that of its gradients.
class TensorArraySteps {
 public:
  explicit TensorArraySteps(Sequence& sequence)
      : sequence_(sequence),
        random_(sequence.random()),
        dtype_(DrawType(random_)),
        shape_(RandomShape(random_, 2)),
        size_(random_.Between(1, 5)),
        is_dynamic_(random_.Chance(0.3)) {}

  void Run() {
    AttrMap attrs = {{"dtype", dtype_},
                     {"dynamic_size", is_dynamic_},
                     {"clear_after_read", random_.Chance(0.5)},
                     {"identical_element_shapes", random_.Chance(0.4)}};
    if (random_.Chance(0.5)) attrs["element_shape"] = Said(shape_);
    const std::vector<StepOutput> made = sequence_.Step(
        "TensorArrayV3", {sequence_.Int(static_cast<int32_t>(size_))}, std::move(attrs));
    array_ = made[0];
    flow_ = made[1];
    // An element is written once.
    for (int64_t i = 0; i < size_; ++i) unwritten_.push_back(static_cast<int32_t>(i));
    while (sequence_.Continues()) Step();
    sequence_.Step("TensorArraySizeV3", {array_, flow_});
    if (random_.Chance(0.3)) sequence_.Step("TensorArrayCloseV3", {array_});
  }

 private:
  PartialShape Said(const Shape& shape) {
    PartialShape said(shape);
    for (int i = 0; i < said.rank(); ++i) {
      if (random_.Chance(0.3)) said.set_dim(i, -1);
    }
    return said;
  }

  // Takes an index at which nothing was written, or one at which something was.
  int32_t TakeUnwritten() {
    if (unwritten_.empty()) {
      return static_cast<int32_t>(is_dynamic_ ? size_++ : random_.Below(size_));
    }
    const int64_t i = random_.Below(static_cast<int64_t>(unwritten_.size()));
    const int32_t index = unwritten_[i];
    unwritten_.erase(unwritten_.begin() + i);
    written_.push_back(index);
    return index;
  }

  void Step() {
    switch (random_.Below(8)) {
      case 0:
      case 1:
      case 2:
        Write();
        break;
      case 3:
        Scatter();
        break;
      case 4:
        Split();
        break;
      case 5:
        Gradient();
        break;
      default:
        Read();
    }
  }

  void Write() {
    if (unwritten_.empty() && !is_dynamic_ && random_.Chance(0.95)) return;
    const StepOutput index = sequence_.Int(TakeUnwritten());
    flow_ = sequence_.Step("TensorArrayWriteV3",
                           {array_, index, sequence_.Drawn(dtype_, shape_), flow_})[0];
  }

  void Scatter() {
    std::vector<int32_t> indices;
    for (int64_t n = random_.Below(3); n > 0 && !unwritten_.empty(); --n) {
      indices.push_back(TakeUnwritten());
    }
    Shape shape = shape_;
    shape.InsertDim(0, static_cast<int64_t>(indices.size()));
    flow_ = sequence_.Step("TensorArrayScatterV3", {array_, sequence_.Ints(indices),
                                                    sequence_.Drawn(dtype_, shape), flow_})[0];
  }

  // Writes all elements, of as many rows each as their shape says.
  void Split() {
    if (shape_.rank() == 0 || static_cast<int64_t>(unwritten_.size()) != size_) return;
    const std::vector<int64_t> lengths(size_, shape_.dim(0));
    Shape shape = shape_;
    shape.SetDim(0, shape_.dim(0) * size_);
    const StepOutput all = sequence_.Drawn(dtype_, shape);
    flow_ = sequence_.Step("TensorArraySplitV3", {array_, all, sequence_.Longs(lengths), flow_})[0];
    written_ = unwritten_;
    unwritten_.clear();
  }

  void Read() {
    if (written_.empty() && random_.Chance(0.97)) return;
    const int64_t way = random_.Below(3);
    if (way == 0) {
      const int32_t index = written_.empty() ? 0 : random_.Pick(written_);
      sequence_.Step("TensorArrayReadV3", {array_, sequence_.Int(index), flow_},
                     {{"dtype", dtype_}});
    } else if (way == 1) {
      AttrMap attrs = {{"dtype", dtype_}};
      if (random_.Chance(0.5)) attrs["element_shape"] = Said(shape_);
      sequence_.Step("TensorArrayGatherV3", {array_, sequence_.Ints(written_), flow_}, attrs);
    } else if (shape_.rank() > 0 && unwritten_.empty()) {
      sequence_.Step("TensorArrayConcatV3", {array_, flow_}, {{"dtype", dtype_}});
    }
  }

  // Goes on with the array of gradients, where writes to one element are added up.
  void Gradient() {
    if (is_dynamic_ || written_.empty() || !IsNumber(dtype_) || random_.Chance(0.5)) return;
    const AttrMap source = {{"source", "gradients"}};
    const StepOutput before = array_;
    if (random_.Chance(0.3)) {
      const StepOutput prepended = sequence_.Ints({2});
      sequence_.Step("TensorArrayGradWithShape", {before, flow_, prepended}, source);
      return;
    }
    const std::vector<StepOutput> made =
        sequence_.Step("TensorArrayGradV3", {before, flow_}, source);
    for (int n = 0; n < 2; ++n) {
      const StepOutput index = sequence_.Int(written_.front());
      flow_ = sequence_.Step("TensorArrayWriteV3",
                             {made[0], index, sequence_.Drawn(dtype_, shape_), made[1]})[0];
    }
    sequence_.Step("TensorArrayReadV3", {made[0], sequence_.Int(random_.Pick(written_)), flow_},
                   {{"dtype", dtype_}});
  }

  Sequence& sequence_;
  Random& random_;
  const DType dtype_;
  const Shape shape_;
  int64_t size_;
  const bool is_dynamic_;
  StepOutput array_, flow_;
  std::vector<int32_t> unwritten_, written_;
};

void MakeTensorArray(Sequence& sequence) { TensorArraySteps(sequence).Run(); }

// Steps on a stack of tensors, by a reference or by a resource.
void MakeStack(Sequence& sequence) {
  Random& random = sequence.random();
  const DType dtype = DrawType(random);
  const bool by_reference = random.Chance(0.3);
  const std::string version = by_reference ? "" : "V2";
  const AttrMap type = {{"elem_type", dtype}};
  const auto most = static_cast<int32_t>(random.Chance(0.8) ? -1 : random.Between(1, 3));
  const std::vector<StepOutput> size =
      by_reference ? std::vector<StepOutput>() : std::vector<StepOutput>{sequence.Int(most)};
  const StepOutput stack = sequence.Step("Stack" + version, size, type)[0];
  int held = 0;
  while (sequence.Continues()) {
    if (random.Chance(0.6)) {
      const StepOutput elem = sequence.Drawn(dtype, RandomShape(random, 2));
      sequence.Step("StackPush" + version, {stack, elem}, {{"swap_memory", random.Chance(0.2)}});
      ++held;
    } else if (held > 0 || random.Chance(0.05)) {
      sequence.Step("StackPop" + version, {stack}, type);
      --held;
    }
  }
  if (random.Chance(0.5)) sequence.Step("StackClose" + version, {stack});
}

}  // namespace

std::vector<SequenceMaker> TensorArrayMakers() {
  return {MakeTensorArray, MakeTensorArray, MakeStack};
}

}  // namespace tessera
