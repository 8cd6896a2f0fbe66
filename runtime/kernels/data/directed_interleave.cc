// DirectedInterleaveDataset: each element from the dataset that another dataset chooses by number.
// TensorFlow's sample_from_datasets() and choose_from_datasets() are made of it.
#include <algorithm>

#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

std::vector<DatasetPtr> WithSelector(const DatasetPtr& selector, std::vector<DatasetPtr> inputs) {
  inputs.push_back(selector);
  return inputs;
}

class DirectedInterleaveDataset final : public Dataset {
 public:
  DirectedInterleaveDataset(ElementSpec spec, const DatasetPtr& selector,
                            std::vector<DatasetPtr> inputs, bool stop_on_empty)
      : Dataset(std::move(spec), CardinalityOf(inputs), WithSelector(selector, inputs)),
        selector_(selector),
        inputs_(std::move(inputs)),
        stop_on_empty_(stop_on_empty) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const Dataset& selector() const { return *selector_; }
  const std::vector<DatasetPtr>& inputs() const { return inputs_; }
  // Whether everything ends with the first input that does.
  bool stop_on_empty() const { return stop_on_empty_; }

 private:
  static int64_t CardinalityOf(const std::vector<DatasetPtr>& inputs) {
    const bool is_infinite = std::ranges::any_of(
        inputs, [](const DatasetPtr& input) { return input->cardinality() == kInfinite; });
    return is_infinite ? kInfinite : kUnknown;
  }

  const DatasetPtr selector_;
  const std::vector<DatasetPtr> inputs_;
  const bool stop_on_empty_;
};

class DirectedInterleaveIterator final : public Iterator {
 public:
  explicit DirectedInterleaveIterator(std::shared_ptr<const DirectedInterleaveDataset> dataset)
      : dataset_(std::move(dataset)), selector_(dataset_->selector().MakeIterator()) {
    for (const DatasetPtr& input : dataset_->inputs()) inputs_.push_back(input->MakeIterator());
    num_active_ = inputs_.size();
  }
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Position("selector", selector_.get()));
    RETURN_IF_ERROR(archive.Flag("ended", &ended_));
    num_active_ = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      RETURN_IF_ERROR(archive.Position(absl::StrCat("input", i), &inputs_[i], [&] {
        return absl::StatusOr<std::unique_ptr<Iterator>>(dataset_->inputs()[i]->MakeIterator());
      }));
      if (inputs_[i] != nullptr) ++num_active_;
    }
    return absl::OkStatus();
  }

 protected:
  // Errors: INVALID_ARGUMENT for a number that is no input's.
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (!ended_) {
      Element selected;
      ASSIGN_OR_RETURN(bool more, selector_->Next(step, &selected));
      if (!more) break;
      const int64_t index = selected[0].num_elements() == 1 ? selected[0].scalar<int64_t>() : -1;
      if (index < 0 || index >= static_cast<int64_t>(inputs_.size())) {
        return absl::InvalidArgumentError(
            absl::StrCat("Selector index out of range: ", index, " >= ", inputs_.size()));
      }
      if (inputs_[index] == nullptr) continue;
      ASSIGN_OR_RETURN(more, inputs_[index]->Next(step, element));
      if (more) return true;
      inputs_[index] = nullptr;
      if (--num_active_ == 0 || dataset_->stop_on_empty()) break;
    }
    ended_ = true;
    return false;
  }

 private:
  const std::shared_ptr<const DirectedInterleaveDataset> dataset_;
  const std::unique_ptr<Iterator> selector_;
  std::vector<std::unique_ptr<Iterator>> inputs_;  // null: through
  size_t num_active_ = 0;
  bool ended_ = false;
};

std::unique_ptr<Iterator> DirectedInterleaveDataset::MakeIterator() const {
  return std::make_unique<DirectedInterleaveIterator>(Share<DirectedInterleaveDataset>());
}

// Errors: INVALID_ARGUMENT for a selector of anything but int64 numbers, or inputs of different
// dtypes.
class DirectedInterleaveKernel final : public DatasetKernel {
 public:
  explicit DirectedInterleaveKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        stop_on_empty_(build.has_attr("stop_on_empty_dataset") &&
                       build.attr<bool>("stop_on_empty_dataset")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr selector, DatasetInput(ctx, 0));
    if (selector->spec().dtypes != std::vector<DType>{DType::kInt64}) {
      return absl::InvalidArgumentError(
          "The selector input must be a dataset of scalar int64 elements.");
    }
    std::vector<DatasetPtr> inputs;
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(inputs.emplace_back(), DatasetInput(ctx, i));
      if (inputs.back()->spec().dtypes != spec_.dtypes) {
        return absl::InvalidArgumentError(
            absl::StrCat("All inputs must have the same output_dtypes. Input ", i - 1,
                         " differs from the others."));
      }
    }
    return std::make_shared<DirectedInterleaveDataset>(spec_, selector, std::move(inputs),
                                                       stop_on_empty_);
  }

 private:
  const ElementSpec spec_;
  const bool stop_on_empty_;
};
REGISTER_KERNEL("DirectedInterleaveDataset", kCpu, DirectedInterleaveKernel);
REGISTER_KERNEL("ExperimentalDirectedInterleaveDataset", kCpu, DirectedInterleaveKernel);

}  // namespace
}  // namespace tessera
