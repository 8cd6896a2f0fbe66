// Sequences of ops on queues and on barriers.
#include "absl/strings/str_cat.h"
#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

// The steps on one queue. None of them waits: what is in the queue is counted.
class QueueSteps {
 public:
  enum class Kind { kFifo, kPadding, kPriority, kShuffle };

  QueueSteps(Sequence& sequence, Kind kind)
      : sequence_(sequence),
        random_(sequence.random()),
        kind_(kind),
        version_(random_.Chance(0.3) ? "" : "V2"),
        has_shapes_(kind != Kind::kFifo && kind != Kind::kShuffle ? true : random_.Chance(0.6)) {
    const int64_t count = random_.Between(1, 3);
    for (int64_t i = 0; i < count; ++i) {
      types_.push_back(DrawType(random_));
      shapes_.push_back(RandomShape(random_, 2));
    }
  }

  void Run() {
    Make();
    while (sequence_.Continues()) {
      const int64_t way = random_.Below(10);
      if (way < 5 && !is_closed_) {
        Enqueue();
      } else if (way < 9) {
        Dequeue();
      } else if (way == 9 && random_.Chance(0.3)) {
        sequence_.Step("QueueClose" + version_, {queue_},
                       {{"cancel_pending_enqueues", random_.Chance(0.5)}});
        is_closed_ = true;
      } else {
        sequence_.Step("QueueIsClosed" + version_, {queue_});
      }
    }
    sequence_.Step("QueueSize" + version_, {queue_});
    if (random_.Chance(0.1)) sequence_.Step("QueueIsClosed" + version_, {queue_});
  }

 private:
  void Make() {
    static const std::vector<std::string> ops = {"FIFOQueue", "PaddingFIFOQueue", "PriorityQueue",
                                                 "RandomShuffleQueue"};
    AttrMap attrs = {{"component_types", types_}};
    std::vector<PartialShape> said;
    if (has_shapes_) {
      for (const Shape& shape : shapes_) {
        said.emplace_back(shape);
        for (int i = 0; kind_ == Kind::kPadding && i < shape.rank(); ++i) {
          if (random_.Chance(0.4)) said.back().set_dim(i, -1);
        }
      }
    }
    said_ = said;
    attrs["shapes"] = std::move(said);
    if (random_.Chance(0.3)) capacity_ = random_.Between(4, 9);
    attrs["capacity"] = capacity_;
    if (kind_ == Kind::kShuffle) {
      attrs["seed"] = random_.Between(1, 1000);
      attrs["seed2"] = random_.Between(1, 1000);
      if (random_.Chance(0.3)) least_ = 2;
      attrs["min_after_dequeue"] = least_;
    }
    queue_ = sequence_.Step(ops[static_cast<size_t>(kind_)] + version_, {}, attrs)[0];
    if (kind_ == Kind::kPriority) types_.insert(types_.begin(), DType::kInt64);
  }

  // The components of one element, or of `rows` elements.
  std::vector<StepOutput> Components(int64_t rows) {
    std::vector<StepOutput> inputs = {queue_};
    const bool has_priority = kind_ == Kind::kPriority;
    if (has_priority) {
      // Which of two elements of one priority comes first is not defined.
      std::vector<int64_t> priorities;
      for (int64_t i = 0; i < std::max<int64_t>(rows, 1); ++i) {
        ++num_priorities_;
        priorities.push_back(random_.Below(50) * 1000 + num_priorities_);
      }
      if (rows < 0) {
        inputs.push_back(sequence_.Exactly(Tensor::Scalar<int64_t>(priorities[0])));
      } else {
        priorities.resize(rows);
        inputs.push_back(sequence_.Exactly(Tensor::Vector(absl::Span<const int64_t>(priorities))));
      }
    }
    for (size_t i = 0; i < shapes_.size(); ++i) {
      Shape shape = shapes_[i];
      for (int d = 0; kind_ == Kind::kPadding && d < shape.rank(); ++d) {
        if (said_[i].dim(d) < 0) shape.SetDim(d, random_.Between(0, 3));
      }
      if (!has_shapes_ && random_.Chance(0.3)) shape = RandomShape(random_, 2);
      if (rows >= 0) shape.InsertDim(0, rows);
      inputs.push_back(sequence_.Drawn(types_[i + (has_priority ? 1 : 0)], shape));
    }
    return inputs;
  }

  void Enqueue() {
    const bool many = has_shapes_ && random_.Chance(0.5);
    const int64_t rows = many ? random_.Below(4) : -1;
    const int64_t more = many ? rows : 1;
    if (capacity_ >= 0 && size_ + more > capacity_) return;
    const std::string op = (many ? "QueueEnqueueMany" : "QueueEnqueue") + version_;
    sequence_.Step(op, Components(rows));
    size_ += more;
  }

