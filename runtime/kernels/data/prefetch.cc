// PrefetchDataset: makes elements before they are asked for.
#include <deque>

#include "runtime/data/background.h"
#include "runtime/kernels/data/transformations.h"

namespace tessera {
namespace {

// Two elements keep the consumer busy while the next is made; two more even out their costs.
constexpr int64_t kAutotunedSize = 4;

class PrefetchDataset final : public UnaryDataset {
 public:
  PrefetchDataset(const DatasetPtr& input, int64_t buffer_size)
      : UnaryDataset(input, input->spec(), input->cardinality()), buffer_size_(buffer_size) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  absl::Status CheckRandomAccess() const override { return input().CheckRandomAccess(); }
  absl::StatusOr<Element> ElementAt(StepContext& step, int64_t index) const override {
    return input().ElementAt(step, index);
  }
  int64_t buffer_size() const { return buffer_size_; }

 private:
  const int64_t buffer_size_;
};

// The buffer and the iterator that fills it: one thread at a time, the producer, pulls elements.
class Buffer {
 public:
  struct Item {
    absl::StatusOr<bool> outcome = false;
    Element element;
  };

  Buffer(std::unique_ptr<Iterator> input, int64_t size) : input_(std::move(input)), size_(size) {}

  // Takes the next item, which is made here if nobody else is making it.
  static absl::StatusOr<bool> Take(const std::shared_ptr<Buffer>& self, StepContext& step,
                                   Element* element) {
    return self->TakeItem(self, step, element);
  }
  // Ends the work in the background.
  void Stop() {
    absl::MutexLock lock(&mu_);
    stopped_ = true;
    if (background_ != nullptr) {
      mu_.Unlock();
      background_->Cancel();
      mu_.Lock();
    }
    mu_.Await(absl::Condition(this, &Buffer::IsIdle));
    input_.reset();
  }
  absl::Status Transfer(IteratorArchive& archive);

 private:
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !producing_; }

  absl::StatusOr<bool> TakeItem(const std::shared_ptr<Buffer>& self, StepContext& step,
                                Element* element) {
    mu_.Lock();
    if (background_ == nullptr) background_ = std::make_unique<BackgroundStep>(step);
    if (items_.empty() && !producing_ && !ended_) {
      producing_ = true;
      mu_.Unlock();
      Item item;
      item.outcome = input_->Next(step, &item.element);
      mu_.Lock();
      Put(std::move(item));
      producing_ = false;
    }
    const absl::Status status = AwaitInStep(step, mu_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !items_.empty() || !producing_;
    });
    Item item;
    if (!status.ok()) {
      item.outcome = status;
    } else if (!items_.empty()) {
      item = std::move(items_.front());
      items_.pop_front();
    }
    const bool offer = WantsMore() && !producing_ && !offered_ && background_->pool() != nullptr;
    if (offer) offered_ = true;
    mu_.Unlock();
    if (!status.ok()) background_->Cancel();
    if (offer) background_->pool()->Schedule([self] { self->Fill(); });
    *element = std::move(item.element);
    return item.outcome;
  }

  // Runs on a thread of the pool until the buffer is full.
  void Fill() {
    absl::MutexLock lock(&mu_);
    offered_ = false;
    if (producing_) return;
    producing_ = true;
    while (WantsMore()) {
      mu_.Unlock();
      Item item;
      item.outcome = input_->Next(background_->context(), &item.element);
      mu_.Lock();
      Put(std::move(item));
    }
    producing_ = false;
  }

  bool WantsMore() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !stopped_ && !ended_ && static_cast<int64_t>(items_.size()) < size_;
  }
  void Put(Item item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (item.outcome.ok() && !*item.outcome) {
      ended_ = true;
    } else {
      items_.push_back(std::move(item));
    }
  }

  std::unique_ptr<Iterator> input_;  // used by the producer only; null once stopped
  const int64_t size_;
  std::unique_ptr<BackgroundStep> background_;
  absl::Mutex mu_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
  bool producing_ ABSL_GUARDED_BY(mu_) = false;
  bool offered_ ABSL_GUARDED_BY(mu_) = false;  // a thread of the pool will call Fill()
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

absl::Status Buffer::Transfer(IteratorArchive& archive) {
  absl::MutexLock lock(&mu_);
  // A producer that makes one element after another lets go after the one at hand.
  const bool was_stopped = std::exchange(stopped_, true);
  const absl::Status idle = AwaitInStep(
      archive.waits(), mu_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return IsIdle(); });
  stopped_ = was_stopped;
  RETURN_IF_ERROR(idle);
  RETURN_IF_ERROR(archive.Position("input", input_.get()));
  RETURN_IF_ERROR(archive.Flag("ended", &ended_));
  int64_t size = static_cast<int64_t>(items_.size());
  RETURN_IF_ERROR(archive.Number("size", &size));
  for (int64_t i = 0; i < size; ++i) {
    if (archive.restoring()) items_.emplace_back();
    IteratorArchive::Scope scope(archive, absl::StrCat("item", i));
    RETURN_IF_ERROR(archive.Outcome(&items_[i].outcome, &items_[i].element));
  }
  return absl::OkStatus();
}

class PrefetchIterator final : public Iterator {
 public:
  explicit PrefetchIterator(std::shared_ptr<const PrefetchDataset> dataset)
      : dataset_(std::move(dataset)),
        buffer_(
            std::make_shared<Buffer>(dataset_->input().MakeIterator(), dataset_->buffer_size())) {}
  ~PrefetchIterator() override { buffer_->Stop(); }
  absl::Status Transfer(IteratorArchive& archive) override { return buffer_->Transfer(archive); }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    return Buffer::Take(buffer_, step, element);
  }

 private:
  const std::shared_ptr<const PrefetchDataset> dataset_;
  const std::shared_ptr<Buffer> buffer_;
};

std::unique_ptr<Iterator> PrefetchDataset::MakeIterator() const {
  return std::make_unique<PrefetchIterator>(Share<PrefetchDataset>());
}

// Errors: INVALID_ARGUMENT for a negative size other than kAutotune.
absl::StatusOr<DatasetPtr> MakePrefetch(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(int64_t buffer_size, ScalarInput<int64_t>(ctx, 1, "buffer_size"));
  if (buffer_size == kAutotune) buffer_size = kAutotunedSize;
  if (buffer_size < 0) {
    return absl::InvalidArgumentError(
        "buffer_size must be >= 0 or set buffer_size to be -1 for "
        "auto-tuning");
  }
  return Prefetched(input, buffer_size);
}
REGISTER_DATASET("PrefetchDataset", MakePrefetch);

}  // namespace

DatasetPtr Prefetched(const DatasetPtr& input, int64_t buffer_size) {
  return std::make_shared<PrefetchDataset>(input, buffer_size);
}

}  // namespace tessera
