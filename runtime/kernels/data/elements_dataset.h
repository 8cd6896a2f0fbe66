// Datasets of elements that are in memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {

// A dataset that gives each element by its position.
class IndexedDataset : public Dataset {
 public:
  std::unique_ptr<Iterator> MakeIterator() const final;
  absl::Status CheckRandomAccess() const final { return absl::OkStatus(); }
  absl::StatusOr<Element> ElementAt(StepContext&, int64_t index) const final { return At(index); }
  // Requires 0 <= i < size().
  virtual Element At(int64_t i) const = 0;
  // Returns the number of elements, also if the dataset says that it is infinite.
  int64_t size() const { return size_; }

 protected:
  IndexedDataset(ElementSpec spec, int64_t size) : IndexedDataset(std::move(spec), size, size) {}
  IndexedDataset(ElementSpec spec, int64_t size, int64_t cardinality)
      : Dataset(std::move(spec), cardinality), size_(size) {}

 private:
  const int64_t size_;
};

// A dataset of these elements, such as a window. Its serialised form holds the elements.
class ElementsDataset final : public IndexedDataset {
 public:
  ElementsDataset(ElementSpec spec, std::vector<Element> elements)
      : IndexedDataset(std::move(spec), static_cast<int64_t>(elements.size())),
        elements_(std::move(elements)) {}
  Element At(int64_t i) const override { return elements_[i]; }
  std::shared_ptr<const EncodedVariant> Encode() const override;

 private:
  const std::vector<Element> elements_;
};

}  // namespace tessera
