// Windows of consecutive elements: as datasets, one for each component (WindowDataset), or as
// batches (SlidingWindowDataset).
#include <deque>

#include "runtime/kernels/data/batching.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/elements_dataset.h"

namespace tessera {
namespace {

ElementSpec SpecOfWindows(const Dataset& input) {
  ElementSpec spec;
  spec.dtypes.assign(input.num_components(), DType::kVariant);
  spec.shapes.assign(input.num_components(), PartialShape(Shape()));
  return spec;
}

class WindowDataset final : public UnaryDataset {
 public:
  struct Windows {
    int64_t size = 1;    // elements of a window
    int64_t shift = 1;   // elements from the start of a window to that of the next
    int64_t stride = 1;  // elements of the input from one in a window to the next
    bool drop_remainder = false;
    // Where batches are allocated; null: windows are datasets.
    Allocator* allocator = nullptr;
  };
  WindowDataset(const DatasetPtr& input, Windows windows)
      : UnaryDataset(
            input,
            windows.allocator == nullptr ? SpecOfWindows(*input) : SpecOfBatches(input->spec(), -1),
            NumWindows(input->cardinality(), windows)),
        windows_(windows) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const Windows& windows() const { return windows_; }

 private:
  static int64_t NumWindows(int64_t n, const Windows& windows) {
    if (n < 0) return n;
    if (!windows.drop_remainder) return n / windows.shift + (n % windows.shift != 0 ? 1 : 0);
    const int64_t span = MultiplyWithoutOverflow(windows.size - 1, windows.stride);
    return span < 0 || n <= span ? 0 : (n - span - 1) / windows.shift + 1;
  }

  const Windows windows_;
};

class WindowIterator final : public UnaryIterator<WindowDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Flag("ended", &ended_));
    int64_t size = static_cast<int64_t>(buffer_.size());
    RETURN_IF_ERROR(archive.Number("size", &size));
    for (int64_t i = 0; i < size; ++i) {
      if (archive.restoring()) buffer_.emplace_back();
      Item& item = buffer_[i];
      RETURN_IF_ERROR(archive.Tensors(absl::StrCat("element", i), &item.element));
      if (item.element.empty()) {
        IteratorArchive::Scope scope(archive, absl::StrCat("error", i));
        RETURN_IF_ERROR(archive.Outcome(&item.outcome, &item.element));
      }
      if (item.outcome.ok()) {
        RETURN_IF_ERROR(dataset().input().spec().CheckTypes(item.element));
      }
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    const WindowDataset::Windows& windows = dataset().windows();
    // How far the last element of a window is from its first. It may exceed any dataset.
    const int64_t span = MultiplyWithoutOverflow(windows.size - 1, windows.stride);
    const auto is_complete = [&] {
      return span >= 0 && static_cast<int64_t>(buffer_.size()) > span;
    };
    while (!ended_ && !is_complete()) {
      Item next;
      next.outcome = input().Next(step, &next.element);
      if (!next.outcome.ok()) {
        if (!TakesAPlace(next.outcome.status())) return next.outcome;
        next.element.clear();  // it may be there in part
      }
      ended_ = next.outcome.ok() && !*next.outcome;
      if (!ended_) buffer_.push_back(std::move(next));
    }
    if (buffer_.empty() || (windows.drop_remainder && !is_complete())) return false;
    std::vector<Element> window;
    absl::Status error;  // the first in the window
    for (int64_t i = 0; i < static_cast<int64_t>(buffer_.size()); i += windows.stride) {
      if (static_cast<int64_t>(window.size()) == windows.size) break;
      error.Update(buffer_[i].outcome.status());
      window.push_back(buffer_[i].element);
    }
    RETURN_IF_ERROR(Shift(step, windows.shift));
    RETURN_IF_ERROR(error);
    if (windows.allocator != nullptr) {
      ASSIGN_OR_RETURN(*element, Stack(std::move(window), step.intra_op_pool, windows.allocator));
      return true;
    }
    const ElementSpec& spec = dataset().input().spec();
    element->clear();
    for (int c = 0; c < dataset().num_components(); ++c) {
      std::vector<Element> column;
      for (Element& row : window) column.push_back({std::move(row[c])});
      element->push_back(DatasetTensor(std::make_shared<ElementsDataset>(
          ElementSpec{.dtypes = {spec.dtypes[c]}, .shapes = {spec.shapes[c]}}, std::move(column))));
    }
    return true;
  }

