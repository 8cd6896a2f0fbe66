// ScanDataset: a function of each element and of a state that goes from one to the next.
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

class ScanDataset final : public UnaryDataset {
 public:
  ScanDataset(const DatasetPtr& input, ElementSpec spec, FunctionPtr function, Element initial,
              bool preserves_cardinality)
      : UnaryDataset(input, std::move(spec),
                     preserves_cardinality ? input->cardinality() : kUnknown),
        function_(std::move(function)),
        initial_(std::move(initial)),
        preserves_cardinality_(preserves_cardinality) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const CapturedFunction& function() const { return *function_; }
  const Element& initial() const { return initial_; }
  bool preserves_cardinality() const { return preserves_cardinality_; }

 private:
  const FunctionPtr function_;
  const Element initial_;
  const bool preserves_cardinality_;
};

class ScanIterator final : public UnaryIterator<ScanDataset> {
 public:
  explicit ScanIterator(std::shared_ptr<const ScanDataset> dataset)
      : UnaryIterator(std::move(dataset)), state_(this->dataset().initial()) {}
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(archive.Tensors("state", &state_));
    return UnaryIterator::Transfer(archive);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    Element next, results;
    ASSIGN_OR_RETURN(const bool more, input().Next(step, &next));
    if (!more) return false;
    Element args = state_;
    for (Tensor& component : next) args.push_back(std::move(component));
    ASSIGN_OR_RETURN(const bool has_element,
                     MapOutcome(dataset().function().Call(step, std::move(args), &results),
                                dataset().preserves_cardinality()));
    if (!has_element) return false;
    const auto middle = results.begin() + state_.size();
    element->assign(std::make_move_iterator(middle), std::make_move_iterator(results.end()));
    results.erase(middle, results.end());
    for (size_t i = 0; i < state_.size(); ++i) {
      if (results[i].dtype() == state_[i].dtype()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Got wrong type for scan_func return value ", i, " (expected ",
          DTypeName(state_[i].dtype()), ", got ", DTypeName(results[i].dtype()), ")."));
    }
    state_ = std::move(results);
    RETURN_IF_ERROR(dataset().spec().CheckTypes(*element));
    return true;
  }

 private:
  Element state_;
};

std::unique_ptr<Iterator> ScanDataset::MakeIterator() const {
  return std::make_unique<ScanIterator>(Share<ScanDataset>());
}

class ScanKernel final : public DatasetKernel {
 public:
  explicit ScanKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        function_(build, "f", "other_arguments"),
        initial_(build.inputs("initial_state")),
        preserves_cardinality_(build.attr<bool>("preserve_cardinality")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    const int num_results = initial_.size() + static_cast<int>(spec_.dtypes.size());
    ASSIGN_OR_RETURN(
        FunctionPtr function,
        function_.Capture(ctx, initial_.size() + input->num_components(), num_results));
    return std::make_shared<ScanDataset>(input, spec_, std::move(function), InputsIn(ctx, initial_),
                                         preserves_cardinality_);
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr function_;
  const ArgRange initial_;
  const bool preserves_cardinality_;
};
REGISTER_KERNEL("ScanDataset", kCpu, ScanKernel);
REGISTER_KERNEL("ExperimentalScanDataset", kCpu, ScanKernel);

}  // namespace
}  // namespace tessera
