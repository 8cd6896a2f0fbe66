// Datasets of the elements of the datasets that a function makes of each element: FlatMapDataset,
// InterleaveDataset, and the parallel forms of the latter.
#include "runtime/kernels/data/transformations.h"

namespace tessera {
namespace {

// Walks over `cycle_length` datasets in turn, `block_length` elements of each at a time; as soon as
// one is through, the next of the input takes its place. With a cycle of one this is a flat map.
// The parallel forms let the datasets of the cycle run ahead; the order stays the same.
class InterleaveDataset final : public UnaryDataset {
 public:
  struct Cycle {
    int64_t cycle_length = 1;
    int64_t block_length = 1;
    int64_t prefetched = 0;  // elements of each dataset that are made before their turn
    // Whether an error counts as the element in whose place it is, and takes the turn of the
    // dataset that could not be made; otherwise what follows takes its place. The former is so in
    // TensorFlow's parallel forms.
    bool counts_errors = false;
  };
  InterleaveDataset(const DatasetPtr& input, ElementSpec spec, FunctionPtr function, Cycle cycle,
                    int64_t cardinality)
      : UnaryDataset(input, std::move(spec), cardinality),
        function_(std::move(function)),
        cycle_(cycle) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const CapturedFunction& function() const { return *function_; }
  const Cycle& cycle() const { return cycle_; }

 private:
  const FunctionPtr function_;
  const Cycle cycle_;
};

class InterleaveIterator final : public UnaryIterator<InterleaveDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Flag("input_ended", &input_ended_));
    RETURN_IF_ERROR(archive.Number("at", &at_));
    RETURN_IF_ERROR(archive.Number("in_block", &in_block_));
    int64_t size = static_cast<int64_t>(cycle_.size());
    RETURN_IF_ERROR(archive.Number("cycle", &size));
    if (size > dataset().cycle().cycle_length || at_ > size) {
      return absl::DataLossError("the saved state of an interleave is damaged");
    }
    for (int64_t i = 0; i < size; ++i) {
      IteratorArchive::Scope scope(archive, absl::StrCat("slot", i));
      if (archive.restoring()) cycle_.emplace_back();
      Slot& slot = cycle_[i];
      RETURN_IF_ERROR(archive.Tensors("args", &slot.args));
      RETURN_IF_ERROR(archive.Position(
          "elements", &slot.iterator, [&]() -> absl::StatusOr<std::unique_ptr<Iterator>> {
            ASSIGN_OR_RETURN(const DatasetPtr elements, Elements(archive.step(), slot.args));
            slot.depth = elements->depth();
            return elements->MakeIterator();
          }));
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    int64_t empty_slots = 0;
    while (true) {
      if (at_ == static_cast<int64_t>(cycle_.size())) {
        if (at_ < dataset().cycle().cycle_length && !input_ended_) {
          cycle_.emplace_back();
        } else {
          at_ = 0;
        }
        if (cycle_.empty()) return false;
      }
      Slot& slot = cycle_[at_];
      if (slot.iterator == nullptr && !input_ended_) {
        const absl::Status filled = Fill(step, &slot);
        if (!filled.ok()) {
          if (Counts(filled)) Advance();
          return filled;
        }
      }
      if (slot.iterator == nullptr) {
        if (++empty_slots > static_cast<int64_t>(cycle_.size())) return false;
        Advance();
        continue;
      }
      empty_slots = 0;
      // Datasets whose functions make datasets like themselves end at the limit of nested calls.
      StepContext nested = step;
      nested.call_depth += slot.depth;
      const absl::StatusOr<bool> more = slot.iterator->Next(nested, element);
      if (!more.ok() || *more) {
        if (Counts(more.status()) && ++in_block_ == dataset().cycle().block_length) Advance();
        return more;
      }
      slot = Slot();
      // In a flat map the next dataset follows; in a cycle it waits for its turn.
      Advance();
    }
  }

 private:
  struct Slot {
    Element args;
    std::unique_ptr<Iterator> iterator;  // null: between two datasets, or after the last
    int depth = 0;                       // of the chain of iterators
  };

  absl::StatusOr<DatasetPtr> Elements(StepContext& step, const Element& args) const {
    ASSIGN_OR_RETURN(DatasetPtr elements,
                     dataset().function().MakeDataset(step, args, dataset().spec()));
    const int64_t prefetched = dataset().cycle().prefetched;
    return prefetched == 0 ? elements : Prefetched(elements, prefetched);
  }

  absl::Status Fill(StepContext& step, Slot* slot) {
    Element args;
    ASSIGN_OR_RETURN(const bool more, input().Next(step, &args));
    if (!more) {
      input_ended_ = true;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const DatasetPtr elements, Elements(step, args));
    slot->args = std::move(args);
    slot->depth = elements->depth();
    slot->iterator = elements->MakeIterator();
    return absl::OkStatus();
  }

  // Returns whether what has this status counts as an element.
  bool Counts(const absl::Status& status) const {
    return status.ok() || (dataset().cycle().counts_errors && !absl::IsCancelled(status) &&
                           !absl::IsDeadlineExceeded(status));
  }

  void Advance() {
    in_block_ = 0;
    ++at_;
    if (at_ >= dataset().cycle().cycle_length) at_ = 0;
  }

