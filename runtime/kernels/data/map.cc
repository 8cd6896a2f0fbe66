// MapDataset: a function of each element.
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

class MapDataset final : public UnaryDataset {
 public:
  MapDataset(const DatasetPtr& input, ElementSpec spec, FunctionPtr function,
             bool preserves_cardinality)
      : UnaryDataset(input, std::move(spec),
                     preserves_cardinality ? input->cardinality() : kUnknown),
        function_(std::move(function)),
        preserves_cardinality_(preserves_cardinality) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    ASSIGN_OR_RETURN(Element args, input().ElementAt(step, index));
    Element element;
    RETURN_IF_ERROR(function_->Call(step, std::move(args), &element));
    RETURN_IF_ERROR(spec().CheckTypes(element));
    return element;
  }
  const CapturedFunction& function() const { return *function_; }
  bool preserves_cardinality() const { return preserves_cardinality_; }

 private:
  const FunctionPtr function_;
  const bool preserves_cardinality_;
};

class MapIterator final : public UnaryIterator<MapDataset> {
 public:
  using UnaryIterator::UnaryIterator;

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    Element args;
    ASSIGN_OR_RETURN(const bool more, input().Next(step, &args));
    if (!more) return false;
    ASSIGN_OR_RETURN(const bool has_element,
                     MapOutcome(dataset().function().Call(step, std::move(args), element),
                                dataset().preserves_cardinality()));
    if (has_element) RETURN_IF_ERROR(dataset().spec().CheckTypes(*element));
    return has_element;
  }
};

std::unique_ptr<Iterator> MapDataset::MakeIterator() const {
  return std::make_unique<MapIterator>(Share<MapDataset>());
}

class MapKernel final : public DatasetKernel {
 public:
  explicit MapKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        function_(build, "f", "other_arguments"),
        preserves_cardinality_(build.attr<bool>("preserve_cardinality")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(
        FunctionPtr function,
        function_.Capture(ctx, input->num_components(), static_cast<int>(spec_.dtypes.size())));
    return std::make_shared<MapDataset>(input, spec_, std::move(function), preserves_cardinality_);
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr function_;
  const bool preserves_cardinality_;
};
REGISTER_KERNEL("MapDataset", kCpu, MapKernel);

}  // namespace
}  // namespace tessera
