// Datasets of tensors that are there: TensorDataset is one element, TensorSliceDataset has one for
// each row, ListDataset one for each group of inputs.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/elements_dataset.h"

namespace tessera {
namespace {

ElementSpec SpecOfRows(const std::vector<Tensor>& tensors, int outer_dims) {
  ElementSpec spec;
  for (const Tensor& tensor : tensors) {
    spec.dtypes.push_back(tensor.dtype());
    spec.shapes.emplace_back(tensor.shape().dims().subspan(outer_dims));
  }
  return spec;
}

class TensorDataset final : public IndexedDataset {
 public:
  explicit TensorDataset(std::vector<Tensor> element)
      : IndexedDataset(SpecOfRows(element, 0), 1), element_(std::move(element)) {}
  Element At(int64_t) const override { return element_; }

 private:
  const std::vector<Tensor> element_;
};

// Errors: INVALID_ARGUMENT where the declared shapes are not those of the tensors.
template <absl::StatusOr<DatasetPtr> (*kMake)(std::vector<Tensor> tensors)>
class TensorsKernel final : public DatasetKernel {
 public:
  explicit TensorsKernel(const KernelBuild& build) : declared_(SpecOf(build)) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(DatasetPtr dataset, kMake(InputsIn(ctx, {0, ctx.num_inputs()})));
    RETURN_IF_ERROR(declared_.CheckFits(dataset->spec()));
    return dataset;
  }

 private:
  const ElementSpec declared_;
};

absl::StatusOr<DatasetPtr> MakeTensor(std::vector<Tensor> tensors) {
  return std::make_shared<TensorDataset>(std::move(tensors));
}
REGISTER_KERNEL("TensorDataset", kCpu, TensorsKernel<MakeTensor>);

// The slices share the memory of the tensors.
class TensorSliceDataset final : public IndexedDataset {
 public:
  explicit TensorSliceDataset(std::vector<Tensor> tensors)
      : IndexedDataset(SpecOfRows(tensors, 1), tensors[0].dim(0)), tensors_(std::move(tensors)) {}
  Element At(int64_t i) const override {
    Element element;
    element.reserve(tensors_.size());
    for (const Tensor& tensor : tensors_) element.push_back(tensor.SubSlice(i));
    return element;
  }

 private:
  const std::vector<Tensor> tensors_;
};

// Errors: INVALID_ARGUMENT for a scalar, or for different numbers of rows.
absl::StatusOr<DatasetPtr> MakeTensorSlice(std::vector<Tensor> tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() == 0) {
      return absl::InvalidArgumentError("All components must be at least 1-dimensional");
    }
    if (tensor.dim(0) != tensors[0].dim(0)) {
      return absl::InvalidArgumentError(
          "All components must have the same size in the 0th dimension");
    }
  }
  return std::make_shared<TensorSliceDataset>(std::move(tensors));
}
REGISTER_KERNEL("TensorSliceDataset", kCpu, TensorsKernel<MakeTensorSlice>);

class ListKernel final : public DatasetKernel {
 public:
  explicit ListKernel(const KernelBuild& build) : spec_(SpecOf(build)) {
    const size_t num_components = spec_.dtypes.size();
    bool fits = num_components > 0 && build.num_inputs() % num_components == 0;
    for (int i = 0; fits && i < build.num_inputs(); ++i) {
      fits = build.input_types()[i] == spec_.dtypes[i % num_components];
    }
    if (!fits) {
      build.Fail(absl::InvalidArgumentError("the inputs are no elements of the output types"));
    }
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    std::vector<Element> elements;
    const int size = static_cast<int>(spec_.dtypes.size());
    for (int i = 0; i < ctx.num_inputs(); i += size) {
      elements.push_back(InputsIn(ctx, {i, i + size}));
    }
    return std::make_shared<ElementsDataset>(spec_, std::move(elements));
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("ListDataset", kCpu, ListKernel);
REGISTER_KERNEL("WindowOp", kCpu, ListKernel);

}  // namespace
}  // namespace tessera
