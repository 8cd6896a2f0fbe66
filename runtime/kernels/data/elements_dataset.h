// Datasets of elements that are in memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/data/dataset.h"

namespace tessera {

// A dataset that gives each element by its position.
class IndexedDataset : public Dataset {
 public:
  std::unique_ptr<Iterator> MakeIterator() const final;
  absl::Status CheckRandomAccess() const final { return absl::OkStatus(); }
  absl::StatusOr<Element> ElementAt(StepContext&, int64_t index) const final { return At(index); }
  // Requires 0 <= i < cardinality().
  virtual Element At(int64_t i) const = 0;

 protected:
  using Dataset::Dataset;
};

// A dataset of these elements, such as a window.
class ElementsDataset final : public IndexedDataset {
 public:
  ElementsDataset(ElementSpec spec, std::vector<Element> elements)
      : IndexedDataset(std::move(spec), static_cast<int64_t>(elements.size())),
        elements_(std::move(elements)) {}
  Element At(int64_t i) const override { return elements_[i]; }

 private:
  const std::vector<Element> elements_;
};

}  // namespace tessera
