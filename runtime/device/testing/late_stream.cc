#include "runtime/device/testing/late_stream.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/accelerator_memory.h"

namespace tessera {
namespace {

// What the host would read from the destination of a copy before the copy is done.
void PoisonIfHost(Tensor* tensor) {
  if (tensor->size_bytes() == 0 || !IsHostAccessible(tensor->memory_kind())) return;
  std::memset(tensor->mutable_raw(), kPoisonByte, tensor->size_bytes());
}

}  // namespace

LateStream::LateStream(std::string device_name, const Options& options, LateStream* main)
    : device_name_(std::move(device_name)),
      options_(options),
      main_(main == nullptr ? this : main),
      random_(options.pause_seed) {
  thread_ = std::thread([this] { Loop(); });
}

void LateStream::SetMemory(AcceleratorMemory* memory, int number) {
  memory_ = memory;
  number_ = number;
}

std::unique_ptr<LateStream> LateStream::ForCapture(LateStream* target) {
  return std::unique_ptr<LateStream>(new LateStream(target));
}

absl::Status LateStream::FailCapture(absl::string_view what) {
  capture_error_.Update(absl::FailedPreconditionError(absl::StrCat(what, " cannot be captured")));
  return capture_error_;
}

absl::StatusOr<std::vector<LateStream::Work>> LateStream::TakeCaptured() {
  RETURN_IF_ERROR(capture_error_);
  return std::move(captured_);
}

LateStream::~LateStream() {
  if (target_ != nullptr) return;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

void LateStream::Copy(const Tensor& from, Tensor* to) {
  CHECK(IsTriviallyCopyable(from.dtype()) && IsTriviallyCopyable(to->dtype()));
  CHECK(from.size_bytes() == to->size_bytes())
      << from.size_bytes() << " bytes cannot be copied to " << to->size_bytes();
  if (target_ != nullptr && IsHostAccessible(to->memory_kind())) {
    FailCapture("a copy to the host").IgnoreError();
    return;
  }
  char* const source = Alias(from);
  char* const destination = Alias(*to);
  PoisonIfHost(to);
  // The tensors are shares in both buffers.
  Work work = [source, destination, from = from, to = *to] {
    if (from.size_bytes() > 0) std::memcpy(destination, source, from.size_bytes());
    return absl::OkStatus();
  };
  using Copies = Item::Copies;
  const bool is_from_host = IsHostAccessible(from.memory_kind());
  const bool is_to_host = IsHostAccessible(to->memory_kind());
  const Copies to_host = !is_to_host    ? Copies::kNone
                         : is_from_host ? Copies::kAwaits
                                        : Copies::kIsOne;
  Append({std::move(work), nullptr, to_host}, false);
}

void LateStream::Zero(Tensor* tensor) {
  CHECK(IsTriviallyCopyable(tensor->dtype()));
  char* const destination = Alias(*tensor);
  PoisonIfHost(tensor);
  Enqueue([destination, tensor = *tensor] {
    if (tensor.size_bytes() > 0) std::memset(destination, 0, tensor.size_bytes());
    return absl::OkStatus();
  });
}

void LateStream::Then(Callback done) {
  if (memory_ == nullptr) return Append({nullptr, std::move(done)}, true);
  const int64_t mark = memory_->Mark(number_);
  Append({nullptr,
          [this, mark, done = std::move(done)](absl::Status status) {
            memory_->Passed(number_, mark);
            done(std::move(status));
          }},
         true);
}

void LateStream::Enqueue(Work work) { Append({std::move(work), nullptr}, false); }

void LateStream::WaitFor(LateStream& other) {
  auto is_done = std::make_shared<absl::Notification>();
  // Notifies when the item dies: that of a lost device does not run.
  const std::shared_ptr<void> at_end(nullptr, [is_done](void*) { is_done->Notify(); });
  other.Append({[at_end] { return absl::OkStatus(); }, nullptr, Item::Copies::kAwaits}, false);
  Enqueue([is_done, other = &other] {
    if (!is_done->HasBeenNotified()) other->Release();
    is_done->WaitForNotification();
    return absl::OkStatus();
  });
}

void LateStream::AwaitCopiesToHost() {
  Append({[] { return absl::OkStatus(); }, nullptr, Item::Copies::kAwaits}, false);
}

void LateStream::Lose() {
  Enqueue([this] {
    absl::MutexLock lock(&main_->mu_);
    main_->lost_ = absl::UnavailableError(device_name_ + " is lost");
    return main_->lost_;
  });
}

absl::Status LateStream::Health() const {
  absl::MutexLock lock(&main_->mu_);
  return main_->lost_;
}

void LateStream::Release() {
  absl::MutexLock lock(&mu_);
  num_released_ = pending_.size();
}

char* LateStream::Alias(const Tensor& tensor) const {
  if (IsHostAccessible(tensor.memory_kind())) return tensor.address();
  const AcceleratorMemory::Place place = AcceleratorMemory::Find(tensor.address());
  CHECK(place.stream != nullptr) << device_name_ << " is given device memory of another type";
  CHECK(place.stream == main_) << device_name_ << " is given memory of "
                               << place.stream->device_name();
  return place.alias;
}

void LateStream::Append(Item item, bool is_waited_for) {
  if (target_ != nullptr) {
    if (item.done != nullptr) return item.done(FailCapture("a wait for work"));
    captured_.push_back(std::move(item.work));
    return;
  }
  absl::MutexLock lock(&mu_);
  pending_.push_back(std::move(item));
  if (is_waited_for || pending_.size() > options_.max_pending) num_released_ = pending_.size();
}

void LateStream::Pause() {
  if (options_.pause_seed != 0) absl::SleepFor(absl::Microseconds(random_() % 100));
}

void LateStream::Run(const Work& work) {
  const absl::Status health = Health();
  error_.Update(health.ok() ? work() : health);
}

void LateStream::RunCopiesToHost() {
  for (const Work& work : std::exchange(copies_to_host_, {})) Run(work);
}

void LateStream::Loop() {
  const auto has_something_to_do = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return num_released_ > 0 || stopping_;
  };
  while (true) {
    Item item;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&has_something_to_do));
      if (pending_.empty()) break;
      item = std::move(pending_.front());
      pending_.pop_front();
      if (num_released_ > 0) --num_released_;
    }
    Pause();
    if (item.to_host == Item::Copies::kIsOne) {
      copies_to_host_.push_back(std::move(item.work));
      continue;
    }
    if (item.done != nullptr || item.to_host == Item::Copies::kAwaits) RunCopiesToHost();
    if (item.done != nullptr) {
      const absl::Status health = Health();
      error_.Update(health);
      item.done(std::exchange(error_, health));
    } else {
      Run(item.work);
    }
    // The item dies here, outside the lock: it may hold the last share in a buffer of the device,
    // whose release enqueues more work.
  }
  RunCopiesToHost();
}

}  // namespace tessera
