// SparseTensorSliceDataset: the rows of a sparse tensor, each a sparse tensor of a rank less.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/elements_dataset.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

// Elements have the components indices, values and dense shape.
class SparseTensorSliceDataset final : public IndexedDataset {
 public:
  // Requires indices whose first column does not fall.
  SparseTensorSliceDataset(int64_t rows, Tensor indices, Tensor values,
                           std::vector<int64_t> row_shape, Allocator* allocator)
      : IndexedDataset({.dtypes = {DType::kInt64, values.dtype(), DType::kInt64},
                        .shapes = {{-1, static_cast<int64_t>(row_shape.size())},
                                   {-1},
                                   {static_cast<int64_t>(row_shape.size())}}},
                       rows),
        indices_(std::move(indices)),
        values_(std::move(values)),
        row_shape_(std::move(row_shape)),
        allocator_(allocator) {}

  Element At(int64_t i) const override {
    const int64_t begin = FirstOfRow(i), end = FirstOfRow(i + 1);
    const int64_t rank = static_cast<int64_t>(row_shape_.size());
    Tensor indices = Tensor::Allocate(DType::kInt64, {end - begin, rank}, allocator_).value();
    int64_t* to = indices.data<int64_t>();
    for (int64_t value = begin; value < end; ++value) {
      const int64_t* const at = indices_.data<int64_t>() + value * (rank + 1);
      to = std::copy_n(at + 1, rank, to);
    }
    return {std::move(indices), values_.Slice(begin, end),
            VectorIn<int64_t>(allocator_, row_shape_).value()};
  }

 private:
  // Returns the position of the first value that is not in a row before `row`.
  int64_t FirstOfRow(int64_t row) const {
    int64_t begin = 0, end = values_.dim(0);
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (indices_.data<int64_t>()[middle * indices_.dim(1)] < row) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }

  const Tensor indices_, values_;
  const std::vector<int64_t> row_shape_;
  Allocator* const allocator_;
};

// Errors: INVALID_ARGUMENT for tensors that are no sparse tensor; UNIMPLEMENTED for rows that are
// not in order.
absl::StatusOr<DatasetPtr> MakeSparseTensorSlice(KernelContext& ctx) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
  if (indices.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input indices must be a matrix. Got: ", indices.shape().ToString()));
  }
  if (values.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input values must be a vector. Got: ", values.shape().ToString()));
  }
  if (shape.rank() != 1 || shape.num_elements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input shape must be a vector. Got: ", shape.shape().ToString()));
  }
  if (values.dim(0) != indices.dim(0)) {
    return absl::InvalidArgumentError("Number of values must match first dimension of indices.");
  }
  if (shape.dim(0) != indices.dim(1)) {
    return absl::InvalidArgumentError(
        "Number of dimensions must match second dimension of indices.");
  }
  const auto dims = shape.flat<int64_t>();
  if (dims[0] < 0) return absl::InvalidArgumentError("The dense shape must not be negative.");
  int64_t last_row = 0;
  for (int64_t value = 0; value < indices.dim(0); ++value) {
    const int64_t row = indices.data<int64_t>()[value * indices.dim(1)];
    if (row >= dims[0]) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", value, "] names row ", row, " of ", dims[0]));
    }
    if (row < last_row) {
      return absl::UnimplementedError(
          "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered "
          "input is not currently supported.");
    }
    last_row = row;
  }
  return std::make_shared<SparseTensorSliceDataset>(
      dims[0], indices, values, std::vector<int64_t>(dims.begin() + 1, dims.end()),
      ctx.host_allocator());
}
REGISTER_DATASET("SparseTensorSliceDataset", MakeSparseTensorSlice);

}  // namespace
}  // namespace tessera
