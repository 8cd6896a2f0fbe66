// Datasets that tell TensorFlow how to run a pipeline, and ask about one: OptionsDataset,
// OptimizeDataset, ModelDataset and the like give the elements of their input; GetOptions,
// DatasetCardinality.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// What the options ask for is the runtime's business here; they are kept for GetOptions.
class OptionsDataset final : public UnaryDataset {
 public:
  OptionsDataset(const DatasetPtr& input, const std::string& options)
      : UnaryDataset(input, input->spec(), input->cardinality()) {
    AddOptions(options);
  }
  std::unique_ptr<Iterator> MakeIterator() const override { return input().MakeIterator(); }
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    return input().ElementAt(step, index);
  }
};

class OptionsKernel final : public DatasetKernel {
 public:
  explicit OptionsKernel(const KernelBuild& build)
      : options_(build.attr<std::string>("serialized_options")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    return std::make_shared<OptionsDataset>(input, options_);
  }

 private:
  const std::string options_;
};
REGISTER_KERNEL("OptionsDataset", kCpu, OptionsKernel);

absl::StatusOr<DatasetPtr> InputItself(KernelContext& ctx) { return DatasetInput(ctx, 0); }
REGISTER_DATASET("AssertNextDataset", InputItself);
REGISTER_DATASET("AssertPrevDataset", InputItself);
REGISTER_DATASET("BytesProducedStatsDataset", InputItself);
REGISTER_DATASET("ChooseFastestDataset", InputItself);
REGISTER_DATASET("ExperimentalAssertNextDataset", InputItself);
REGISTER_DATASET("ExperimentalBytesProducedStatsDataset", InputItself);
REGISTER_DATASET("ExperimentalChooseFastestDataset", InputItself);
REGISTER_DATASET("ExperimentalLatencyStatsDataset", InputItself);
REGISTER_DATASET("ExperimentalNonSerializableDataset", InputItself);
REGISTER_DATASET("FinalizeDataset", InputItself);
REGISTER_DATASET("LatencyStatsDataset", InputItself);
REGISTER_DATASET("ModelDataset", InputItself);
REGISTER_DATASET("NonSerializableDataset", InputItself);
REGISTER_DATASET("OptimizeDataset", InputItself);
REGISTER_DATASET("OptimizeDatasetV2", InputItself);
REGISTER_DATASET("RewriteDataset", InputItself);
REGISTER_DATASET("UnwrapDatasetVariant", InputItself);
REGISTER_DATASET("WrapDatasetVariant", InputItself);

// Errors: INVALID_ARGUMENT for a negative number of threads.
absl::StatusOr<DatasetPtr> InputWithThreads(KernelContext& ctx, absl::string_view name) {
  ASSIGN_OR_RETURN(const int64_t threads, ScalarInput<int64_t>(ctx, 1, name));
  if (threads < 0) {
    return absl::InvalidArgumentError(absl::StrCat("`", name, "` must be >= 0, is ", threads));
  }
  return InputItself(ctx);
}
absl::StatusOr<DatasetPtr> InputWithIntraOpThreads(KernelContext& ctx) {
  return InputWithThreads(ctx, "max_intra_op_parallelism");
}
absl::StatusOr<DatasetPtr> InputWithPool(KernelContext& ctx) {
  return InputWithThreads(ctx, "num_threads");
}
REGISTER_DATASET("ExperimentalMaxIntraOpParallelismDataset", InputWithIntraOpThreads);
REGISTER_DATASET("ExperimentalPrivateThreadPoolDataset", InputWithPool);
REGISTER_DATASET("MaxIntraOpParallelismDataset", InputWithIntraOpThreads);
REGISTER_DATASET("PrivateThreadPoolDataset", InputWithPool);

// The dataset that the first of several functions, which all give the same elements, makes of the
// input.
class ChooseFastestBranchKernel final : public DatasetKernel {
 public:
  explicit ChooseFastestBranchKernel(const KernelBuild& build)
      : spec_(SpecOf(build)), captured_(build.inputs("other_arguments")) {
    const auto branches = build.attr<std::vector<FunctionRef>>("branches");
    const auto lengths = build.attr<std::vector<int64_t>>("other_arguments_lengths");
    if (branches.empty() || branches.size() != lengths.size() || lengths[0] < 0 ||
        lengths[0] > captured_.size()) {
      build.Fail(absl::InvalidArgumentError(
          "branches and other_arguments_lengths must have the same size, and the lengths add up "
          "to the number of other_arguments"));
      return;
    }
    captured_.end = captured_.begin + static_cast<int>(lengths[0]);
    function_ = build.function(branches[0]);
  }

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    RETURN_IF_ERROR(DatasetInput(ctx, 0).status());
    const CapturedFunction branch(function_, InputsIn(ctx, captured_));
    RETURN_IF_ERROR(branch.Check(1, 1));
    return branch.MakeDataset(ctx.step(), {ctx.input(0)}, spec_);
  }

 private:
  const ElementSpec spec_;
  ArgRange captured_;
  const CallableFunction* function_ = nullptr;
};
REGISTER_KERNEL("ChooseFastestBranchDataset", kCpu, ChooseFastestBranchKernel);

class GetOptionsKernel final : public OpKernel {
 public:
  explicit GetOptionsKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    return SetScalarOutput(ctx, 0, dataset->options());
  }
};
REGISTER_KERNEL("GetOptions", kCpu, GetOptionsKernel);

class CardinalityKernel final : public OpKernel {
 public:
  explicit CardinalityKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    return SetScalarOutput(ctx, 0, dataset->cardinality());
  }
};
REGISTER_KERNEL("DatasetCardinality", kCpu, CardinalityKernel);
REGISTER_KERNEL("ExperimentalDatasetCardinality", kCpu, CardinalityKernel);

}  // namespace
}  // namespace tessera
