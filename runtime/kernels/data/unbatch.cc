// From batches to elements, and to batches of other sizes: UnbatchDataset, RebatchDatasetV2.
#include <deque>

#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Returns the number of rows of a batch. Errors: INVALID_ARGUMENT unless all components have as
// many.
absl::StatusOr<int64_t> RowsOf(const Element& batch) {
  for (size_t c = 0; c < batch.size(); ++c) {
    if (batch[c].rank() == 0) {
      return absl::InvalidArgumentError(
          "Input element must have a non-scalar value in each component.");
    }
    if (batch[c].dim(0) != batch[0].dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input element must have the same batch size in each component. Component 0 had size ",
          batch[0].dim(0), " but component ", c, " had size, ", batch[c].dim(0), "."));
    }
  }
  return batch.empty() ? 0 : batch[0].dim(0);
}

ElementSpec SpecOfRows(const ElementSpec& batches) {
  ElementSpec rows;
  rows.dtypes = batches.dtypes;
  for (const PartialShape& shape : batches.shapes) {
    rows.shapes.push_back(shape.known_rank() && shape.rank() > 0
                              ? PartialShape(shape.dims().subspan(1))
                              : PartialShape());
  }
  return rows;
}

int64_t NumRows(const Dataset& batches) {
  const int64_t n = batches.cardinality();
  if (n == Dataset::kInfinite) return n;
  const std::vector<PartialShape>& shapes = batches.spec().shapes;
  // Not even no batches have a known number of rows if the rows of one are not known.
  if (n < 0 || shapes.empty() || !shapes[0].known_rank() || shapes[0].rank() == 0 ||
      shapes[0].dim(0) < 0) {
    return Dataset::kUnknown;
  }
  const int64_t rows = MultiplyWithoutOverflow(n, shapes[0].dim(0));
  return rows < 0 ? Dataset::kUnknown : rows;
}

class UnbatchDataset final : public UnaryDataset {
 public:
  explicit UnbatchDataset(const DatasetPtr& input)
      : UnaryDataset(input, SpecOfRows(input->spec()), NumRows(*input)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
};

// The rows share the memory of their batch.
class UnbatchIterator final : public UnaryIterator<UnbatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Tensors("batch", &batch_));
    RETURN_IF_ERROR(archive.Number("next_row", &next_row_));
    ASSIGN_OR_RETURN(num_rows_, RowsOf(batch_));
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (next_row_ >= num_rows_) {
      num_rows_ = 0;
      ASSIGN_OR_RETURN(const bool more, input().Next(step, &batch_));
      if (!more) {
        batch_.clear();
        return false;
      }
      ASSIGN_OR_RETURN(num_rows_, RowsOf(batch_));
      next_row_ = 0;
    }
    element->clear();
    for (const Tensor& component : batch_) element->push_back(component.SubSlice(next_row_));
    ++next_row_;
    return true;
  }

 private:
  Element batch_;
  int64_t num_rows_ = 0;
  int64_t next_row_ = 0;
};

std::unique_ptr<Iterator> UnbatchDataset::MakeIterator() const {
  return std::make_unique<UnbatchIterator>(Share<UnbatchDataset>());
}

absl::StatusOr<DatasetPtr> MakeUnbatch(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  return std::make_shared<UnbatchDataset>(input);
}
REGISTER_DATASET("UnbatchDataset", MakeUnbatch);
REGISTER_DATASET("ExperimentalUnbatchDataset", MakeUnbatch);

// Batches whose sizes are those of a list, over and over.
class RebatchDataset final : public UnaryDataset {
 public:
  RebatchDataset(const DatasetPtr& input, ElementSpec spec, std::vector<int64_t> sizes,
                 bool drop_remainder, Allocator* allocator)
      : UnaryDataset(input, std::move(spec), kUnknown),
        sizes_(std::move(sizes)),
        drop_remainder_(drop_remainder),
        allocator_(allocator) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const std::vector<int64_t>& sizes() const { return sizes_; }
  bool drop_remainder() const { return drop_remainder_; }
  Allocator* allocator() const { return allocator_; }

 private:
  const std::vector<int64_t> sizes_;
  const bool drop_remainder_;
  Allocator* const allocator_;
};

