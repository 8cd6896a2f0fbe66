// ZipDataset: the components of an element of each input, side by side.
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

int64_t ShortestOf(const std::vector<DatasetPtr>& inputs) {
  int64_t shortest = Dataset::kInfinite;
  for (const DatasetPtr& input : inputs) {
    const int64_t n = input->cardinality();
    if (n == Dataset::kUnknown) return n;
    if (n >= 0) shortest = shortest < 0 ? n : std::min(shortest, n);
  }
  return shortest;
}

ElementSpec JoinedSpec(const std::vector<DatasetPtr>& inputs) {
  ElementSpec joined;
  for (const DatasetPtr& input : inputs) {
    const ElementSpec& spec = input->spec();
    joined.dtypes.insert(joined.dtypes.end(), spec.dtypes.begin(), spec.dtypes.end());
    joined.shapes.insert(joined.shapes.end(), spec.shapes.begin(), spec.shapes.end());
  }
  return joined;
}

// Ends with the shortest input.
class ZipDataset final : public Dataset {
 public:
  explicit ZipDataset(std::vector<DatasetPtr> inputs)
      : Dataset(JoinedSpec(inputs), ShortestOf(inputs), inputs), inputs_(std::move(inputs)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override {
    for (const DatasetPtr& input : inputs_) RETURN_IF_ERROR(input->CheckRandomAccess());
    return absl::OkStatus();
  }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    Element element;
    for (const DatasetPtr& input : inputs_) {
      ASSIGN_OR_RETURN(Element part, input->ElementAt(step, index));
      for (Tensor& component : part) element.push_back(std::move(component));
    }
    return element;
  }
  const std::vector<DatasetPtr>& inputs() const { return inputs_; }

 private:
  const std::vector<DatasetPtr> inputs_;
};

class ZipIterator final : public Iterator {
 public:
  explicit ZipIterator(std::shared_ptr<const ZipDataset> dataset) : dataset_(std::move(dataset)) {
    for (const DatasetPtr& input : dataset_->inputs()) inputs_.push_back(input->MakeIterator());
  }
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Flag("ended", &ended_));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      RETURN_IF_ERROR(archive.Position(absl::StrCat("input", i), inputs_[i].get()));
    }
    return absl::OkStatus();
  }

 protected:
  // All inputs go on by one, even if one of them fails or ends: the elements after it stay
  // together, and an input of the same length comes to its end as well, where a cache is complete.
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (ended_) return false;
    element->clear();
    absl::Status first;
    for (const auto& input : inputs_) {
      Element part;
      const absl::StatusOr<bool> more = input->Next(step, &part);
      if (!more.ok()) {
        if (first.ok() && !ended_) first = more.status();
        continue;
      }
      ended_ = ended_ || !*more;
      for (Tensor& component : part) element->push_back(std::move(component));
    }
    RETURN_IF_ERROR(first);
    return !ended_;
  }

 private:
  const std::shared_ptr<const ZipDataset> dataset_;
  std::vector<std::unique_ptr<Iterator>> inputs_;
  bool ended_ = false;
};

std::unique_ptr<Iterator> ZipDataset::MakeIterator() const {
  return std::make_unique<ZipIterator>(Share<ZipDataset>());
}

absl::StatusOr<DatasetPtr> MakeZip(KernelContext& ctx) {
  std::vector<DatasetPtr> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(inputs.emplace_back(), DatasetInput(ctx, i));
  }
  return std::make_shared<ZipDataset>(std::move(inputs));
}
REGISTER_DATASET("ZipDataset", MakeZip);

}  // namespace
}  // namespace tessera
