// ParallelMapDataset, ParallelMapDatasetV2: a function of several elements at
// once. The order of the elements is kept, which TensorFlow allows for `deterministic=false` too.
#include "runtime/kernels/data/call_window.h"
#include "runtime/kernels/data/transformations.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

class ParallelMapDataset final : public UnaryDataset {
 public:
  ParallelMapDataset(const DatasetPtr& input, ElementSpec spec, ElementMap map)
      : UnaryDataset(input, std::move(spec),
                     map.preserves_cardinality ? input->cardinality() : kUnknown),
        map_(std::move(map)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    ASSIGN_OR_RETURN(Element args, input().ElementAt(step, index));
    Element element;
    RETURN_IF_ERROR(map_.function(step, std::move(args), &element));
    RETURN_IF_ERROR(spec().CheckTypes(element));
    return element;
  }
  const ElementMap& map() const { return map_; }

 private:
  const ElementMap map_;
};

class ParallelMapIterator final : public UnaryIterator<ParallelMapDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  // Calls under way are finished, and their results saved.
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    return window_.Transfer(archive, &std::make_shared<MapCall>,
                            [](const MapCall& call) { return call.results; });
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    RETURN_IF_ERROR(
        window_.Fill(step, input(), /*held=*/0, &std::make_shared<MapCall>, [](MapCall*) {}));
    if (window_.size() == 0) return false;
    RETURN_IF_ERROR(window_.Finish(0, step));
    const std::shared_ptr<MapCall> call = window_.Take(1)[0];
    ASSIGN_OR_RETURN(const bool has_element, call->outcome);
    if (!has_element) return false;
    RETURN_IF_ERROR(dataset().spec().CheckTypes(call->results));
    *element = std::move(call->results);
    return true;
  }

 private:
  CallWindow<MapCall> window_{dataset().map()};
};

std::unique_ptr<Iterator> ParallelMapDataset::MakeIterator() const {
  return std::make_unique<ParallelMapIterator>(Share<ParallelMapDataset>());
}

class ParallelMapKernel final : public DatasetKernel {
 public:
  explicit ParallelMapKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        function_(build, "f", "other_arguments"),
        num_parallel_calls_(build.inputs("num_parallel_calls").begin),
        preserves_cardinality_(build.attr<bool>("preserve_cardinality")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(
        FunctionPtr function,
        function_.Capture(ctx, input->num_components(), static_cast<int>(spec_.dtypes.size())));
    ASSIGN_OR_RETURN(const int64_t calls,
                     ReadIntegerOfScalar(ctx.input(num_parallel_calls_), "num_parallel_calls"));
    RETURN_IF_ERROR(CheckParallelCalls(calls));
    return ParallelMapped(input, spec_,
                          {.function = CallOf(std::move(function)),
                           .num_parallel_calls = calls,
                           .preserves_cardinality = preserves_cardinality_});
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr function_;
  const int num_parallel_calls_;  // position of the input
  const bool preserves_cardinality_;
};
REGISTER_KERNEL("ParallelMapDataset", kCpu, ParallelMapKernel);
REGISTER_KERNEL("ParallelMapDatasetV2", kCpu, ParallelMapKernel);

}  // namespace

absl::Status CheckParallelCalls(int64_t num_parallel_calls) {
  if (num_parallel_calls > 0 || num_parallel_calls == kAutotune) return absl::OkStatus();
  return absl::InvalidArgumentError("num_parallel_calls must be greater than zero.");
}

ElementFunction CallOf(FunctionPtr function) {
  return [function = std::move(function)](StepContext& step, Element args, Element* results) {
    return function->Call(step, std::move(args), results);
  };
}

DatasetPtr ParallelMapped(const DatasetPtr& input, ElementSpec spec, ElementMap map) {
  return std::make_shared<ParallelMapDataset>(input, std::move(spec), std::move(map));
}

DatasetPtr BatchedIfMapped(const Dataset& input, const BatchOptions& batch) {
  const auto* const mapped = dynamic_cast<const ParallelMapDataset*>(&input);
  if (mapped == nullptr) return nullptr;
  return MapAndBatched(mapped->input().shared_from_this(), mapped->spec(), mapped->map(), batch);
}

}  // namespace tessera
