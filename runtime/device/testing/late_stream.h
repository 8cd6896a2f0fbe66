// The stream of an accelerator for tests: a thread that runs late on purpose.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/stream.h"

namespace tessera {

class AcceleratorMemory;

// Leaves work undone until somebody waits for it by Then() or Synchronize(), or until
// Options::max_pending is reached, so that whoever forgets to wait finds poison where the result
// should be: a host destination of Copy() is filled with it by the thread that calls Copy().
//
// Copies to the host come later still, as they do on a queue of their own: when somebody waits, and
// not before what was enqueued after them.
//
// The first error of any work is kept until a callback of Then() takes it. Work that was enqueued
// after a failed one runs all the same, on whatever the failed one left.
//
// A capture's stream keeps what is enqueued instead (runtime/device/capture/work_capture.h).
//
// The destructor runs everything that is still enqueued.
class LateStream final : public Stream {
 public:
  struct Options {
    // Work begins without a waiter when more of it than this is pending, which bounds memory.
    size_t max_pending = 256;
    // If not 0, the seed of random pauses before each piece of work that somebody waits for.
    uint64_t pause_seed = 0;
  };
  using Work = std::function<absl::Status()>;

  // `main` is the first stream of the same accelerator, which must outlive this one; null: this is
  // it.
  LateStream(std::string device_name, const Options& options, LateStream* main = nullptr);
  ~LateStream() override;
  // From now on the memory learns what the stream, its number `number`, has passed. To be called
  // once, before anything is enqueued.
  void SetMemory(AcceleratorMemory* memory, int number);
  // The stream of a capture of work for `target`, which must outlive it.
  static std::unique_ptr<LateStream> ForCapture(LateStream* target);
  // Returns what such a stream has kept. Errors: see WorkCapture.
  absl::StatusOr<std::vector<Work>> TakeCaptured();

  const std::string& device_name() const { return device_name_; }
  const LateStream* main() const { return main_; }

  // Copy() and Zero() abort the process if a tensor lies in the memory of another accelerator.
  void Copy(const Tensor& from, Tensor* to) override;
  void Zero(Tensor* tensor) override;
  void Then(Callback done) override;
  // Runs `work` on the stream's thread after everything that was enqueued before. For kernels and
  // memory of the accelerator.
  void Enqueue(Work work);
  // Work that is enqueued here later waits for what is enqueued on `other` now. `other` must
  // outlive that work, or have done its own when it dies.
  void WaitFor(LateStream& other);
  // What is enqueued later comes after the copies to the host that are enqueued now.
  void AwaitCopiesToHost();
  // Enqueues the loss of the device: everything that comes after it, on any of its streams, fails
  // with UNAVAILABLE, and is not done.
  void Lose();
  // Returns UNAVAILABLE once the device is lost, else OK.
  absl::Status Health() const;

  // The bytes of a tensor for work on the stream's thread, of any memory kind. Aborts the process
  // for memory of another accelerator.
  char* Alias(const Tensor& tensor) const;

 private:
  // One of both is set.
  struct Item {
    Work work;
    Callback done;
    enum class Copies { kNone, kIsOne, kAwaits } to_host = Copies::kNone;
  };
  explicit LateStream(LateStream* target)
      : device_name_(target->device_name_), target_(target), main_(target->main_) {}
  // Lets everything run that is enqueued.
  void Release();
  // Makes TakeCaptured() fail.
  absl::Status FailCapture(absl::string_view what);
  void Append(Item item, bool is_waited_for);
  void Loop();
  void Run(const Work& work);
  void RunCopiesToHost();
  // Sleeps for up to 100 us if there is a seed.
  void Pause();

  const std::string device_name_;
  const Options options_;
  LateStream* const target_ = nullptr;  // null but for captures
  LateStream* const main_;
  AcceleratorMemory* memory_ = nullptr;
  int number_ = 0;  // in memory_
  std::vector<Work> captured_;
  absl::Status capture_error_;
  std::mt19937_64 random_;            // used by the thread alone
  absl::Status error_;                // used by the thread alone
  std::vector<Work> copies_to_host_;  // used by the thread alone

  mutable absl::Mutex mu_;
  absl::Status lost_ ABSL_GUARDED_BY(mu_);
  std::deque<Item> pending_ ABSL_GUARDED_BY(mu_);
  size_t num_released_ ABSL_GUARDED_BY(mu_) = 0;  // how many of the pending ones may run
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace tessera
