// Queues of tuples of tensors, which steps fill and empty.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/data_flow/blocking_resource.h"
#include "runtime/kernels/primitives/philox.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A queue. Which element comes out next is the derived class's affair.
//
// A queue that was closed takes no more elements, and gives those that it has. Thread-safe.
class TensorQueue : public BlockingResource {
 public:
  static constexpr absl::string_view kTypeName = "queue";
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  // One tensor for each component.
  using Element = std::vector<Tensor>;

  struct Options {
    std::string name;           // for messages
    std::vector<DType> dtypes;  // of the components
    // The shapes of the components. Empty: any, and batches cannot be had.
    std::vector<PartialShape> shapes;
    int64_t capacity = kUnlimited;
    // Elements that stay in the queue, as long as it is open.
    int64_t min_after_dequeue = 0;
    // Elements of different shapes become a batch by zeros at their ends.
    bool pads = false;
    Allocator* allocator = nullptr;  // of host memory for batches; must outlive them
  };

  explicit TensorQueue(Options options)
      : BlockingResource({Order::kFirstInFirstOut, Order::kFirstInFirstOut}),
        options_(std::move(options)) {}
  const Options& options() const { return options_; }

  // Errors: INVALID_ARGUMENT unless dtypes and shapes of the components fit; `is_batch`: they have
  // one more dimension in front, of the same size.
  absl::Status CheckComponents(absl::Span<const Tensor> components, bool is_batch) const;

  // Adds elements, one after the other as room comes. Ends with CANCELLED if the queue was closed
  // before.
  void Enqueue(std::deque<Element> elements, CancellationManager* cancellation, Done done);

  // Takes `count` elements, all at once, into *elements. If the queue is closed, there may be
  // fewer: it ends with OUT_OF_RANGE then, unless `allow_fewer` and there is at least one.
  void Dequeue(int64_t count, bool allow_fewer, CancellationManager* cancellation,
               std::vector<Element>* elements, Done done);

  // Joins elements along a new first dimension.
  // Errors: INVALID_ARGUMENT if shapes differ and the queue does not pad.
  absl::StatusOr<Element> Batch(absl::Span<const Element> elements) const;

  // Closes the queue once the elements that wait for room are in; with `cancel_pending`, they end
  // with CANCELLED, and it is closed at once. Ends with CANCELLED if the queue was closed before
  // and `cancel_pending` is false.
  void Close(bool cancel_pending, CancellationManager* cancellation, Done done);
  bool IsClosed() const;
  int64_t Size() const;

  std::string DebugString() const override;

 protected:
  // How the elements are kept. Called with the lock held.
  virtual void Put(Element element) = 0;
  virtual Element Take() = 0;  // requires that there is one
  // Returns an element that was taken last.
  virtual void PutBack(Element element) { Put(std::move(element)); }
  virtual int64_t Count() const = 0;

 private:
  enum Lane { kEnqueue, kDequeue };

  absl::Status ClosedError() const;

  const Options options_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

// First in, first out.
class FifoQueue : public TensorQueue {
 public:
  using TensorQueue::TensorQueue;

 protected:
  void Put(Element element) override { elements_.push_back(std::move(element)); }
  Element Take() override;
  void PutBack(Element element) override { elements_.push_front(std::move(element)); }
  int64_t Count() const override { return static_cast<int64_t>(elements_.size()); }

 private:
  std::deque<Element> elements_;
};

// Any element, drawn as TensorFlow draws them.
class ShuffleQueue : public TensorQueue {
 public:
  ShuffleQueue(Options options, Philox generator)
      : TensorQueue(std::move(options)), generator_(generator) {}

 protected:
  void Put(Element element) override { elements_.push_back(std::move(element)); }
  Element Take() override;
  int64_t Count() const override { return static_cast<int64_t>(elements_.size()); }

 private:
  std::vector<Element> elements_;
  Philox generator_;
  Philox::Block block_{};
  int used_ = Philox::kBlockSize;  // words of the block
};

// The element with the lowest priority, its first component, an int64; among equals, the first.
class PriorityQueue : public TensorQueue {
 public:
  using TensorQueue::TensorQueue;

 protected:
  void Put(Element element) override;
  Element Take() override;
  void PutBack(Element element) override;
  int64_t Count() const override { return static_cast<int64_t>(elements_.size()); }

 private:
  std::multimap<int64_t, Element> elements_;
};

}  // namespace tessera