// Puts tensors behind each other along their first dimension.
// Errors: FAILED_PRECONDITION if the other dimensions differ.
absl::StatusOr<Tensor> Join(const std::vector<Tensor>& parts, Allocator* allocator) {
  if (parts.size() == 1) return parts[0];
  Shape shape = parts[0].shape();
  int64_t rows = 0;
  for (const Tensor& part : parts) {
    Shape same = part.shape();
    rows += same.dim(0);
    same.SetDim(0, shape.dim(0));
    if (same == shape && part.dtype() == parts[0].dtype()) continue;
    return absl::FailedPreconditionError(absl::StrCat("Cannot rebatch tensors of shapes ",
                                                      parts[0].shape().ToString(), " and ",
                                                      part.shape().ToString(), " together."));
  }
  shape.SetDim(0, rows);
  ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(parts[0].dtype(), shape, allocator));
  char* to = joined.mutable_raw();
  for (const Tensor& part : parts) {
    CopyElements(part.dtype(), part.raw(), to, part.num_elements());
    to += part.size_bytes();
  }
  return joined;
}

class RebatchIterator final : public UnaryIterator<RebatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Number("next_size", &next_size_));
    RETURN_IF_ERROR(archive.Tensors("rest", &rest_));
    RETURN_IF_ERROR(archive.Number("rows_left", &rows_left_));
    ASSIGN_OR_RETURN(const int64_t rows, RowsOf(rest_));
    if (rows_left_ > rows || (rows > 0 && rest_.size() != dataset().spec().dtypes.size())) {
      return absl::DataLossError("the saved state of a rebatch is damaged");
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    const std::vector<int64_t>& sizes = dataset().sizes();
    const int64_t wanted = sizes[next_size_ % sizes.size()];
    std::vector<std::vector<Tensor>> parts(dataset().num_components());
    int64_t rows = 0;
    while (rows < wanted) {
      if (rows_left_ == 0) {
        ASSIGN_OR_RETURN(const bool more, input().Next(step, &rest_));
        if (!more) {
          rest_.clear();
          break;
        }
        ASSIGN_OR_RETURN(rows_left_, RowsOf(rest_));
        if (rest_.size() != parts.size()) {
          return absl::InvalidArgumentError("a batch has another number of components");
        }
        continue;
      }
      const int64_t taken = std::min(wanted - rows, rows_left_);
      for (size_t c = 0; c < parts.size(); ++c) {
        const int64_t size = rest_[c].dim(0);
        parts[c].push_back(rest_[c].Slice(size - rows_left_, size - rows_left_ + taken));
      }
      rows += taken;
      rows_left_ -= taken;
    }
    if (rows == 0 && wanted > 0) return false;
    if (rows < wanted && dataset().drop_remainder()) return false;
    ++next_size_;
    element->clear();
    for (const std::vector<Tensor>& component : parts) {
      ASSIGN_OR_RETURN(Tensor joined, Join(component, dataset().allocator()));
      element->push_back(std::move(joined));
    }
    return true;
  }

 private:
  int64_t next_size_ = 0;
  Element rest_;           // the batch of the input at hand
  int64_t rows_left_ = 0;  // of `rest_`, at its end
};

std::unique_ptr<Iterator> RebatchDataset::MakeIterator() const {
  return std::make_unique<RebatchIterator>(Share<RebatchDataset>());
}

// Errors: INVALID_ARGUMENT unless all sizes are positive.
class RebatchKernel final : public DatasetKernel {
 public:
  explicit RebatchKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(std::vector<int64_t> sizes, VectorInput<int64_t>(ctx, 1, "batch_sizes"));
    ASSIGN_OR_RETURN(const bool drop_remainder, ScalarInput<bool>(ctx, 2, "drop_remainder"));
    if (sizes.empty()) return absl::InvalidArgumentError("batch_sizes must not be empty");
    for (const int64_t size : sizes) {
      if (size <= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("batch_sizes must be positive, one is ", size));
      }
    }
    if (spec_.dtypes != input->spec().dtypes) {
      return absl::InvalidArgumentError("the output types must be those of the input");
    }
    return std::make_shared<RebatchDataset>(input, spec_, std::move(sizes), drop_remainder,
                                            ctx.host_allocator());
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("RebatchDatasetV2", kCpu, RebatchKernel);

}  // namespace
}  // namespace tessera
