// The base class of the kernels of datasets.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/captured_function.h"
#include "runtime/data/dataset.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {

// Base of the kernels whose output is a dataset.
class DatasetKernel : public OpKernel {
 public:
  // Errors: those of Make(), and of Dataset::CheckSize().
  absl::Status Compute(KernelContext& ctx) final;
  bool IsExpensive() const override { return false; }

 protected:
  virtual absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) = 0;
};

// The kernel of a dataset that is a function of the op's inputs.
template <absl::StatusOr<DatasetPtr> (*kMake)(KernelContext& ctx)>
class DatasetOfInputsKernel final : public DatasetKernel {
 public:
  explicit DatasetOfInputsKernel(const KernelBuild&) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override { return kMake(ctx); }
};
// Registers the kernel of an op by its function:
//   REGISTER_DATASET("TakeDataset", MakeTake);
#define REGISTER_DATASET(op, make) REGISTER_KERNEL(op, kCpu, DatasetOfInputsKernel<make>)

// Returns attributes `output_types` (`Toutput_types` if there are none) and `output_shapes`.
ElementSpec SpecOf(const KernelBuild& build);

// Returns the dataset of input i. Errors: INVALID_ARGUMENT if there is none.
absl::StatusOr<DatasetPtr> DatasetInput(const KernelContext& ctx, int i);
// Returns the inputs of a range.
std::vector<Tensor> InputsIn(const KernelContext& ctx, ArgRange range);

// Returns the element of a scalar input, which TensorFlow accepts as a vector of one element too.
// Errors: INVALID_ARGUMENT "NAME must be a scalar".
template <typename T>
absl::StatusOr<T> ScalarInput(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.rank() != 0 || tensor.dtype() != DTypeOf<T>) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must be a scalar"));
  }
  return tensor.scalar<T>();
}
// Returns the elements of an input that is a vector or a scalar.
// Errors: INVALID_ARGUMENT "NAME must be a scalar or a vector".
template <typename T>
absl::StatusOr<std::vector<T>> VectorInput(const KernelContext& ctx, int i,
                                           absl::string_view name) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.rank() > 1 || tensor.dtype() != DTypeOf<T>) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must be a scalar or a vector"));
  }
  const auto values = tensor.flat<T>();
  return std::vector<T>(values.begin(), values.end());
}

// A function attribute of a dataset op, with the inputs that are captured for it.
class FunctionAttr {
 public:
  FunctionAttr(const KernelBuild& build, absl::string_view attr, absl::string_view captured_arg)
      : function_(build.function(attr)), captured_(build.inputs(captured_arg)) {}

  // Returns the function for `num_args` arguments. Errors: those of CapturedFunction::Check().
  absl::StatusOr<std::shared_ptr<const CapturedFunction>> Capture(const KernelContext& ctx,
                                                                  int num_args,
                                                                  int num_results = -1) const;

 private:
  const CallableFunction* const function_;
  const ArgRange captured_;
};
using FunctionPtr = std::shared_ptr<const CapturedFunction>;

// A dataset over one other.
class UnaryDataset : public Dataset {
 public:
  const Dataset& input() const { return *input_; }

 protected:
  UnaryDataset(const DatasetPtr& input, ElementSpec spec, int64_t cardinality)
      : Dataset(std::move(spec), cardinality, {&input, 1}), input_(input) {}

 private:
  const DatasetPtr input_;
};

// An iterator over a UnaryDataset.
template <typename D>
class UnaryIterator : public Iterator {
 public:
  explicit UnaryIterator(std::shared_ptr<const D> dataset)
      : dataset_(std::move(dataset)), input_(dataset_->input().MakeIterator()) {}

  // A subclass whose position is more than that of its input transfers the rest as well.
  absl::Status Transfer(IteratorArchive& archive) override {
    return archive.Position("input", input_.get());
  }

 protected:
  const D& dataset() const { return *dataset_; }
  Iterator& input() { return *input_; }
  void RestartInput() { input_ = dataset_->input().MakeIterator(); }

 private:
  const std::shared_ptr<const D> dataset_;
  std::unique_ptr<Iterator> input_;
};

}  // namespace tessera
