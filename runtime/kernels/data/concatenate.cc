// ConcatenateDataset: one dataset behind another.
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

int64_t SumOf(int64_t a, int64_t b) {
  if (a == Dataset::kInfinite || b == Dataset::kInfinite) return Dataset::kInfinite;
  if (a < 0 || b < 0) return Dataset::kUnknown;
  return a > std::numeric_limits<int64_t>::max() - b ? Dataset::kInfinite : a + b;
}

// What is known of elements of either dataset, whose dtypes are the same.
ElementSpec SpecOfEither(const ElementSpec& a, const ElementSpec& b) {
  ElementSpec either;
  either.dtypes = a.dtypes;
  for (size_t i = 0; i < a.shapes.size(); ++i) {
    const PartialShape &x = a.shapes[i], &y = b.shapes[i];
    if (!x.known_rank() || !y.known_rank() || x.rank() != y.rank()) {
      either.shapes.emplace_back();
      continue;
    }
    PartialShape shape = x;
    for (int d = 0; d < x.rank(); ++d) {
      if (x.dim(d) != y.dim(d)) shape.set_dim(d, -1);
    }
    either.shapes.push_back(std::move(shape));
  }
  return either;
}

class ConcatenateDataset final : public Dataset {
 public:
  ConcatenateDataset(const DatasetPtr& first, const DatasetPtr& second)
      : Dataset(SpecOfEither(first->spec(), second->spec()),
                SumOf(first->cardinality(), second->cardinality()),
                std::vector<DatasetPtr>{first, second}),
        first_(first),
        second_(second) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override {
    RETURN_IF_ERROR(first_->CheckRandomAccess());
    return second_->CheckRandomAccess();
  }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    const int64_t size = first_->cardinality();
    return index < size ? first_->ElementAt(step, index) : second_->ElementAt(step, index - size);
  }
  const Dataset& first() const { return *first_; }
  const Dataset& second() const { return *second_; }

 private:
  const DatasetPtr first_, second_;
};

// The iterator of the first dataset is kept when it has ended: its position includes what the
// iterators after it go on from, as the seeds of the next round of a shuffle.
class ConcatenateIterator final : public Iterator {
 public:
  explicit ConcatenateIterator(std::shared_ptr<const ConcatenateDataset> dataset)
      : dataset_(std::move(dataset)), first_(dataset_->first().MakeIterator()) {}
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Position("first", first_.get()));
    return archive.Position("second", &second_,
                            [this] { return dataset_->second().MakeIterator(); });
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (second_ == nullptr) {
      ASSIGN_OR_RETURN(const bool more, first_->Next(step, element));
      if (more) return true;
      second_ = dataset_->second().MakeIterator();
    }
    return second_->Next(step, element);
  }

 private:
  const std::shared_ptr<const ConcatenateDataset> dataset_;
  std::unique_ptr<Iterator> first_;
  std::unique_ptr<Iterator> second_;  // null until the first dataset has ended
};

std::unique_ptr<Iterator> ConcatenateDataset::MakeIterator() const {
  return std::make_unique<ConcatenateIterator>(Share<ConcatenateDataset>());
}

// Errors: INVALID_ARGUMENT for datasets of different dtypes.
absl::StatusOr<DatasetPtr> MakeConcatenate(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr first, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const DatasetPtr second, DatasetInput(ctx, 1));
  if (first->spec().dtypes != second->spec().dtypes) {
    return absl::InvalidArgumentError(
        "input dataset and dataset to concatenate have different output_types");
  }
  return std::make_shared<ConcatenateDataset>(first, second);
}
REGISTER_DATASET("ConcatenateDataset", MakeConcatenate);

}  // namespace
}  // namespace tessera
