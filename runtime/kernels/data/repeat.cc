// RepeatDataset: another dataset several times, or for ever.
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

int64_t CardinalityOf(int64_t n, int64_t count) {
  if (n == 0 || count == 0) return 0;
  if (count < 0) return Dataset::kInfinite;
  if (n < 0) return n;
  const int64_t product = MultiplyWithoutOverflow(n, count);
  return product < 0 ? Dataset::kInfinite : product;
}

// `count` < 0: for ever, unless the dataset is empty.
class RepeatDataset final : public UnaryDataset {
 public:
  RepeatDataset(const DatasetPtr& input, int64_t count)
      : UnaryDataset(input, input->spec(), CardinalityOf(input->cardinality(), count)),
        count_(count) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override {
    if (count_ < 0) {
      return absl::FailedPreconditionError("`repeat(-1)` does not support random access");
    }
    return input().CheckRandomAccess();
  }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    return input().ElementAt(step, index % input().cardinality());
  }
  int64_t count() const { return count_; }

 private:
  const int64_t count_;
};

class RepeatIterator final : public UnaryIterator<RepeatDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Number("round", &round_));
    RETURN_IF_ERROR(archive.Flag("round_has_elements", &round_has_elements_));
    return UnaryIterator::Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    const int64_t count = dataset().count();
    while (count < 0 || round_ < count) {
      ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
      if (more) {
        round_has_elements_ = true;
        return true;
      }
      if (count < 0 && !round_has_elements_) return false;
      round_has_elements_ = false;
      ++round_;
      RestartInput();
    }
    return false;
  }

 private:
  int64_t round_ = 0;
  bool round_has_elements_ = false;
};

std::unique_ptr<Iterator> RepeatDataset::MakeIterator() const {
  return std::make_unique<RepeatIterator>(Share<RepeatDataset>());
}

absl::StatusOr<DatasetPtr> MakeRepeat(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
  return std::make_shared<RepeatDataset>(input, count);
}
REGISTER_DATASET("RepeatDataset", MakeRepeat);

}  // namespace
}  // namespace tessera
