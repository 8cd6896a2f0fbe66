// What a pipeline may be told about statistics and threads, which changes nothing here: the handles
// of statistics aggregators and of thread pools.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Gathers nothing: pipelines are observed through the traces of runs.
class StatsAggregator final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "stats_aggregator";
  std::string DebugString() const override { return "statistics aggregator"; }
};

// Has no threads: pipelines run on those of the session.
class DatasetThreadPool final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "dataset_thread_pool";
  std::string DebugString() const override { return "thread pool of a dataset"; }
};

template <typename R>
class MakeHandleKernel final : public ResourceHandleKernel {
 public:
  explicit MakeHandleKernel(const KernelBuild& build) : ResourceHandleKernel(build, R::kTypeName) {}

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext&) override {
    return IntrusivePtr<Resource>(MakeRefCounted<R>());
  }
};
REGISTER_KERNEL("StatsAggregatorHandle", kCpu, MakeHandleKernel<StatsAggregator>);
REGISTER_KERNEL("StatsAggregatorHandleV2", kCpu, MakeHandleKernel<StatsAggregator>);
REGISTER_KERNEL("ExperimentalStatsAggregatorHandle", kCpu, MakeHandleKernel<StatsAggregator>);
REGISTER_KERNEL("ThreadPoolHandle", kCpu, MakeHandleKernel<DatasetThreadPool>);
REGISTER_KERNEL("ExperimentalThreadPoolHandle", kCpu, MakeHandleKernel<DatasetThreadPool>);

// A summary without values.
class SummaryKernel final : public OpKernel {
 public:
  explicit SummaryKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(ctx.Resource<StatsAggregator>(0).status());
    return SetScalarOutput(ctx, 0, std::string());
  }
};
REGISTER_KERNEL("StatsAggregatorSummary", kCpu, SummaryKernel);
REGISTER_KERNEL("ExperimentalStatsAggregatorSummary", kCpu, SummaryKernel);

class SetSummaryWriterKernel final : public OpKernel {
 public:
  explicit SetSummaryWriterKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    return ctx.Resource<StatsAggregator>(0).status();
  }
};
REGISTER_KERNEL("StatsAggregatorSetSummaryWriter", kCpu, SetSummaryWriterKernel);

// The dataset of input 0. Errors: INVALID_ARGUMENT unless input 1 is the handle of an R.
template <typename R>
absl::StatusOr<DatasetPtr> InputWithHandle(KernelContext& ctx) {
  RETURN_IF_ERROR(ctx.Resource<R>(1).status());
  return DatasetInput(ctx, 0);
}
REGISTER_DATASET("SetStatsAggregatorDataset", InputWithHandle<StatsAggregator>);
REGISTER_DATASET("ExperimentalSetStatsAggregatorDataset", InputWithHandle<StatsAggregator>);
REGISTER_DATASET("ThreadPoolDataset", InputWithHandle<DatasetThreadPool>);
REGISTER_DATASET("ExperimentalThreadPoolDataset", InputWithHandle<DatasetThreadPool>);

}  // namespace
}  // namespace tessera
