#include "runtime/kernels/data/elements_dataset.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/data/dataset_encoding.h"
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

constexpr absl::string_view kEncodedName = "tessera::ElementsDataset";

// The content is the components of all elements, one element after the other.
absl::StatusOr<DatasetPtr> DecodeElements(ElementSpec spec, std::vector<Tensor> content) {
  const size_t size = spec.dtypes.size();
  if (size == 0 || content.size() % size != 0) {
    return absl::DataLossError("a saved dataset has an element that is not complete");
  }
  std::vector<Element> elements;
  for (size_t i = 0; i < content.size(); i += size) {
    elements.emplace_back(content.begin() + i, content.begin() + i + size);
    if (!spec.CheckTypes(elements.back()).ok()) {
      return absl::DataLossError("a saved dataset has an element of another type");
    }
  }
  return std::make_shared<ElementsDataset>(std::move(spec), std::move(elements));
}
REGISTER_DATASET_DECODER(kEncodedName, DecodeElements);

}  // namespace

std::shared_ptr<const EncodedVariant> ElementsDataset::Encode() const {
  std::vector<Tensor> content;
  for (const Element& element : elements_) {
    content.insert(content.end(), element.begin(), element.end());
  }
  return EncodeDataset(kEncodedName, spec(), std::move(content));
}

std::unique_ptr<Iterator> IndexedDataset::MakeIterator() const {
  return std::make_unique<IndexedIterator>(Share<IndexedDataset>());
}

}  // namespace tessera
