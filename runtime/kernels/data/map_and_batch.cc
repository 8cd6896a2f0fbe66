// MapAndBatchDataset: batches of what a function gives for each element.
#include "runtime/kernels/data/batching.h"
#include "runtime/kernels/data/transformations.h"

namespace tessera {
namespace {

ElementSpec WithoutOuterDimension(ElementSpec spec) {
  for (PartialShape& shape : spec.shapes) {
    if (shape.known_rank() && shape.rank() > 0) shape = PartialShape(shape.dims().subspan(1));
  }
  return spec;
}

class MapAndBatchKernel final : public DatasetKernel {
 public:
  explicit MapAndBatchKernel(const KernelBuild& build)
      : spec_(WithoutOuterDimension(SpecOf(build))),
        function_(build, "f", "other_arguments"),
        batch_size_(build.inputs("batch_size").begin),
        preserves_cardinality_(build.attr<bool>("preserve_cardinality")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(
        FunctionPtr function,
        function_.Capture(ctx, input->num_components(), static_cast<int>(spec_.dtypes.size())));
    ASSIGN_OR_RETURN(const int64_t batch_size, BatchSizeInput(ctx, batch_size_));
    ASSIGN_OR_RETURN(const int64_t calls,
                     ScalarInput<int64_t>(ctx, batch_size_ + 1, "num_parallel_calls"));
    ASSIGN_OR_RETURN(const bool drop_remainder,
                     ScalarInput<bool>(ctx, batch_size_ + 2, "drop_remainder"));
    RETURN_IF_ERROR(CheckParallelCalls(calls));
    return Batched(ParallelMapped(input, spec_, std::move(function), calls, preserves_cardinality_),
                   batch_size, drop_remainder, ctx.host_allocator());
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr function_;
  const int batch_size_;  // position of the input; `num_parallel_calls` and `drop_remainder` follow
  const bool preserves_cardinality_;
};
REGISTER_KERNEL("MapAndBatchDataset", kCpu, MapAndBatchKernel);
REGISTER_KERNEL("ExperimentalMapAndBatchDataset", kCpu, MapAndBatchKernel);

}  // namespace
}  // namespace tessera
