// SleepDataset: waits before each element, as a slow source does.
#include "runtime/data/background.h"
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

class SleepDataset final : public UnaryDataset {
 public:
  SleepDataset(const DatasetPtr& input, absl::Duration pause)
      : UnaryDataset(input, input->spec(), input->cardinality()), pause_(pause) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Duration pause() const { return pause_; }

 private:
  const absl::Duration pause_;
};

class SleepIterator final : public UnaryIterator<SleepDataset> {
 public:
  using UnaryIterator::UnaryIterator;

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    StepContext pause = step;
    pause.deadline = std::min(step.deadline, absl::Now() + dataset().pause());
    absl::Mutex mu;
    mu.Lock();
    const absl::Status status = AwaitInStep(pause, mu, [] { return false; });
    mu.Unlock();
    if (!absl::IsDeadlineExceeded(status)) return status;
    return input().Next(step, element);
  }
};

std::unique_ptr<Iterator> SleepDataset::MakeIterator() const {
  return std::make_unique<SleepIterator>(Share<SleepDataset>());
}

absl::StatusOr<DatasetPtr> MakeSleep(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t microseconds, ScalarInput<int64_t>(ctx, 1, "sleep_microseconds"));
  return std::make_shared<SleepDataset>(input,
                                        absl::Microseconds(std::max<int64_t>(0, microseconds)));
}
REGISTER_DATASET("SleepDataset", MakeSleep);
REGISTER_DATASET("ExperimentalSleepDataset", MakeSleep);

}  // namespace
}  // namespace tessera
