// PaddedBatchDataset, PaddedBatchDatasetV2: batches of elements whose shapes differ.
#include <algorithm>
#include <limits>

#include "runtime/kernels/data/batching.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Copies the elements of `from` to the corner at the origin of an array of shape `to_shape`, whose
// dimensions are no smaller.
void CopyToCorner(const Tensor& from, const Shape& to_shape, char* to) {
  if (from.num_elements() == 0) return;
  const size_t size = DTypeSize(from.dtype());
  const int rank = from.rank();
  const int64_t row = rank == 0 ? 1 : from.dim(rank - 1);
  const int64_t num_rows = from.num_elements() / row;
  std::vector<int64_t> at(rank, 0);
  for (int64_t r = 0; r < num_rows; ++r) {
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) offset = offset * to_shape.dim(d) + at[d];
    CopyElements(from.dtype(), from.raw() + r * row * size, to + offset * size, row);
    for (int d = rank - 2; d >= 0; --d) {
      if (++at[d] < from.dim(d)) break;
      at[d] = 0;
    }
  }
}

class PaddedBatchDataset final : public UnaryDataset {
 public:
  struct Padding {
    std::vector<PartialShape> shapes;  // of each component; -1: as large as the largest
    std::vector<Tensor> values;
  };
  PaddedBatchDataset(const DatasetPtr& input, int64_t batch_size, bool drop_remainder,
                     Padding padding, Allocator* allocator)
      : UnaryDataset(
            input,
            SpecOfBatches({.dtypes = input->spec().dtypes, .shapes = padding.shapes},
                          drop_remainder || input->cardinality() == kInfinite ? batch_size : -1),
            NumBatches(input->cardinality(), batch_size, drop_remainder)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        padding_(std::move(padding)),
        allocator_(allocator) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  int64_t batch_size() const { return batch_size_; }
  bool drop_remainder() const { return drop_remainder_; }

  // Stacks component c of the elements.
  // Errors: INVALID_ARGUMENT for another rank than that of the padded shape; DATA_LOSS for an
  // element that is larger.
  absl::StatusOr<Tensor> StackComponent(const std::vector<Element>& elements, int c) const {
    const PartialShape& padded = padding_.shapes[c];
    std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
    for (int64_t dim : padded.dims()) dims.push_back(std::max<int64_t>(dim, 0));
    for (const Element& element : elements) {
      const Shape& shape = element[c].shape();
      if (shape.rank() != padded.rank()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "All elements in a batch must have the same rank as the padded shape for component", c,
            ": expected rank ", padded.rank(), " but got element with rank ", shape.rank()));
      }
      for (int d = 0; d < shape.rank(); ++d) {
        if (padded.dim(d) < 0) {
          dims[d + 1] = std::max(dims[d + 1], shape.dim(d));
        } else if (shape.dim(d) > padded.dim(d)) {
          return absl::DataLossError("Attempted to pad to a smaller size than the input element.");
        }
      }
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor batch, Tensor::Allocate(padding_.values[c].dtype(), shape, allocator_));
    FillElements(batch.dtype(), padding_.values[c].raw(), batch.mutable_raw(),
                 batch.num_elements());
    Shape row = shape;
    row.RemoveDim(0);
    const size_t row_bytes = row.num_elements() * DTypeSize(batch.dtype());
    for (size_t i = 0; i < elements.size(); ++i) {
      CopyToCorner(elements[i][c], row, batch.mutable_raw() + i * row_bytes);
    }
    return batch;
  }

 private:
  const int64_t batch_size_;
  const bool drop_remainder_;
  const Padding padding_;
  Allocator* const allocator_;
};

class PaddedBatchIterator final : public UnaryIterator<PaddedBatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    ASSIGN_OR_RETURN(const std::vector<Element> elements,
                     ReadElements(step, input(), dataset().batch_size()));
    const bool is_full = static_cast<int64_t>(elements.size()) == dataset().batch_size();
    if (elements.empty() || (dataset().drop_remainder() && !is_full)) return false;
    element->clear();
    for (int c = 0; c < dataset().num_components(); ++c) {
      ASSIGN_OR_RETURN(Tensor batch, dataset().StackComponent(elements, c));
      element->push_back(std::move(batch));
    }
    return true;
  }
};

std::unique_ptr<Iterator> PaddedBatchDataset::MakeIterator() const {
  return std::make_unique<PaddedBatchIterator>(Share<PaddedBatchDataset>());
}

// Errors: INVALID_ARGUMENT for padded shapes or values that do not fit the input's components.
class PaddedBatchKernel final : public DatasetKernel {
 public:
  explicit PaddedBatchKernel(const KernelBuild& build)
      : shapes_(build.inputs("padded_shapes")),
        values_(build.inputs("padding_values")),
        has_drop_remainder_(build.op().name == "PaddedBatchDatasetV2") {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t batch_size, BatchSizeInput(ctx, 1));
    bool drop_remainder = false;
    if (has_drop_remainder_) {
      ASSIGN_OR_RETURN(drop_remainder,
                       ScalarInput<bool>(ctx, ctx.num_inputs() - 1, "drop_remainder"));
    }
    const int num_components = input->num_components();
    if (shapes_.size() != num_components || values_.size() != num_components) {
      return absl::InvalidArgumentError(
          absl::StrCat("Number of padded shapes (", shapes_.size(),
                       ") must match the number of components in the input dataset's elements (",
                       num_components, ")"));
    }
    PaddedBatchDataset::Padding padding;
    for (int c = 0; c < num_components; ++c) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> dims,
                       VectorInput<int64_t>(ctx, shapes_.begin + c, "padded_shapes"));
      if (std::ranges::any_of(dims, [](int64_t dim) { return dim < -1; })) {
        return absl::InvalidArgumentError(
            absl::StrCat("padded_shapes of component ", c,
                         " has a dimension that is neither positive, 0 nor -1"));
      }
      padding.shapes.emplace_back(dims);
      const Tensor& value = ctx.input(values_.begin + c);
      if (value.rank() != 0) {
        return absl::InvalidArgumentError("All padding values must be scalars");
      }
      if (value.dtype() != input->spec().dtypes[c]) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Mismatched type between padding value ", c, " and input dataset's component ", c, ": ",
            DTypeName(value.dtype()), " vs. ", DTypeName(input->spec().dtypes[c])));
      }
      padding.values.push_back(value);
    }
    return std::make_shared<PaddedBatchDataset>(input, batch_size, drop_remainder,
                                                std::move(padding), ctx.host_allocator());
  }

 private:
  const ArgRange shapes_, values_;
  const bool has_drop_remainder_;
};
REGISTER_KERNEL("PaddedBatchDataset", kCpu, PaddedBatchKernel);
REGISTER_KERNEL("PaddedBatchDatasetV2", kCpu, PaddedBatchKernel);

}  // namespace
}  // namespace tessera
