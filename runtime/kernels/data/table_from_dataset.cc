// InitializeTableFromDataset: fills a lookup table with the elements of a dataset.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/lookup/lookup_table.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// The elements of some tensors as one vector of `dtype`.
absl::StatusOr<Tensor> Flattened(DType dtype, absl::Span<const Tensor> tensors,
                                 Allocator* allocator) {
  int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.num_elements();
  ASSIGN_OR_RETURN(Tensor flat, Tensor::Allocate(dtype, Shape{count}, allocator));
  char* to = flat.mutable_raw();
  for (const Tensor& tensor : tensors) {
    CopyElements(dtype, tensor.raw(), to, tensor.num_elements());
    to += tensor.size_bytes();
  }
  return flat;
}

// An element is a key and its value, or as many keys as values.
class TableFromDatasetKernel final : public OpKernel {
 public:
  explicit TableFromDatasetKernel(const KernelBuild&) {}
  // Errors: INVALID_ARGUMENT for elements of other types or numbers; those of the dataset and of
  // LookupTable::Import().
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ctx.Resource<LookupTable>(0));
    ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(ctx, 1));
    const std::vector<DType> types = {table->options().key_dtype, table->options().value_dtype};
    if (dataset->spec().dtypes != types) {
      return absl::InvalidArgumentError(
          absl::StrCat("the elements of the dataset are not the ", DTypeName(types[0]),
                       " keys and ", DTypeName(types[1]), " values that the table has"));
    }
    const std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
    std::vector<Tensor> keys, values;
    Element element;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, iterator->Next(ctx.step(), &element));
      if (!more) break;
      RETURN_IF_ERROR(dataset->spec().CheckTypes(element));
      if (element[0].num_elements() != element[1].num_elements()) {
        return absl::InvalidArgumentError(absl::StrCat("an element has ", element[0].num_elements(),
                                                       " keys and ", element[1].num_elements(),
                                                       " values"));
      }
      keys.push_back(std::move(element[0]));
      values.push_back(std::move(element[1]));
    }
    ASSIGN_OR_RETURN(const Tensor all_keys, Flattened(types[0], keys, ctx.host_allocator()));
    ASSIGN_OR_RETURN(const Tensor all_values, Flattened(types[1], values, ctx.host_allocator()));
    return table->Import(all_keys, all_values);
  }
};
REGISTER_KERNEL("InitializeTableFromDataset", kCpu, TableFromDatasetKernel);

}  // namespace
}  // namespace tessera
