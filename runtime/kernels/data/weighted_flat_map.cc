// WeightedFlatMapDataset: the first elements of several datasets, one dataset behind the other, as
// many of each as its weight gives.
#include <algorithm>
#include <limits>

#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

class WeightedFlatMapDataset final : public Dataset {
 public:
  // counts[i] elements of inputs[i] are read.
  WeightedFlatMapDataset(ElementSpec spec, std::vector<DatasetPtr> inputs,
                         const std::vector<int64_t>& counts)
      : Dataset(std::move(spec), Sum(counts), inputs), inputs_(std::move(inputs)) {
    int64_t end = 0;
    for (const int64_t count : counts) ends_.push_back(end += count);
  }
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override {
    for (const DatasetPtr& input : inputs_) RETURN_IF_ERROR(input->CheckRandomAccess());
    return absl::OkStatus();
  }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    const size_t i = InputOf(index);
    return inputs_[i]->ElementAt(step, i == 0 ? index : index - ends_[i - 1]);
  }

  const std::vector<DatasetPtr>& inputs() const { return inputs_; }
  // Returns the input that has the element. Requires 0 <= index < cardinality().
  size_t InputOf(int64_t index) const {
    return std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
  }

 private:
  // The counts are at most those of elements, which fit; their sum may not.
  static int64_t Sum(const std::vector<int64_t>& counts) {
    int64_t sum = 0;
    for (const int64_t count : counts) {
      sum = count > std::numeric_limits<int64_t>::max() - sum ? kInfinite : sum + count;
      if (sum < 0) return sum;
    }
    return sum;
  }

  const std::vector<DatasetPtr> inputs_;
  std::vector<int64_t> ends_;  // the position behind the last element of each input
};

class WeightedFlatMapIterator final : public Iterator {
 public:
  explicit WeightedFlatMapIterator(std::shared_ptr<const WeightedFlatMapDataset> dataset)
      : dataset_(std::move(dataset)) {
    for (const DatasetPtr& input : dataset_->inputs()) inputs_.push_back(input->MakeIterator());
  }
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Number("next", &next_));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      RETURN_IF_ERROR(archive.Position(absl::StrCat("input", i), inputs_[i].get()));
    }
    return next_ >= 0 ? absl::OkStatus()
                      : absl::DataLossError("the saved state of a weighted flat map is damaged");
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (next_ >= dataset_->cardinality()) return false;
    return inputs_[dataset_->InputOf(next_++)]->Next(step, element);
  }

 private:
  const std::shared_ptr<const WeightedFlatMapDataset> dataset_;
  std::vector<std::unique_ptr<Iterator>> inputs_;
  int64_t next_ = 0;
};

std::unique_ptr<Iterator> WeightedFlatMapDataset::MakeIterator() const {
  return std::make_unique<WeightedFlatMapIterator>(Share<WeightedFlatMapDataset>());
}

// Returns how many elements of each input are read, so that their numbers are as the weights and
// one input at least is read to its end. Errors: INVALID_ARGUMENT if rounding asks for an element
// more than an input has.
absl::StatusOr<std::vector<int64_t>> CountsByWeight(const std::vector<DatasetPtr>& inputs,
                                                    const std::vector<double>& weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  double fewest = std::numeric_limits<double>::max();
  size_t first_to_end = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double scaled = static_cast<double>(inputs[i]->cardinality()) * weights[i] / largest;
    if (scaled < fewest) {
      fewest = scaled;
      first_to_end = i;
    }
  }
  std::vector<int64_t> counts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double count = fewest * weights[i] / weights[first_to_end];
    const int64_t size = inputs[i]->cardinality();
    // Beyond int64 and NaN as well, which no integer stands for.
    if (!(count < static_cast<double>(size) + 1)) {
      return absl::InvalidArgumentError(absl::StrCat("Input ", i, " needs to have at least ", count,
                                                     " elements. It only has ", size,
                                                     " elements."));
    }
    counts.push_back(std::min(static_cast<int64_t>(count), size));
  }
  return counts;
}

// Errors: INVALID_ARGUMENT for another number of weights than of inputs, for a weight that is not
// positive, and for inputs whose elements do not fit each other, or whose number is not known.
class WeightedFlatMapKernel final : public DatasetKernel {
 public:
  explicit WeightedFlatMapKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        inputs_(build.inputs("input_datasets")),
        weights_(build.inputs("weights")) {
    if (inputs_.size() != weights_.size()) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "`input_datasets` and `weights` of the WeightedFlatMap must have the same size. Got ",
          inputs_.size(), " datasets and ", weights_.size(), " weights.")));
    }
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    std::vector<DatasetPtr> inputs;
    std::vector<double> weights;
    for (int i = 0; i < inputs_.size(); ++i) {
      ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, inputs_.begin + i));
      RETURN_IF_ERROR(spec_.CheckFits(input->spec()));
      if (input->cardinality() < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Cardinalities of the inputs must be known. Input ", i, " has ",
            input->cardinality() == Dataset::kInfinite ? "INFINITE" : "UNKNOWN", " cardinality."));
      }
      ASSIGN_OR_RETURN(const double weight,
                       ScalarInput<double>(ctx, weights_.begin + i, "weights"));
      if (!(weight > 0)) {
        return absl::InvalidArgumentError(absl::StrCat("`weights` must be greater than 0.0. Input ",
                                                       i, " has a weight of ", weight));
      }
      inputs.push_back(input);
      weights.push_back(weight);
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> counts, CountsByWeight(inputs, weights));
    return std::make_shared<WeightedFlatMapDataset>(spec_, std::move(inputs), counts);
  }

 private:
  const ElementSpec spec_;
  const ArgRange inputs_, weights_;
};
REGISTER_KERNEL("WeightedFlatMapDataset", kCpu, WeightedFlatMapKernel);

}  // namespace
}  // namespace tessera