 private:
  // An element of the input, or the error in its place, which has no components.
  struct Item {
    absl::StatusOr<bool> outcome = true;
    Element element;
  };

  // Returns whether an error of the input takes the place of an element. As in TensorFlow, batches
  // are made of those elements that have none.
  bool TakesAPlace(const absl::Status& error) const {
    return dataset().windows().allocator == nullptr && !absl::IsCancelled(error) &&
           !absl::IsDeadlineExceeded(error);
  }

  // After an error the window is still there, and is what the next call gives, as in TensorFlow.
  absl::Status Shift(StepContext& step, int64_t shift) {
    const int64_t dropped = std::min<int64_t>(shift, buffer_.size());
    // One by one, because nobody sees the errors between two windows that are datasets.
    for (int64_t i = dropped; i < shift && !ended_; ++i) {
      const absl::StatusOr<int64_t> skipped = input().Skip(step, 1);
      if (!skipped.ok() && !TakesAPlace(skipped.status())) return skipped.status();
      ended_ = skipped.ok() && *skipped == 0;
    }
    buffer_.erase(buffer_.begin(), buffer_.begin() + dropped);
    return absl::OkStatus();
  }

  std::deque<Item> buffer_;
  bool ended_ = false;
};

std::unique_ptr<Iterator> WindowDataset::MakeIterator() const {
  return std::make_unique<WindowIterator>(Share<WindowDataset>());
}

// Errors: INVALID_ARGUMENT unless size, shift and stride are positive.
absl::Status CheckWindows(const WindowDataset::Windows& windows) {
  if (windows.size <= 0) {
    return absl::InvalidArgumentError("Window size must be greater than zero.");
  }
  if (windows.shift <= 0) {
    return absl::InvalidArgumentError("Window shift must be greater than zero.");
  }
  if (windows.stride <= 0) {
    return absl::InvalidArgumentError("Window stride must be greater than zero.");
  }
  return absl::OkStatus();
}

absl::StatusOr<DatasetPtr> MakeWindow(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  WindowDataset::Windows windows;
  ASSIGN_OR_RETURN(windows.size, ScalarInput<int64_t>(ctx, 1, "size"));
  ASSIGN_OR_RETURN(windows.shift, ScalarInput<int64_t>(ctx, 2, "shift"));
  ASSIGN_OR_RETURN(windows.stride, ScalarInput<int64_t>(ctx, 3, "stride"));
  ASSIGN_OR_RETURN(windows.drop_remainder, ScalarInput<bool>(ctx, 4, "drop_remainder"));
  RETURN_IF_ERROR(CheckWindows(windows));
  return std::make_shared<WindowDataset>(input, windows);
}
REGISTER_DATASET("WindowDataset", MakeWindow);

class SlidingWindowKernel final : public DatasetKernel {
 public:
  explicit SlidingWindowKernel(const KernelBuild& build)
      : drop_remainder_(!build.has_attr("drop_remainder") || build.attr<bool>("drop_remainder")) {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    WindowDataset::Windows windows;
    ASSIGN_OR_RETURN(windows.size, ScalarInput<int64_t>(ctx, 1, "window_size"));
    ASSIGN_OR_RETURN(windows.shift, ScalarInput<int64_t>(ctx, 2, "window_shift"));
    ASSIGN_OR_RETURN(windows.stride, ScalarInput<int64_t>(ctx, 3, "window_stride"));
    RETURN_IF_ERROR(CheckWindows(windows));
    windows.drop_remainder = drop_remainder_;
    windows.allocator = ctx.host_allocator();
    return std::make_shared<WindowDataset>(input, windows);
  }

 private:
  const bool drop_remainder_;
};
REGISTER_KERNEL("SlidingWindowDataset", kCpu, SlidingWindowKernel);
REGISTER_KERNEL("ExperimentalSlidingWindowDataset", kCpu, SlidingWindowKernel);

}  // namespace
}  // namespace tessera
