// DenseToSparseBatchDataset: batches of tensors of different shapes, each a sparse tensor.
#include "runtime/kernels/data/batching.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {
namespace {

// An element is a vector of three variants, which hold the indices, the values and the shape.
class SparseBatchDataset final : public UnaryDataset {
 public:
  struct Batches {
    int64_t size = 1;
    std::vector<int64_t> row_shape;  // negative: as large as the batch needs
    Allocator* allocator = nullptr;
  };
  SparseBatchDataset(const DatasetPtr& input, Batches batches)
      : UnaryDataset(input, {.dtypes = {DType::kVariant}, .shapes = {PartialShape({3})}},
                     NumBatches(input->cardinality(), batches.size, /*drop_remainder=*/false)),
        batches_(std::move(batches)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const Batches& batches() const { return batches_; }

 private:
  const Batches batches_;
};

Variant InVariant(Tensor tensor) {
  return Variant(std::make_shared<EncodedVariant>("tensorflow::Tensor", "",
                                                  std::vector<Tensor>{std::move(tensor)}));
}

class SparseBatchIterator final : public UnaryIterator<SparseBatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    ASSIGN_OR_RETURN(const std::vector<Element> rows,
                     ReadElements(step, input(), dataset().batches().size));
    if (rows.empty()) return false;
    std::vector<int64_t> shape = dataset().batches().row_shape;
    int64_t count = 0;
    for (const Element& row : rows) {
      RETURN_IF_ERROR(Enclose(row[0], &shape));
      count += row[0].num_elements();
    }
    shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
    const int64_t rank = static_cast<int64_t>(shape.size());
    Allocator* const allocator = dataset().batches().allocator;
    ASSIGN_OR_RETURN(const Shape index_shape, Shape::Make({count, rank}));
    ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kInt64, index_shape, allocator));
    ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(rows[0][0].dtype(), Shape{count}, allocator));
    int64_t* index = indices.flat<int64_t>().data();
    char* to = values.mutable_raw();
    for (size_t r = 0; r < rows.size(); ++r) {
      const Tensor& row = rows[r][0];
      CopyElements(row.dtype(), row.raw(), to, row.num_elements());
      to += row.size_bytes();
      for (int64_t i = 0; i < row.num_elements(); ++i, index += rank) {
        index[0] = static_cast<int64_t>(r);
        int64_t rest = i;
        for (int64_t d = rank - 1; d > 0; --d) {
          index[d] = rest % row.dim(static_cast<int>(d - 1));
          rest /= row.dim(static_cast<int>(d - 1));
        }
      }
    }
    ASSIGN_OR_RETURN(Tensor dense_shape, VectorIn<int64_t>(allocator, shape));
    element->assign(
        1, Tensor::Vector<Variant>({InVariant(std::move(indices)), InVariant(std::move(values)),
                                    InVariant(std::move(dense_shape))}));
    return true;
  }

 private:
  // Makes *shape enclose the row. Errors: INVALID_ARGUMENT for another rank; DATA_LOSS, as
  // TensorFlow, for a row larger than the shape that was asked for.
  absl::Status Enclose(const Tensor& row, std::vector<int64_t>* shape) const {
    const std::vector<int64_t>& asked = dataset().batches().row_shape;
    if (row.rank() != static_cast<int>(shape->size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input element had shape ", row.shape().ToString(),
                       " that is incompatible with the row shape of rank ", shape->size()));
    }
    for (int d = 0; d < row.rank(); ++d) {
      if (asked[d] < 0) {
        (*shape)[d] = std::max((*shape)[d], row.dim(d));
      } else if (row.dim(d) > asked[d]) {
        return absl::DataLossError(absl::StrCat("Input element had shape ", row.shape().ToString(),
                                                " that is larger than the row shape in dimension ",
                                                d, ", ", asked[d]));
      }
    }
    return absl::OkStatus();
  }
};

std::unique_ptr<Iterator> SparseBatchDataset::MakeIterator() const {
  return std::make_unique<SparseBatchIterator>(Share<SparseBatchDataset>());
}

// Errors: INVALID_ARGUMENT unless the batch size is positive and elements have one component.
absl::StatusOr<DatasetPtr> MakeSparseBatch(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  SparseBatchDataset::Batches batches;
  ASSIGN_OR_RETURN(batches.size, BatchSizeInput(ctx, 1));
  if (ctx.input(2).rank() != 1) {
    return absl::InvalidArgumentError("row_shape must be a vector");
  }
  ASSIGN_OR_RETURN(batches.row_shape, VectorInput<int64_t>(ctx, 2, "row_shape"));
  batches.allocator = ctx.host_allocator();
  if (input->num_components() != 1) {
    return absl::InvalidArgumentError(
        "DenseToSparseBatch only supports input datasets with one component");
  }
  return std::make_shared<SparseBatchDataset>(input, std::move(batches));
}
REGISTER_DATASET("DenseToSparseBatchDataset", MakeSparseBatch);
REGISTER_DATASET("ExperimentalDenseToSparseBatchDataset", MakeSparseBatch);

}  // namespace
}  // namespace tessera
