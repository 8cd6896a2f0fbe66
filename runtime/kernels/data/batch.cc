// BatchDataset, BatchDatasetV2, ParallelBatchDataset: consecutive elements as rows of one.
#include "runtime/kernels/data/batching.h"
#include "runtime/kernels/data/transformations.h"

namespace tessera {
namespace {

class BatchDataset final : public UnaryDataset {
 public:
  BatchDataset(const DatasetPtr& input, int64_t batch_size, bool drop_remainder,
               Allocator* allocator)
      : UnaryDataset(input, SpecOfBatches(input->spec(), Rows(*input, batch_size, drop_remainder)),
                     NumBatches(input->cardinality(), batch_size, drop_remainder)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        allocator_(allocator) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  int64_t batch_size() const { return batch_size_; }
  bool drop_remainder() const { return drop_remainder_; }
  Allocator* allocator() const { return allocator_; }

 private:
  static int64_t Rows(const Dataset& input, int64_t batch_size, bool drop_remainder) {
    return drop_remainder || input.cardinality() == kInfinite ? batch_size : -1;
  }

  const int64_t batch_size_;
  const bool drop_remainder_;
  Allocator* const allocator_;
};

class BatchIterator final : public UnaryIterator<BatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::StatusOr<int64_t> Skip(StepContext& step, int64_t count) override {
    const int64_t size = dataset().batch_size();
    int64_t skipped = 0;
    while (skipped < count) {
      ASSIGN_OR_RETURN(const int64_t elements, input().Skip(step, size));
      if (elements == 0 || (elements < size && dataset().drop_remainder())) break;
      ++skipped;
    }
    return skipped;
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    ASSIGN_OR_RETURN(std::vector<Element> elements,
                     ReadElements(step, input(), dataset().batch_size()));
    const bool is_full = static_cast<int64_t>(elements.size()) == dataset().batch_size();
    if (elements.empty() || (dataset().drop_remainder() && !is_full)) return false;
    ASSIGN_OR_RETURN(*element,
                     Stack(std::move(elements), step.intra_op_pool, dataset().allocator()));
    return true;
  }
};

std::unique_ptr<Iterator> BatchDataset::MakeIterator() const {
  return std::make_unique<BatchIterator>(Share<BatchDataset>());
}

absl::StatusOr<DatasetPtr> MakeBatchKeepingRemainder(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t batch_size, BatchSizeInput(ctx, 1));
  return Batched(input, batch_size, false, ctx.host_allocator());
}
REGISTER_DATASET("BatchDataset", MakeBatchKeepingRemainder);

absl::StatusOr<DatasetPtr> MakeBatch(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const int64_t batch_size, BatchSizeInput(ctx, 1));
  ASSIGN_OR_RETURN(const bool drop_remainder,
                   ScalarInput<bool>(ctx, ctx.num_inputs() - 1, "drop_remainder"));
  return Batched(input, batch_size, drop_remainder, ctx.host_allocator());
}
REGISTER_DATASET("BatchDatasetV2", MakeBatch);
// The rows of a batch are copied in parallel anyway, and what comes before runs in parallel itself.
REGISTER_DATASET("ParallelBatchDataset", MakeBatch);

}  // namespace

DatasetPtr Batched(const DatasetPtr& input, int64_t batch_size, bool drop_remainder,
                   Allocator* allocator) {
  return std::make_shared<BatchDataset>(input, batch_size, drop_remainder, allocator);
}

}  // namespace tessera
