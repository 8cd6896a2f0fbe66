// BatchDataset, BatchDatasetV2, ParallelBatchDataset: consecutive elements as rows of one.
#include "runtime/kernels/data/batching.h"
#include "runtime/kernels/data/transformations.h"

namespace tessera {
namespace {

class BatchDataset final : public UnaryDataset {
 public:
  BatchDataset(const DatasetPtr& input, const BatchOptions& batch)
      : UnaryDataset(input, SpecOfBatches(input->spec(), Rows(*input, batch)),
                     NumBatches(input->cardinality(), batch.size, batch.drop_remainder)),
        batch_(batch) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override {
    if (!batch_.drop_remainder) {
      return absl::FailedPreconditionError(
          "batches do not support global shuffle with `drop_remainder=False`");
    }
    return input().CheckRandomAccess();
  }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    const int64_t begin = index * batch_.size, end = begin + batch_.size;
    std::vector<Element> elements;
    for (int64_t i = begin; i < end; ++i) {
      ASSIGN_OR_RETURN(Element element, input().ElementAt(step, i));
      elements.push_back(std::move(element));
    }
    return Stack(std::move(elements), step.intra_op_pool, batch_.allocator);
  }
  const BatchOptions& batch() const { return batch_; }

 private:
  static int64_t Rows(const Dataset& input, const BatchOptions& batch) {
    return batch.drop_remainder || input.cardinality() == kInfinite ? batch.size : -1;
  }

  const BatchOptions batch_;
};

class BatchIterator final : public UnaryIterator<BatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::StatusOr<int64_t> Skip(StepContext& step, int64_t count) override {
    const int64_t size = dataset().batch().size;
    int64_t skipped = 0;
    while (skipped < count) {
      ASSIGN_OR_RETURN(const int64_t elements, input().Skip(step, size));
      if (elements == 0 || (elements < size && dataset().batch().drop_remainder)) break;
      ++skipped;
    }
    return skipped;
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    ASSIGN_OR_RETURN(std::vector<Element> elements,
                     ReadElements(step, input(), dataset().batch().size));
    const bool is_full = static_cast<int64_t>(elements.size()) == dataset().batch().size;
    if (elements.empty() || (dataset().batch().drop_remainder && !is_full)) return false;
    ASSIGN_OR_RETURN(*element,
                     Stack(std::move(elements), step.intra_op_pool, dataset().batch().allocator));
    return true;
  }
};

std::unique_ptr<Iterator> BatchDataset::MakeIterator() const {
  return std::make_unique<BatchIterator>(Share<BatchDataset>());
}

absl::StatusOr<DatasetPtr> MakeBatchKeepingRemainder(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t batch_size, BatchSizeInput(ctx, 1));
  return Batched(input, {.size = batch_size, .allocator = ctx.host_allocator()});
}
REGISTER_DATASET("BatchDataset", MakeBatchKeepingRemainder);

absl::StatusOr<DatasetPtr> MakeBatch(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t batch_size, BatchSizeInput(ctx, 1));
  ASSIGN_OR_RETURN(const bool drop_remainder,
                   ScalarInput<bool>(ctx, ctx.num_inputs() - 1, "drop_remainder"));
  return Batched(
      input,
      {.size = batch_size, .drop_remainder = drop_remainder, .allocator = ctx.host_allocator()});
}
REGISTER_DATASET("BatchDatasetV2", MakeBatch);
// The rows of a batch are copied in parallel anyway, and what comes before runs in parallel itself.
REGISTER_DATASET("ParallelBatchDataset", MakeBatch);

}  // namespace

DatasetPtr Batched(const DatasetPtr& input, const BatchOptions& batch) {
  if (DatasetPtr fused = BatchedIfMapped(*input, batch)) return fused;
  return std::make_shared<BatchDataset>(input, batch);
}

}  // namespace tessera