  std::vector<Slot> cycle_;  // grows up to the cycle's length
  int64_t at_ = 0;
  int64_t in_block_ = 0;  // elements of the slot at hand since it took its turn
  bool input_ended_ = false;
};

std::unique_ptr<Iterator> InterleaveDataset::MakeIterator() const {
  return std::make_unique<InterleaveIterator>(Share<InterleaveDataset>());
}

// The length of a cycle that is left to the runtime.
constexpr int64_t kAutotunedCycle = 16;
// The most elements of a dataset to make before their turn, however long a block is.
constexpr int64_t kMaxPrefetched = 16;

class InterleaveKernel final : public DatasetKernel {
 public:
  explicit InterleaveKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        function_(build, "f", "other_arguments"),
        is_flat_map_(build.op().name == "FlatMapDataset"),
        is_parallel_(!is_flat_map_ && build.op().name != "InterleaveDataset") {
    if (!is_flat_map_) {
      cycle_length_ = build.inputs("cycle_length").begin;
      block_length_ = build.inputs("block_length").begin;
    }
    for (const auto& input : build.op().inputs) {
      if (input.name == "num_parallel_calls") parallel_calls_ = build.inputs(input.name).begin;
      if (input.name == "buffer_output_elements") buffered_ = build.inputs(input.name).begin;
      if (input.name == "prefetch_input_elements") read_ahead_ = build.inputs(input.name).begin;
    }
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(FunctionPtr function, function_.Capture(ctx, input->num_components(), 1));
    InterleaveDataset::Cycle cycle;
    if (is_flat_map_) {
      cycle.block_length = std::numeric_limits<int64_t>::max();
    } else {
      ASSIGN_OR_RETURN(cycle.cycle_length,
                       ScalarInput<int64_t>(ctx, cycle_length_, "cycle_length"));
      ASSIGN_OR_RETURN(cycle.block_length,
                       ScalarInput<int64_t>(ctx, block_length_, "block_length"));
      RETURN_IF_ERROR(CheckCallsAndBuffers(ctx, cycle.cycle_length));
      if (cycle.cycle_length == kAutotune) cycle.cycle_length = kAutotunedCycle;
    }
    if (cycle.cycle_length <= 0) {
      return absl::InvalidArgumentError("cycle_length must be greater than zero.");
    }
    if (cycle.block_length <= 0) {
      return absl::InvalidArgumentError("block_length must be greater than zero.");
    }
    if (is_parallel_) cycle.prefetched = std::min(cycle.block_length, kMaxPrefetched);
    cycle.counts_errors = is_parallel_;
    // As in TensorFlow the other forms do not say so.
    const bool is_infinite = parallel_calls_ >= 0 && input->cardinality() == Dataset::kInfinite;
    return std::make_shared<InterleaveDataset>(
        input, spec_, std::move(function), cycle,
        is_infinite ? Dataset::kInfinite : Dataset::kUnknown);
  }

 private:
  // Checks the inputs that only some forms have. Only their range matters here: how many elements
  // are made ahead follows from the length of a block.
  absl::Status CheckCallsAndBuffers(KernelContext& ctx, int64_t cycle_length) const {
    if (parallel_calls_ >= 0) {
      ASSIGN_OR_RETURN(const int64_t calls,
                       ScalarInput<int64_t>(ctx, parallel_calls_, "num_parallel_calls"));
      RETURN_IF_ERROR(CheckParallelCalls(calls));
      if (cycle_length > 0 && calls > cycle_length) {
        return absl::InvalidArgumentError(
            absl::StrCat("num_parallel_calls must not be greater than cycle_length, is ", calls,
                         ", cycle_length is ", cycle_length, "."));
      }
    }
    RETURN_IF_ERROR(CheckBuffer(ctx, buffered_, "buffer_output_elements", 1));
    return CheckBuffer(ctx, read_ahead_, "prefetch_input_elements", 0);
  }

  // Does nothing for a `position` of -1. The forms without num_parallel_calls tune nothing.
  absl::Status CheckBuffer(KernelContext& ctx, int position, absl::string_view name,
                           int64_t least) const {
    if (position < 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, position, name));
    if (size >= least || (size == kAutotune && parallel_calls_ >= 0)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("`", name, "` must be >= ", least, ", is ", size));
  }

  const ElementSpec spec_;
  const FunctionAttr function_;
  const bool is_flat_map_, is_parallel_;
  int cycle_length_ = 0, block_length_ = 0;                    // positions of the inputs
  int parallel_calls_ = -1, buffered_ = -1, read_ahead_ = -1;  // the same; -1: there is none
};
REGISTER_KERNEL("FlatMapDataset", kCpu, InterleaveKernel);
REGISTER_KERNEL("InterleaveDataset", kCpu, InterleaveKernel);
REGISTER_KERNEL("ExperimentalParallelInterleaveDataset", kCpu, InterleaveKernel);
REGISTER_KERNEL("LegacyParallelInterleaveDatasetV2", kCpu, InterleaveKernel);
REGISTER_KERNEL("ParallelInterleaveDataset", kCpu, InterleaveKernel);
REGISTER_KERNEL("ParallelInterleaveDatasetV2", kCpu, InterleaveKernel);
REGISTER_KERNEL("ParallelInterleaveDatasetV3", kCpu, InterleaveKernel);
REGISTER_KERNEL("ParallelInterleaveDatasetV4", kCpu, InterleaveKernel);

}  // namespace
}  // namespace tessera
