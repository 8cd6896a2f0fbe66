// Datasets that look at how their input fares: AssertCardinalityDataset, IgnoreErrorsDataset.
#include "runtime/base/logging.h"
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

std::string ElementsText(int64_t count) {
  if (count == Dataset::kInfinite) return "an infinite number of elements";
  return absl::StrCat(count, " element", count == 1 ? "" : "s");
}

class AssertCardinalityDataset final : public UnaryDataset {
 public:
  AssertCardinalityDataset(const DatasetPtr& input, int64_t cardinality)
      : UnaryDataset(input, input->spec(), cardinality) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
};

class AssertCardinalityIterator final : public UnaryIterator<AssertCardinalityDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Number("seen", &seen_));
    return UnaryIterator::Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
    if (more) ++seen_;
    const int64_t expected = dataset().cardinality();
    if (!more && expected != Dataset::kUnknown && seen_ != expected) {
      return absl::FailedPreconditionError(
          absl::StrCat("Input dataset was expected to contain ", ElementsText(expected),
                       " but contained only ", ElementsText(seen_), "."));
    }
    if (more && expected >= 0 && seen_ > expected) {
      return absl::FailedPreconditionError(
          absl::StrCat("Input dataset was expected to contain ", ElementsText(expected),
                       " but contained at least ", ElementsText(seen_), "."));
    }
    return more;
  }

 private:
  int64_t seen_ = 0;
};

std::unique_ptr<Iterator> AssertCardinalityDataset::MakeIterator() const {
  return std::make_unique<AssertCardinalityIterator>(Share<AssertCardinalityDataset>());
}

absl::StatusOr<DatasetPtr> MakeAssertCardinality(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t cardinality, ScalarInput<int64_t>(ctx, 1, "cardinality"));
  return std::make_shared<AssertCardinalityDataset>(input, cardinality);
}
REGISTER_DATASET("AssertCardinalityDataset", MakeAssertCardinality);

// Leaves out the elements that fail.
class IgnoreErrorsDataset final : public UnaryDataset {
 public:
  IgnoreErrorsDataset(const DatasetPtr& input, bool log_warning)
      : UnaryDataset(input, input->spec(), kUnknown), log_warning_(log_warning) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  bool log_warning() const { return log_warning_; }

 private:
  const bool log_warning_;
};

class IgnoreErrorsIterator final : public UnaryIterator<IgnoreErrorsDataset> {
 public:
  using UnaryIterator::UnaryIterator;

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (true) {
      absl::StatusOr<bool> more = input().Next(step, element);
      if (more.ok() || absl::IsCancelled(more.status()) ||
          absl::IsDeadlineExceeded(more.status())) {
        return more;
      }
      if (dataset().log_warning()) {
        LOG(WARNING) << "an element of a dataset was left out: " << more.status();
      }
    }
  }
};

std::unique_ptr<Iterator> IgnoreErrorsDataset::MakeIterator() const {
  return std::make_unique<IgnoreErrorsIterator>(Share<IgnoreErrorsDataset>());
}

class IgnoreErrorsKernel final : public DatasetKernel {
 public:
  explicit IgnoreErrorsKernel(const KernelBuild& build)
      : log_warning_(build.attr<bool>("log_warning")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    return std::make_shared<IgnoreErrorsDataset>(input, log_warning_);
  }

 private:
  const bool log_warning_;
};
REGISTER_KERNEL("IgnoreErrorsDataset", kCpu, IgnoreErrorsKernel);
REGISTER_KERNEL("ExperimentalIgnoreErrorsDataset", kCpu, IgnoreErrorsKernel);

}  // namespace
}  // namespace tessera
