// BackgroundSave: writes a checkpoint on a thread of its own while the run goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

//   BackgroundSave save;
//   save.Start(100, [tensors] { return Write(tensors); });
//   ... steps ...
//   if (auto done = save.Finish(/*wait=*/false)) ... done->prefix ...
//
// One save is under way at a time. All calls come from one thread; the destructor waits for the
// save that is under way, so that a run which fails meanwhile still leaves the checkpoint whole.
class BackgroundSave {
 public:
  // Returns the prefix of the checkpoint. Runs on the other thread, and may use nothing that the
  // caller changes meanwhile.
  using Write = std::function<absl::StatusOr<std::string>()>;
  struct Result {
    int64_t step = 0;
    absl::StatusOr<std::string> prefix;
  };

  BackgroundSave() = default;
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;

  // Requires that there is no save whose result Finish() has not returned.
  void Start(int64_t step, Write write);
  // Returns the result of the save that Start() began, once; nullopt if there is none, or if it is
  // still under way and `wait` is false.
  std::optional<Result> Finish(bool wait);

 private:
  std::thread thread_;
  int64_t step_ = 0;
  absl::Mutex mu_;
  std::optional<absl::StatusOr<std::string>> prefix_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
