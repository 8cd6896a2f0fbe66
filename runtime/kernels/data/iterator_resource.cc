#include "runtime/kernels/data/iterator_resource.h"

#include <utility>

#include "runtime/base/status.h"

namespace tessera {

absl::Status IteratorResource::StartLocked(DatasetPtr dataset, Walk* old) {
  if (!spec_.dtypes.empty()) RETURN_IF_ERROR(spec_.CheckFits(dataset->spec()));
  std::unique_ptr<Iterator> iterator = dataset->MakeIterator();
  *old = std::exchange(walk_, {.dataset = std::move(dataset), .iterator = std::move(iterator)});
  return absl::OkStatus();
}

absl::Status IteratorResource::Start(const StepContext& step, DatasetPtr dataset) {
  Walk old;  // destroyed after the lock is released
  StepLock lock(&mu_, step);
  RETURN_IF_ERROR(lock.status());
  return StartLocked(std::move(dataset), &old);
}

absl::Status IteratorResource::StartOnce(const StepContext& step,
                                         absl::FunctionRef<absl::StatusOr<DatasetPtr>()> make) {
  Walk old;
  StepLock lock(&mu_, step);
  RETURN_IF_ERROR(lock.status());
  if (walk_.dataset != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(DatasetPtr dataset, make());
  return StartLocked(std::move(dataset), &old);
}

absl::Status IteratorResource::Stop(const StepContext& step) {
  Walk old;
  StepLock lock(&mu_, step);
  RETURN_IF_ERROR(lock.status());
  old = std::exchange(walk_, {});
  return absl::OkStatus();
}

absl::Status IteratorResource::CheckStarted() const {
  if (walk_.iterator != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
      "the initializer operation for this iterator before getting the next element.");
}

absl::StatusOr<bool> IteratorResource::Next(StepContext& step, Element* element) {
  StepLock lock(&mu_, step);
  RETURN_IF_ERROR(lock.status());
  RETURN_IF_ERROR(CheckStarted());
  RETURN_IF_ERROR(CheckGoingOn(step));  // nothing is lost yet
  while (true) {
    absl::StatusOr<bool> more = walk_.iterator->Next(step, element);
    if (!more.ok()) {
      walk_.had_error = true;
      return more;
    }
    if (walk_.to_drop == 0) {
      ++walk_.taken;
      return more;
    }
    --walk_.to_drop;
  }
}

IteratorResource::Progress IteratorResource::progress() const {
  StepLock lock(&mu_);
  return {.taken = walk_.taken, .is_whole = !walk_.had_error && walk_.to_drop == 0};
}

void IteratorResource::DropFirst(int64_t count) {
  StepLock lock(&mu_);
  walk_.to_drop = count;
}

absl::StatusOr<std::shared_ptr<IteratorState>> IteratorResource::Save(const StepContext& waits) {
  StepLock lock(&mu_, waits);
  RETURN_IF_ERROR(lock.status());
  RETURN_IF_ERROR(CheckStarted());
  auto state = std::make_shared<IteratorState>();
  IteratorArchive archive(state.get(), waits);
  RETURN_IF_ERROR(walk_.iterator->Transfer(archive));
  return state;
}

absl::Status IteratorResource::Restore(StepContext& step, const IteratorState& state) {
  Walk old;
  StepLock lock(&mu_, step);
  RETURN_IF_ERROR(lock.status());
  RETURN_IF_ERROR(CheckStarted());
  std::unique_ptr<Iterator> restored = walk_.dataset->MakeIterator();
  IteratorArchive archive(state, step);
  RETURN_IF_ERROR(restored->Transfer(archive));
  DatasetPtr dataset = walk_.dataset;
  old = std::exchange(walk_, {.dataset = std::move(dataset), .iterator = std::move(restored)});
  return absl::OkStatus();
}

}  // namespace tessera
