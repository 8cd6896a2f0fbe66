// Sequences of ops on staging areas, in the order of a queue or by keys.
#include <algorithm>
#include <map>

#include "tests/random_cases/random_tensor.h"
#include "tests/random_cases/sequence.h"

namespace tessera {
namespace {

struct Components {
  std::vector<DType> types;
  std::vector<Shape> shapes;
};

Components DrawComponents(Random& random) {
  Components drawn;
  for (int64_t n = random.Between(1, 3); n > 0; --n) {
    drawn.types.push_back(DrawType(random));
    drawn.shapes.push_back(RandomShape(random, 2));
  }
  return drawn;
}

// The ops of one area find it by this name, and agree in the other attributes.
AttrMap Area(const Components& components) {
  return {{"dtypes", components.types}, {"shared_name", "area"}};
}

void MakeStage(Sequence& sequence) {
  Random& random = sequence.random();
  const Components components = DrawComponents(random);
  const AttrMap area = Area(components);
  int32_t held = 0;
  while (sequence.Continues()) {
    const int64_t way = random.Below(8);
    if (way < 4) {
      std::vector<StepOutput> values;
      for (size_t i = 0; i < components.types.size(); ++i) {
        values.push_back(sequence.Drawn(components.types[i], components.shapes[i]));
      }
      sequence.Step("Stage", values, area);
      ++held;
    } else if (way < 6 && held > 0) {
      sequence.Step("Unstage", {}, area);
      --held;
    } else if (way == 6 && held > 0) {
      // A peek at what is not there yet waits for it.
      const auto index = static_cast<int32_t>(random.Below(held));
      sequence.Step("StagePeek", {sequence.Exactly(Tensor::Scalar<int32_t>(index))}, area);
    } else if (way == 7 && random.Chance(0.3)) {
      sequence.Step("StageClear", {}, area);
      held = 0;
    }
  }
  sequence.Step("StageSize", {}, area);
}

// The steps on an area where each key has its components, which may come one by one.
class MapSteps {
 public:
  explicit MapSteps(Sequence& sequence)
      : sequence_(sequence),
        random_(sequence.random()),
        ordered_(random_.Chance(0.5)),
        prefix_(ordered_ ? "OrderedMap" : "Map"),
        components_(DrawComponents(random_)),
        area_(Area(components_)) {}

  void Run() {
    while (sequence_.Continues()) {
      const int64_t way = random_.Below(8);
      if (way < 4) {
        Stage();
      } else if (way < 6) {
        Unstage(/*peek=*/way == 4);
      } else if (way == 6 && random_.Chance(0.3)) {
        sequence_.Step(prefix_ + "Clear", {}, area_);
        held_.clear();
      } else {
        sequence_.Step(prefix_ + "Size", {}, area_);
      }
    }
    sequence_.Step(prefix_ + "Size", {}, area_);
    sequence_.Step(prefix_ + "IncompleteSize", {}, area_);
  }

 private:
  using Positions = std::vector<int32_t>;

  // The positions of the components that are not in `held`, in order.
  Positions Missing(const Positions& held) {
    Positions missing;
    for (int32_t i = 0; i < static_cast<int32_t>(components_.types.size()); ++i) {
      if (std::find(held.begin(), held.end(), i) == held.end()) missing.push_back(i);
    }
    return missing;
  }

  void Stage() {
    const int64_t key = random_.Below(5);
    Positions& held = held_[key];
    Positions missing = Missing(held);
    // A key that is complete, and a component that is there, are refused.
    if (missing.empty() && random_.Chance(0.95)) return;
    if (missing.empty()) missing.push_back(0);
    if (random_.Chance(0.3))
      missing.resize(random_.Between(1, static_cast<int64_t>(missing.size())));
    std::vector<StepOutput> inputs = {sequence_.Exactly(Tensor::Scalar<int64_t>(key)),
                                      sequence_.Ints(missing)};
    for (const int32_t i : missing) {
      inputs.push_back(sequence_.Drawn(components_.types[i], components_.shapes[i]));
      held.push_back(i);
    }
    sequence_.Step(prefix_ + "Stage", inputs, area_);
  }

  void Unstage(bool peek) {
    std::vector<int64_t> complete;
    for (const auto& [key, held] : held_) {
      if (held.size() == components_.types.size()) complete.push_back(key);
    }
    if (complete.empty()) return;
    const bool no_key = !peek && random_.Chance(0.3) && (ordered_ || complete.size() == 1);
    const int64_t key = no_key ? complete.front() : random_.Pick(complete);
    const StepOutput indices = sequence_.Ints(Missing({}));
    if (no_key) {
      sequence_.Step(prefix_ + "UnstageNoKey", {indices}, area_);
    } else {
      const StepOutput at = sequence_.Exactly(Tensor::Scalar<int64_t>(key));
      sequence_.Step(prefix_ + (peek ? "Peek" : "Unstage"), {at, indices}, area_);
    }
    if (!peek) held_.erase(key);
  }

  Sequence& sequence_;
  Random& random_;
  const bool ordered_;
  const std::string prefix_;
  const Components components_;
  const AttrMap area_;
  std::map<int64_t, Positions> held_;
};

void MakeMap(Sequence& sequence) { MapSteps(sequence).Run(); }

// A mutex that each step gives back before the next one takes it.
void MakeMutex(Sequence& sequence) {
  const StepOutput mutex = sequence.Step("MutexV2", {})[0];
  while (sequence.Continues()) {
    const StepOutput lock = sequence.Step("MutexLock", {mutex})[0];
    sequence.Step("ConsumeMutexLock", {lock});
    sequence.Step("IsResourceHandleRefCounting", {mutex});
  }
}

}  // namespace

std::vector<SequenceMaker> StageMakers() {
  return {MakeStage, MakeStage, MakeMap, MakeMap, MakeMutex};
}

}  // namespace tessera
