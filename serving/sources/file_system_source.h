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

// The choice of versions below a base path that are aspired.
struct VersionChoice {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int64_t num_latest = 1;         // for kLatest
  std::vector<int64_t> specific;  // for kSpecific; versions that do not exist are ignored
};

// A base path to watch. Its children whose names are numbers are the versions.
struct MonitoredServable {
  std::string name;
  std::string base_path;
  VersionChoice versions;
};

// Returns the versions below the base path that `servable` chooses, as paths by version number.
// Only versions for which `is_complete` returns true are chosen from. A child is a version if its
// name reads as an int64, where blanks, a sign and leading zeros are allowed, whatever it is on
// disk. Other names are ignored silently. If several names read as one number, the last in byte
// order counts. Errors: NOT_FOUND and others of ListDirectory() if the base path cannot be read. A
// base path without versions is no error.
//
// If the base path has a file `checkpoint` and a folder `graph`, it is one in which a training job
// keeps checkpoints of the graph. Then those that the file names are versions, too: the number is
// the step at the end of the name, the path is the prefix of the checkpoint's files. Checkpoints
// above the latest one are ignored. Further errors: DATA_LOSS if the file cannot be parsed,
// FAILED_PRECONDITION if the name of the latest checkpoint has no step.
absl::StatusOr<std::map<int64_t, std::string>> FindVersions(
    const MonitoredServable& servable,
    absl::FunctionRef<bool(int64_t number, const std::string& path)> is_complete);

// Scans the base paths at an interval and tells its target when their versions have changed.
//
//   FileSystemSource source({.poll_interval = absl::Seconds(1)});
//   source.ConnectTo(&adapter);
//   source.SetServables({{"resnet", "/models/resnet"}});
//
// A new version is told to the target once its folder is complete, and ignored until then. A folder
// is complete when nothing in it has changed for the settle time, or at once if it was renamed into
// place or otherwise finished, see VersionFolder. If a marker file is configured, a folder is
// complete when it holds that file. A folder that changes later is told with another revision, once
// it is complete again. The same holds for the files of a checkpoint, which has no marker.
//
// If a base path cannot be read, the versions of its servable stay as they were. If it can be read
// but holds no version, not even an incomplete one, all of them are unloaded.
//
// Thread-safe. Calls its target while it holds its own lock.
class FileSystemSource : public Source<std::string> {
 public:
  struct Options {
    // Time between two scans. Zero: scans only when SetServables() is called.
    absl::Duration poll_interval = absl::Seconds(1);
    // How long a folder must be unchanged to be complete. Zero: folders are complete when they
    // appear.
    absl::Duration settle_time = absl::Seconds(2);
    // Name of a file that every complete folder holds, in place of the settle time. Empty: there is
    // no such file.
    std::string marker_file;
  };
  explicit FileSystemSource(const Options& options);
  // Waits for a running scan.
  ~FileSystemSource() override;

  void ConnectTo(Target<std::string>* target) override;

  // Replaces the base paths that are watched, and scans them before it returns. A servable that is
  // no longer among them has no aspired versions any more.
  void SetServables(std::vector<MonitoredServable> servables);

  // Ends scanning. Returns at once, perhaps while a scan still runs, because a scan of a disk that
  // does not answer may take for ever.
  void StopLooking() { stopping_ = true; }

 private:
  // A version as the target was told last.
  struct Taken {
    std::string path;
    uint64_t revision;
    friend bool operator==(const Taken&, const Taken&) = default;
  };
  // A folder that was not complete at the last scan.
  struct Unsettled {
    uint64_t fingerprint;
    absl::Time since;  // when the fingerprint was first seen, by the clock of this machine
  };
  struct Watched {
    MonitoredServable servable;
    bool emitted = false;
    std::map<int64_t, Taken> versions;           // as emitted last
    std::map<std::string, Unsettled> unsettled;  // by path
    std::string problem;  // the error that was logged last; empty if there was none
    absl::Time problem_logged;
  };

  void RunLoop();
  void Poll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PollOne(Watched& watched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the revision of a folder if it is complete.
  std::optional<uint64_t> CompleteRevision(Watched& watched, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LogProblem(Watched& watched, std::string problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  absl::Mutex mu_;
  absl::CondVar end_;  // signalled by the destructor
  Target<std::string>* target_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::map<std::string, Watched> watched_ ABSL_GUARDED_BY(mu_);  // by name
  // The earliest time at which a folder may be complete that was not at the last scan.
  absl::Time look_again_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  std::atomic<bool> stopping_{false};
  std::thread loop_ ABSL_GUARDED_BY(mu_);  // started with the first servables
};

}  // namespace tessera::serving
