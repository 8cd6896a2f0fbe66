// FileSystemSource: versions of servables as directories below base paths.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/core/source.h"

namespace tessera::serving {

// Which of the versions below a base path are aspired.
struct VersionChoice {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int64_t num_latest = 1;         // for kLatest
  std::vector<int64_t> specific;  // for kSpecific; those that are not there are passed over
};

// A base path to watch: its children whose names are numbers are the versions.
struct MonitoredServable {
  std::string name;
  std::string base_path;
  VersionChoice versions;
};

// Versions that `servable` chooses among those below its base path for which `is_complete` is true:
// path by number. A child counts if its name reads as an int64, blanks, sign and leading zeros
// allowed, whatever it is on disk; other names are passed over in silence. Of several names for one
// number, the last in byte order counts. Errors: NOT_FOUND and others of ListDirectory() if the
// base path cannot be read. A base path without versions is no error.
absl::StatusOr<std::map<int64_t, std::string>> FindVersions(
    const MonitoredServable& servable,
    absl::FunctionRef<bool(int64_t number, const std::string& path)> is_complete);

// Looks at the base paths at an interval and tells its target when their versions have changed.
//
//   FileSystemSource source({.poll_interval = absl::Seconds(1)});
//   source.ConnectTo(&adapter);
//   source.SetServables({{"resnet", "/models/resnet"}});
//
// A version that was not there before is taken once it is complete: once nothing in its folder has
// changed for the settle time, or at once if it was renamed into place or otherwise finished, see
// VersionFolder; with a marker file, when that is there. Until then it is as if it were not there.
// A folder that changes after it was taken is told with another revision, once it is complete.
//
// A base path that cannot be read leaves the versions of its own servable as they were; one that is
// there but holds no version, not even an incomplete one, unloads them all.
//
// Thread-safe. Calls its target under a lock of its own.
class FileSystemSource : public Source<std::string> {
 public:
  struct Options {
    // Zero: looks only when SetServables() is called, and takes what is there.
    absl::Duration poll_interval = absl::Seconds(1);
    // How long nothing in a folder may have changed. Zero: folders are taken as they appear.
    absl::Duration settle_time = absl::Seconds(2);
    // Name of a file that stands in every complete folder, and makes the settle time unnecessary.
    // Empty: none.
    std::string marker_file;
  };
  explicit FileSystemSource(const Options& options);
  // Waits for a look under way.
  ~FileSystemSource() override;

  void ConnectTo(Target<std::string>* target) override;

  // Watches these from now on, and looks at them before it returns. Of one that is not among them
  // any more, no version is aspired.
  void SetServables(std::vector<MonitoredServable> servables);

  // Looks no more from now on. Returns at once, perhaps before a look under way has ended: one at a
  // disk that does not answer may take for ever.
  void StopLooking() { stopping_ = true; }

 private:
  // A version as told last.
  struct Taken {
    std::string path;
    uint64_t revision;
    friend bool operator==(const Taken&, const Taken&) = default;
  };
  // A folder that was not complete when last looked at.
  struct Unsettled {
    uint64_t fingerprint;
    absl::Time since;  // has had this fingerprint, by this machine's clock
  };
  struct Watched {
    MonitoredServable servable;
    bool emitted = false;
    std::map<int64_t, Taken> versions;           // as emitted last
    std::map<std::string, Unsettled> unsettled;  // by path
    std::string problem;                         // as logged last; empty if there was none
    absl::Time problem_logged;
  };

  void RunLoop();
  void Poll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PollOne(Watched& watched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The revision of a folder if it is complete.
  std::optional<uint64_t> CompleteRevision(Watched& watched, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LogProblem(Watched& watched, std::string problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  absl::Mutex mu_;
  absl::CondVar end_;  // of the object
  Target<std::string>* target_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::map<std::string, Watched> watched_ ABSL_GUARDED_BY(mu_);  // by name
  // When a folder may be complete that was not at the last look.
  absl::Time look_again_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  std::atomic<bool> stopping_{false};
  std::thread loop_ ABSL_GUARDED_BY(mu_);  // started with the first servables
};

}  // namespace tessera::serving
