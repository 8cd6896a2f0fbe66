// Datasets of the elements for which a function holds: FilterDataset, ParallelFilterDataset,
// TakeWhileDataset.
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

enum class Refused { kIsLeftOut, kIsTheEnd };

class PredicateDataset final : public UnaryDataset {
 public:
  PredicateDataset(const DatasetPtr& input, FunctionPtr predicate, Refused refused)
      : UnaryDataset(input, input->spec(), kUnknown),
        predicate_(std::move(predicate)),
        refused_(refused) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const CapturedFunction& predicate() const { return *predicate_; }
  Refused refused() const { return refused_; }

 private:
  const FunctionPtr predicate_;
  const Refused refused_;
};

class PredicateIterator final : public UnaryIterator<PredicateDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Flag("ended", &ended_));
    return UnaryIterator::Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (!ended_) {
      ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
      if (!more) break;
      ASSIGN_OR_RETURN(const bool holds,
                       dataset().predicate().Holds(step, *element, "`predicate`"));
      if (holds) return true;
      if (dataset().refused() == Refused::kIsTheEnd) break;
    }
    ended_ = true;
    return false;
  }

 private:
  bool ended_ = false;
};

std::unique_ptr<Iterator> PredicateDataset::MakeIterator() const {
  return std::make_unique<PredicateIterator>(Share<PredicateDataset>());
}

template <Refused kRefused>
class PredicateKernel final : public DatasetKernel {
 public:
  explicit PredicateKernel(const KernelBuild& build)
      : predicate_(build, "predicate", "other_arguments") {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(FunctionPtr predicate, predicate_.Capture(ctx, input->num_components(), 1));
    return std::make_shared<PredicateDataset>(input, std::move(predicate), kRefused);
  }

 private:
  const FunctionAttr predicate_;
};
REGISTER_KERNEL("FilterDataset", kCpu, PredicateKernel<Refused::kIsLeftOut>);
// A predicate is seldom worth a thread of its own; the order is that of a deterministic one.
REGISTER_KERNEL("ParallelFilterDataset", kCpu, PredicateKernel<Refused::kIsLeftOut>);
REGISTER_KERNEL("TakeWhileDataset", kCpu, PredicateKernel<Refused::kIsTheEnd>);
REGISTER_KERNEL("ExperimentalTakeWhileDataset", kCpu, PredicateKernel<Refused::kIsTheEnd>);

}  // namespace
}  // namespace tessera
