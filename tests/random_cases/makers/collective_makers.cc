// Sequences of collective operations in groups of one member.
#include <algorithm>

#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

class CollectiveSteps {
 public:
  explicit CollectiveSteps(Sequence& sequence) : sequence_(sequence), random_(sequence.random()) {}

  void Run() {
    while (sequence_.Continues()) {
      static const std::vector<DType> types = {DType::kFloat, DType::kHalf, DType::kDouble,
                                               DType::kInt32, DType::kInt64};
      const DType dtype = random_.Pick(types);
      const Shape shape = RandomShape(random_, 3);
      ++instance_;
      switch (random_.Below(6)) {
        case 0:
          sequence_.Step("CollectiveReduce", {sequence_.Drawn(dtype, shape)}, Group(Reduction()));
          break;
        case 1:
          sequence_.Step("CollectiveReduceV2", Inputs(sequence_.Drawn(dtype, shape)), Reduction());
          break;
        case 2:
          Gather(dtype, shape);
          break;
        case 3: {
          AttrMap attrs = Group({});
          attrs["shape"] = PartialShape(shape);
          sequence_.Step("CollectiveBcastSend", {sequence_.Drawn(dtype, shape)}, attrs);
          break;
        }
        case 4:
          sequence_.Step("CollectiveBcastSendV2", Inputs(sequence_.Drawn(dtype, shape)));
          break;
        default:
          Assign();
      }
    }
  }

 private:
  AttrMap Reduction() {
    static const std::vector<std::string> merges = {"Add", "Mul", "Max", "Min"};
    return {{"merge_op", random_.Pick(merges)},
            {"final_op", std::string(random_.Chance(0.5) ? "Id" : "Div")}};
  }
  // Adds the group, a new one for each operation.
  AttrMap Group(AttrMap attrs) const {
    attrs["group_size"] = int64_t{1};
    attrs["group_key"] = int64_t{instance_};
    attrs["instance_key"] = int64_t{instance_};
    if (attrs.contains("merge_op")) attrs["subdiv_offsets"] = std::vector<int64_t>{0};
    return attrs;
  }
  std::vector<StepOutput> Inputs(const StepOutput& value) {
    return {value, sequence_.Exactly(Tensor::Scalar<int32_t>(1)), sequence_.Int(instance_),
            sequence_.Int(instance_)};
  }

  void Gather(DType dtype, Shape shape) {
    if (shape.rank() == 0) shape.AddDim(random_.Below(4));
    const StepOutput value = sequence_.Drawn(dtype, shape);
    if (random_.Chance(0.5)) {
      sequence_.Step("CollectiveGatherV2", Inputs(value));
      return;
    }
    AttrMap attrs = Group({});
    attrs["shape"] = PartialShape(shape);
    sequence_.Step("CollectiveGather", {value}, attrs);
  }

  // The group of a device among several groups.
  void Assign() {
    const int64_t groups = random_.Between(1, 3), size = random_.Between(1, 3);
    std::vector<int32_t> members;
    for (int32_t i = 0; i < groups * size; ++i) members.push_back(i);
    for (size_t i = members.size(); i > 1; --i) {
      std::swap(members[i - 1], members[random_.Below(static_cast<int64_t>(i))]);
    }
    const StepOutput assignment =
        sequence_.Given(Tensor::Of(Shape{groups, size}, absl::Span<const int32_t>(members)));
    const auto device = static_cast<int32_t>(random_.Below(groups * size));
    sequence_.Step("CollectiveAssignGroupV2",
                   {assignment, sequence_.Int(device),
                    sequence_.Int(static_cast<int32_t>(random_.Between(1, 99)))});
  }

  Sequence& sequence_;
  Random& random_;
  int32_t instance_ = 0;
};

void MakeCollectives(Sequence& sequence) { CollectiveSteps(sequence).Run(); }

}  // namespace

std::vector<SequenceMaker> CollectiveMakers() { return {MakeCollectives}; }

}  // namespace tessera
