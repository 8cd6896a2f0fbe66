// Datasets that tell TensorFlow how to run a pipeline, and ask about one: OptionsDataset,
// OptimizeDataset, ModelDataset and the like give the elements of their input; GetOptions,
// DatasetCardinality.
#include "runtime/kernels/data/dataset_kernel.h"

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
REGISTER_DATASET("BytesProducedStatsDataset", InputItself);
REGISTER_DATASET("ChooseFastestDataset", InputItself);
REGISTER_DATASET("ExperimentalMaxIntraOpParallelismDataset", InputItself);
REGISTER_DATASET("ExperimentalNonSerializableDataset", InputItself);
REGISTER_DATASET("ExperimentalPrivateThreadPoolDataset", InputItself);
REGISTER_DATASET("FinalizeDataset", InputItself);
REGISTER_DATASET("LatencyStatsDataset", InputItself);
REGISTER_DATASET("MaxIntraOpParallelismDataset", InputItself);
REGISTER_DATASET("ModelDataset", InputItself);
REGISTER_DATASET("NonSerializableDataset", InputItself);
REGISTER_DATASET("OptimizeDataset", InputItself);
REGISTER_DATASET("OptimizeDatasetV2", InputItself);
REGISTER_DATASET("PrivateThreadPoolDataset", InputItself);
REGISTER_DATASET("RewriteDataset", InputItself);
REGISTER_DATASET("UnwrapDatasetVariant", InputItself);
REGISTER_DATASET("WrapDatasetVariant", InputItself);

class GetOptionsKernel final : public OpKernel {
 public:
  explicit GetOptionsKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(dataset->options()));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("GetOptions", kCpu, GetOptionsKernel);

class CardinalityKernel final : public OpKernel {
 public:
  explicit CardinalityKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(dataset->cardinality()));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("DatasetCardinality", kCpu, CardinalityKernel);
REGISTER_KERNEL("ExperimentalDatasetCardinality", kCpu, CardinalityKernel);

}  // namespace
}  // namespace tessera
