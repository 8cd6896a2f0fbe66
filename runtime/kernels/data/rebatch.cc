// RebatchDataset: each batch in as many parts as there are replicas.
#include <algorithm>

#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

// The parts of a batch are of one size, but for the last ones, which may be smaller or empty.
class SplitBatchDataset final : public UnaryDataset {
 public:
  SplitBatchDataset(const DatasetPtr& input, ElementSpec spec, int64_t num_parts)
      : UnaryDataset(input, std::move(spec), NumParts(input->cardinality(), num_parts)),
        num_parts_(num_parts) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  int64_t num_parts() const { return num_parts_; }

 private:
  static int64_t NumParts(int64_t n, int64_t num_parts) {
    if (n < 0) return n;
    const int64_t product = MultiplyWithoutOverflow(n, num_parts);
    return product < 0 ? kUnknown : product;
  }

  const int64_t num_parts_;
};

class SplitBatchIterator final : public UnaryIterator<SplitBatchDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Number("part", &part_));
    RETURN_IF_ERROR(archive.Tensors("batch", &batch_));
    if (batch_.empty() || !archive.restoring()) return absl::OkStatus();
    RETURN_IF_ERROR(dataset().input().spec().CheckTypes(batch_));
    if (part_ > dataset().num_parts() || !CheckBatch().ok()) {
      return absl::DataLossError("the saved position is not that of a batch in parts");
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (batch_.empty() || part_ == dataset().num_parts()) {
      part_ = 0;
      ASSIGN_OR_RETURN(const bool more, input().Next(step, &batch_));
      const absl::Status status = more ? CheckBatch() : absl::OkStatus();
      if (!more || !status.ok()) batch_.clear();
      RETURN_IF_ERROR(status);
      if (!more) return false;
    }
    const int64_t rows = batch_[0].dim(0);
    const int64_t size = rows / dataset().num_parts() + (rows % dataset().num_parts() != 0 ? 1 : 0);
    // size * part_ is at most rows + num_parts, and past the end only where parts are empty.
    const int64_t begin = size == 0 || part_ > rows / size ? rows : size * part_;
    const int64_t end = std::min(rows, begin + size);
    element->clear();
    for (const Tensor& component : batch_) element->push_back(component.Slice(begin, end));
    ++part_;
    return true;
  }

 private:
  // Errors: INVALID_ARGUMENT unless the components have the same number of rows.
  absl::Status CheckBatch() const {
    for (const Tensor& component : batch_) {
      if (component.rank() == 0) {
        return absl::InvalidArgumentError(
            "Cannot rebatch dataset: All components must have at least one dimension. Perhaps "
            "your input dataset is not batched?");
      }
      if (component.dim(0) != batch_[0].dim(0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Cannot rebatch dataset: the components have ", batch_[0].dim(0), " and ",
                         component.dim(0), " rows"));
      }
    }
    return absl::OkStatus();
  }

  Element batch_;
  int64_t part_ = 0;
};

std::unique_ptr<Iterator> SplitBatchDataset::MakeIterator() const {
  return std::make_unique<SplitBatchIterator>(Share<SplitBatchDataset>());
}

// Errors: INVALID_ARGUMENT unless there is a replica.
class RebatchKernel final : public DatasetKernel {
 public:
  explicit RebatchKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t num_replicas, ScalarInput<int64_t>(ctx, 1, "num_replicas"));
    if (num_replicas <= 0) {
      return absl::InvalidArgumentError("num_replicas must be greater than zero.");
    }
    if (spec_.dtypes != input->spec().dtypes) {
      return absl::InvalidArgumentError("the output types must be those of the input");
    }
    return std::make_shared<SplitBatchDataset>(input, spec_, num_replicas);
  }

 private:
  const ElementSpec spec_;
};
REGISTER_KERNEL("RebatchDataset", kCpu, RebatchKernel);
REGISTER_KERNEL("ExperimentalRebatchDataset", kCpu, RebatchKernel);

}  // namespace
}  // namespace tessera
