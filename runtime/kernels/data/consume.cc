// Ops that take elements out of the pipeline: IteratorGetNext and its forms, ReduceDataset,
// DatasetToSingleElement.
#include "runtime/data/pipeline_control.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/iterator_resource.h"
#include "runtime/kernels/data/optional.h"

namespace tessera {
namespace {

void PutElement(KernelContext& ctx, Element& element) {
  for (size_t i = 0; i < element.size(); ++i) {
    ctx.set_output(static_cast<int>(i), std::move(element[i]));
  }
}

// Errors: OUT_OF_RANGE at the end.
class GetNextKernel final : public OpKernel {
 public:
  explicit GetNextKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<IteratorResource>(0));
    ElementStep step(ctx.step());
    Element element;
    ASSIGN_OR_RETURN(const bool more, iterator->Next(step.context(), &element));
    if (!more) {
      if (step.control() != nullptr) step.control()->NoteEnd();
      return absl::OutOfRangeError("End of sequence");
    }
    RETURN_IF_ERROR(spec_.CheckElement(element));
    PutElement(ctx, element);
    return absl::OkStatus();
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("IteratorGetNext", kCpu, GetNextKernel);
REGISTER_KERNEL("IteratorGetNextSync", kCpu, GetNextKernel);

class GetNextAsOptionalKernel final : public OpKernel {
 public:
  explicit GetNextAsOptionalKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<IteratorResource>(0));
    ElementStep step(ctx.step());
    Element element;
    ASSIGN_OR_RETURN(const bool more, iterator->Next(step.context(), &element));
    if (more) RETURN_IF_ERROR(spec_.CheckElement(element));
    ctx.set_output(0, more ? OptionalTensor(std::move(element)) : OptionalTensor(absl::nullopt));
    return absl::OkStatus();
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("IteratorGetNextAsOptional", kCpu, GetNextAsOptionalKernel);

// Errors: INVALID_ARGUMENT for a dataset of none or of several elements.
class SingleElementKernel final : public OpKernel {
 public:
  explicit SingleElementKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    RETURN_IF_ERROR(spec_.CheckFits(dataset->spec()));
    const std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
    ElementStep step(ctx.step());
    Element element, other;
    ASSIGN_OR_RETURN(bool more, iterator->Next(step.context(), &element));
    if (!more) return absl::InvalidArgumentError("Dataset was empty.");
    ASSIGN_OR_RETURN(more, iterator->Next(step.context(), &other));
    if (more) return absl::InvalidArgumentError("Dataset had more than one element.");
    RETURN_IF_ERROR(spec_.CheckElement(element));
    PutElement(ctx, element);
    return absl::OkStatus();
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("DatasetToSingleElement", kCpu, SingleElementKernel);

// Folds a function over the elements: state = f(state, element).
class ReduceKernel final : public OpKernel {
 public:
  explicit ReduceKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        function_(build, "f", "other_arguments"),
        initial_(build.inputs("initial_state")) {
    if (build.attr<std::vector<DType>>("Tstate") != spec_.dtypes) {
      build.Fail(absl::InvalidArgumentError("the output types must be those of the state"));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(
        const FunctionPtr function,
        function_.Capture(ctx, initial_.size() + dataset->num_components(), initial_.size()));
    // The function may work in the memory of the state: nobody else holds it.
    Element state;
    for (int i = initial_.begin; i < initial_.end; ++i) state.push_back(ctx.TakeInput(i));
    const std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
    ElementStep step(ctx.step());
    Element element, results;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, iterator->Next(step.context(), &element));
      if (!more) break;
      Element args = std::move(state);
      for (Tensor& component : element) args.push_back(std::move(component));
      RETURN_IF_ERROR(MapOutcome(function->Call(ctx.step(), std::move(args), &results),
                                 /*preserves_cardinality=*/true)
                          .status());
      RETURN_IF_ERROR(spec_.CheckTypes(results));
      state = std::move(results);
    }
    RETURN_IF_ERROR(spec_.CheckElement(state));
    PutElement(ctx, state);
    return absl::OkStatus();
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr function_;
  const ArgRange initial_;
};
REGISTER_KERNEL("ReduceDataset", kCpu, ReduceKernel);

}  // namespace
}  // namespace tessera
