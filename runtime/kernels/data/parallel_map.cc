// ParallelMapDataset, ParallelMapDatasetV2: a function of several elements at
// once. The order of the elements is kept, which TensorFlow allows for `deterministic=false` too.
#include <deque>

#include "runtime/kernels/data/transformations.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

class ParallelMapDataset final : public UnaryDataset {
 public:
  ParallelMapDataset(const DatasetPtr& input, ElementSpec spec, ElementMap map)
      : UnaryDataset(input, std::move(spec),
                     map.preserves_cardinality ? input->cardinality() : kUnknown),
        map_(std::move(map)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    ASSIGN_OR_RETURN(Element args, input().ElementAt(step, index));
    Element element;
    RETURN_IF_ERROR(map_.function(step, std::move(args), &element));
    RETURN_IF_ERROR(spec().CheckTypes(element));
    return element;
  }
  const ElementMap& map() const { return map_; }

 private:
  const ElementMap map_;
};

// Keeps calls under way for the next elements. Its input is pulled by the thread that asks for an
// element, so a prefetch behind the map makes both go on by themselves.
class ParallelMapIterator final : public UnaryIterator<ParallelMapDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  ~ParallelMapIterator() override {
    if (background_ != nullptr) background_->Cancel();
    for (const auto& call : window_) call->task->Abandon();
  }

  // Calls under way are finished, and their results saved.
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Flag("input_ended", &input_ended_));
    int64_t size = static_cast<int64_t>(window_.size());
    RETURN_IF_ERROR(archive.Number("calls", &size));
    for (int64_t i = 0; i < size; ++i) {
      IteratorArchive::Scope scope(archive, absl::StrCat("call", i));
      if (archive.restoring()) window_.push_back(std::make_shared<Call>());
      Call& call = *window_[i];
      if (archive.restoring()) {
        call.task = std::make_shared<ClaimableTask>([] {});
      } else {
        RETURN_IF_ERROR(call.task->Finish(archive.waits()));
      }
      RETURN_IF_ERROR(archive.Outcome(&call.outcome, &call.results));
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (background_ == nullptr) background_ = StepOfCalls(step, dataset().map());
    RETURN_IF_ERROR(FillWindow(step));
    if (window_.empty()) return false;
    if (const absl::Status status = FinishCall(window_, 0, step); !status.ok()) {
      background_->Cancel();  // the destructor waits for the call
      return status;
    }
    const std::shared_ptr<Call> call = std::move(window_.front());
    window_.pop_front();
    ASSIGN_OR_RETURN(const bool has_element, call->outcome);
    if (!has_element) return false;
    RETURN_IF_ERROR(dataset().spec().CheckTypes(call->results));
    *element = std::move(call->results);
    return true;
  }

 private:
  struct Call {
    Element args, results;
    absl::StatusOr<bool> outcome = false;
    std::shared_ptr<ClaimableTask> task;
  };

  absl::Status FillWindow(StepContext& step) {
    const auto size =
        static_cast<size_t>(UsefulCalls(background_->pool(), dataset().map().num_parallel_calls));
    while (!input_ended_ && window_.size() < size) {
      auto call = std::make_shared<Call>();
      absl::StatusOr<bool> more = input().Next(step, &call->args);
      if (more.ok() && !*more) {
        input_ended_ = true;
        break;
      }
      if (!more.ok()) {
        const bool step_is_over =
            absl::IsCancelled(more.status()) || absl::IsDeadlineExceeded(more.status());
        if (step_is_over || window_.empty()) return more.status();
        call->outcome = more.status();  // its turn comes behind the elements before it
        call->task = std::make_shared<ClaimableTask>([] {});
        window_.push_back(std::move(call));
        break;
      }
      // The closure may outlive this iterator only as long as it waits for a thread, unclaimed.
      Call* const raw = call.get();
      call->task = std::make_shared<ClaimableTask>([raw, background = background_.get(),
                                                    map = &dataset().map()] {
        raw->outcome =
            MapOutcome(map->function(background->context(), std::move(raw->args), &raw->results),
                       map->preserves_cardinality);
      });
      ClaimableTask::Offer(call->task, background_->pool());
      window_.push_back(std::move(call));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<BackgroundStep> background_;
  std::deque<std::shared_ptr<Call>> window_;
  bool input_ended_ = false;
};

std::unique_ptr<Iterator> ParallelMapDataset::MakeIterator() const {
  return std::make_unique<ParallelMapIterator>(Share<ParallelMapDataset>());
}

class ParallelMapKernel final : public DatasetKernel {
 public:
  explicit ParallelMapKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        function_(build, "f", "other_arguments"),
        num_parallel_calls_(build.inputs("num_parallel_calls").begin),
        preserves_cardinality_(build.attr<bool>("preserve_cardinality")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(
        FunctionPtr function,
        function_.Capture(ctx, input->num_components(), static_cast<int>(spec_.dtypes.size())));
    ASSIGN_OR_RETURN(const int64_t calls,
                     ReadIntegerOfScalar(ctx.input(num_parallel_calls_), "num_parallel_calls"));
    RETURN_IF_ERROR(CheckParallelCalls(calls));
    return ParallelMapped(input, spec_,
                          {.function = CallOf(std::move(function)),
                           .num_parallel_calls = calls,
                           .preserves_cardinality = preserves_cardinality_});
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr function_;
  const int num_parallel_calls_;  // position of the input
  const bool preserves_cardinality_;
};
REGISTER_KERNEL("ParallelMapDataset", kCpu, ParallelMapKernel);
REGISTER_KERNEL("ParallelMapDatasetV2", kCpu, ParallelMapKernel);

}  // namespace

absl::Status CheckParallelCalls(int64_t num_parallel_calls) {
  if (num_parallel_calls > 0 || num_parallel_calls == kAutotune) return absl::OkStatus();
  return absl::InvalidArgumentError("num_parallel_calls must be greater than zero.");
}

int64_t UsefulCalls(const ThreadPool* pool, int64_t num_parallel_calls) {
  const int64_t useful = pool == nullptr ? 1 : pool->num_threads() + 1;
  return num_parallel_calls == kAutotune ? useful : std::min(num_parallel_calls, useful);
}

std::unique_ptr<BackgroundStep> StepOfCalls(const StepContext& first, const ElementMap& map) {
  auto background = std::make_unique<BackgroundStep>(first);
  const ThreadPool* const pool = background->pool();
  if (pool != nullptr && UsefulCalls(pool, map.num_parallel_calls) >= pool->num_threads()) {
    background->KeepLoopsOnCallers();
  }
  return background;
}

ElementFunction CallOf(FunctionPtr function) {
  return [function = std::move(function)](StepContext& step, Element args, Element* results) {
    return function->Call(step, std::move(args), results);
  };
}

DatasetPtr ParallelMapped(const DatasetPtr& input, ElementSpec spec, ElementMap map) {
  return std::make_shared<ParallelMapDataset>(input, std::move(spec), std::move(map));
}

DatasetPtr BatchedIfMapped(const Dataset& input, const BatchOptions& batch) {
  const auto* const mapped = dynamic_cast<const ParallelMapDataset*>(&input);
  if (mapped == nullptr) return nullptr;
  return MapAndBatched(mapped->input().shared_from_this(), mapped->spec(), mapped->map(), batch);
}

}  // namespace tessera