  void Dequeue() {
    const AttrMap types = {{"component_types", types_}};
    const int64_t left = is_closed_ ? 0 : least_;
    const int64_t available = std::max<int64_t>(size_ - left, 0);
    if (!has_shapes_ || random_.Chance(0.5)) {
      if (available == 0 && !is_closed_) return;
      if (available == 0 && random_.Chance(0.8)) return;  // an error: the queue is at its end
      sequence_.Step("QueueDequeue" + version_, {queue_}, types);
      --size_;
      return;
    }
    const bool up_to = random_.Chance(0.4);
    int64_t count = random_.Below(available + 1);
    // TensorFlow's priority queue does not give less than it is asked for.
    if (up_to && is_closed_ && kind_ != Kind::kPriority && random_.Chance(0.5)) ++count;
    // What waits for more than there is ends at the timeout of the run alone.
    const StepOutput n = sequence_.Exactly(Tensor::Scalar<int32_t>(static_cast<int32_t>(count)));
    const std::string op = up_to ? "QueueDequeueUpTo" : "QueueDequeueMany";
    sequence_.Step(op + version_, {queue_, n}, types);
    size_ = std::max<int64_t>(size_ - count, 0);
  }

  Sequence& sequence_;
  Random& random_;
  const Kind kind_;
  const std::string version_;
  const bool has_shapes_;
  std::vector<DType> types_;
  std::vector<Shape> shapes_;
  std::vector<PartialShape> said_;
  StepOutput queue_;
  int64_t capacity_ = -1, least_ = 0, size_ = 0, num_priorities_ = 0;
  bool is_closed_ = false;
};

void MakeFifo(Sequence& sequence) { QueueSteps(sequence, QueueSteps::Kind::kFifo).Run(); }
void MakePadding(Sequence& sequence) { QueueSteps(sequence, QueueSteps::Kind::kPadding).Run(); }
void MakePriority(Sequence& sequence) { QueueSteps(sequence, QueueSteps::Kind::kPriority).Run(); }
void MakeShuffle(Sequence& sequence) { QueueSteps(sequence, QueueSteps::Kind::kShuffle).Run(); }

// Steps on a barrier: each key gets its components in any order, and is taken once it has all.
void MakeBarrier(Sequence& sequence) {
  Random& random = sequence.random();
  const int64_t num_components = random.Between(1, 3);
  std::vector<DType> types;
  std::vector<Shape> shapes;
  std::vector<PartialShape> said;
  for (int64_t i = 0; i < num_components; ++i) {
    types.push_back(DrawType(random));
    shapes.push_back(RandomShape(random, 2));
    said.emplace_back(shapes.back());
  }
  const bool says = random.Chance(0.8);
  AttrMap attrs = {{"component_types", types}};
  if (says) attrs["shapes"] = said;
  const StepOutput barrier = sequence.Step("Barrier", {}, attrs)[0];
  // The components that each key of the barrier still lacks.
  std::vector<std::pair<std::string, std::vector<int64_t>>> incomplete;
  int64_t num_keys = 0, ready = 0;
  while (sequence.Continues()) {
    const int64_t way = random.Below(6);
    if (way < 3) {
      const int64_t component = random.Below(num_components);
      std::vector<std::string> keys;
      const int64_t wanted = random.Below(4);
      for (auto& [key, missing] : incomplete) {
        const auto it = std::find(missing.begin(), missing.end(), component);
        if (static_cast<int64_t>(keys.size()) == wanted || it == missing.end()) continue;
        keys.push_back(key);
        missing.erase(it);
        ready += missing.empty() ? 1 : 0;
      }
      // Keys that come in one step have no order among each other: one of them is new.
      if (static_cast<int64_t>(keys.size()) < wanted) {
        keys.push_back(absl::StrCat("key", num_keys++));
        std::vector<int64_t> missing;
        for (int64_t i = 0; i < num_components; ++i) {
          if (i != component) missing.push_back(i);
        }
        ready += missing.empty() ? 1 : 0;
        incomplete.emplace_back(keys.back(), missing);
      }
      Shape shape = shapes[component];
      shape.InsertDim(0, static_cast<int64_t>(keys.size()));
      const StepOutput names = sequence.Given(Tensor::Vector(absl::Span<const std::string>(keys)));
      sequence.Step("BarrierInsertMany", {barrier, names, sequence.Drawn(types[component], shape)},
                    {{"component_index", component}});
    } else if (way < 5 && ready > 0) {
      const int64_t taken = random.Between(1, ready);
      ready -= taken;
      const StepOutput count =
          sequence.Exactly(Tensor::Scalar<int32_t>(static_cast<int32_t>(taken)));
      sequence.Step("BarrierTakeMany", {barrier, count},
                    {{"component_types", types}, {"allow_small_batch", random.Chance(0.3)}});
    } else {
      sequence.Step(random.Chance(0.5) ? "BarrierReadySize" : "BarrierIncompleteSize", {barrier});
    }
  }
  if (random.Chance(0.4)) {
    sequence.Step("BarrierClose", {barrier}, {{"cancel_pending_enqueues", random.Chance(0.5)}});
  }
  sequence.Step("BarrierReadySize", {barrier});
  sequence.Step("BarrierIncompleteSize", {barrier});
}

}  // namespace

std::vector<SequenceMaker> QueueMakers() {
  return {MakeFifo, MakePadding, MakePriority, MakeShuffle, MakeBarrier};
}

}  // namespace tessera
