#include "runtime/kernels/data/elements_dataset.h"

#include <algorithm>

#include "runtime/data/iterator_archive.h"

namespace tessera {
namespace {

class IndexedIterator final : public Iterator {
 public:
  explicit IndexedIterator(std::shared_ptr<const IndexedDataset> dataset)
      : dataset_(std::move(dataset)) {}
  absl::StatusOr<int64_t> Skip(StepContext&, int64_t count) override {
    const int64_t left = std::max<int64_t>(0, dataset_->size() - next_);
    const int64_t skipped = std::min(count, left);
    next_ += skipped;
    return skipped;
  }
  absl::Status Transfer(IteratorArchive& archive) override {
    return archive.Number("next", &next_);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext&, Element* element) override {
    if (next_ >= dataset_->size()) return false;
    *element = dataset_->At(next_++);
    return true;
  }

 private:
  const std::shared_ptr<const IndexedDataset> dataset_;
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Iterator> IndexedDataset::MakeIterator() const {
  return std::make_unique<IndexedIterator>(Share<IndexedDataset>());
}

}  // namespace tessera
