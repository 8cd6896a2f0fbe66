#include "runtime/kernels/data_flow/tensor_queue.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/data_flow/tensor_batch.h"

namespace tessera {

absl::Status TensorQueue::CheckComponents(absl::Span<const Tensor> components,
                                          bool is_batch) const {
  if (components.size() != options_.dtypes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("an element of the ", DebugString(), " has ",
                                                   options_.dtypes.size(), " components, not ",
                                                   components.size()));
  }
  for (size_t i = 0; i < components.size(); ++i) {
    const Tensor& component = components[i];
    if (component.dtype() != options_.dtypes[i]) {
      return absl::InvalidArgumentError(absl::StrCat("component ", i, " of the ", DebugString(),
                                                     " is ", DTypeName(options_.dtypes[i]),
                                                     ", not ", DTypeName(component.dtype())));
    }
    if (is_batch && (component.rank() == 0 || component.dim(0) != components[0].dim(0))) {
      return absl::InvalidArgumentError(
          absl::StrCat("the components of a batch must have the same first dimension; component ",
                       i, " has shape ", component.shape().ToString()));
    }
    if (options_.shapes.empty()) continue;
    Shape shape = component.shape();
    if (is_batch) shape.RemoveDim(0);
    if (!options_.shapes[i].IsCompatibleWith(shape)) {
      return absl::InvalidArgumentError(absl::StrCat("component ", i, " of the ", DebugString(),
                                                     " has shape ", options_.shapes[i].ToString(),
                                                     ", not ", shape.ToString()));
    }
  }
  return absl::OkStatus();
}

void TensorQueue::Enqueue(std::deque<Element> elements, CancellationManager* cancellation,
                          Done done) {
  auto rest = std::make_shared<std::deque<Element>>(std::move(elements));
  auto attempt = [this, rest]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    if (closed_) return ClosedError();
    while (!rest->empty()) {
      if (Count() >= options_.capacity) return std::nullopt;
      Put(std::move(rest->front()));
      rest->pop_front();
      NoteChange();
    }
    return absl::OkStatus();
  };
  Run(kEnqueue, cancellation, std::move(attempt), std::move(done));
}

void TensorQueue::Dequeue(int64_t count, bool allow_fewer, CancellationManager* cancellation,
                          std::vector<Element>* elements, Done done) {
  // What was taken stays out of the queue until there is enough, so that a batch may be larger than
  // the capacity.
  auto undo = [this, elements] {
    mu_.AssertHeld();
    for (; !elements->empty(); elements->pop_back()) PutBack(std::move(elements->back()));
  };
  auto attempt = [this, count, allow_fewer, elements, undo]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    auto missing = [&] { return count - static_cast<int64_t>(elements->size()); };
    const int64_t kept = closed_ ? 0 : options_.min_after_dequeue;
    while (missing() > 0 && Count() > kept) {
      elements->push_back(Take());
      NoteChange();
    }
    if (missing() == 0) return absl::OkStatus();
    if (!closed_) return std::nullopt;
    if (allow_fewer && !elements->empty()) return absl::OkStatus();
    undo();
    return absl::OutOfRangeError(
        absl::StrCat("the ", DebugString(), " is closed and has insufficient elements (requested ",
                     count, ", current size ", Count(), ")"));
  };
  Run(kDequeue, cancellation, std::move(attempt), std::move(done), undo);
}

absl::StatusOr<TensorQueue::Element> TensorQueue::Batch(absl::Span<const Element> elements) const {
  Element batch;
  std::vector<const Tensor*> tensors(elements.size());
  for (size_t c = 0; c < options_.dtypes.size(); ++c) {
    for (size_t i = 0; i < elements.size(); ++i) tensors[i] = &elements[i][c];
    ASSIGN_OR_RETURN(Tensor joined, JoinTensors(options_.dtypes[c], options_.shapes[c], tensors,
                                                options_.pads, options_.allocator));
    batch.push_back(std::move(joined));
  }
  return batch;
}

void TensorQueue::Close(bool cancel_pending, CancellationManager* cancellation, Done done) {
  if (cancel_pending) {
    Change([&] {
      mu_.AssertHeld();
      closed_ = true;
      Fail(kEnqueue, ClosedError());
      return absl::OkStatus();
    }).IgnoreError();
    done(absl::OkStatus());
    return;
  }
  auto attempt = [this]() -> std::optional<absl::Status> {
    mu_.AssertHeld();
    if (closed_) {
      return absl::CancelledError(absl::StrCat("the ", DebugString(), " is already closed"));
    }
    closed_ = true;
    return absl::OkStatus();
  };
  Run(kEnqueue, cancellation, std::move(attempt), std::move(done));
}

bool TensorQueue::IsClosed() const {
  absl::MutexLock lock(&mu_);
  return closed_;
}

int64_t TensorQueue::Size() const {
  absl::MutexLock lock(&mu_);
  return Count();
}

std::string TensorQueue::DebugString() const { return absl::StrCat("queue '", options_.name, "'"); }

absl::Status TensorQueue::ClosedError() const {
  return absl::CancelledError(absl::StrCat("the ", DebugString(), " is closed"));
}

TensorQueue::Element FifoQueue::Take() {
  Element element = std::move(elements_.front());
  elements_.pop_front();
  return element;
}

TensorQueue::Element ShuffleQueue::Take() {
  if (used_ == Philox::kBlockSize) {
    block_ = generator_.Next();
    used_ = 0;
  }
  const size_t drawn = block_[used_++] % elements_.size();
  std::swap(elements_[drawn], elements_.back());
  Element element = std::move(elements_.back());
  elements_.pop_back();
  return element;
}

void PriorityQueue::Put(Element element) {
  const int64_t priority = element[0].scalar<int64_t>();
  elements_.emplace(priority, std::move(element));
}

TensorQueue::Element PriorityQueue::Take() {
  Element element = std::move(elements_.begin()->second);
  elements_.erase(elements_.begin());
  return element;
}

void PriorityQueue::PutBack(Element element) {
  const int64_t priority = element[0].scalar<int64_t>();
  elements_.emplace_hint(elements_.lower_bound(priority), priority, std::move(element));
}

}  // namespace tessera
