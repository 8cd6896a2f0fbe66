// FileSystemSource: versions of servables as directories below base paths.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/core/source.h"
#include "serving/sources/rename_watch.h"

namespace tessera::serving {

struct VersionFolder;

// The choice of versions below a base path that are aspired.
struct VersionChoice {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int64_t num_latest = 1;         // for kLatest
  std::vector<int64_t> specific;  // for kSpecific; versions that do not exist are ignored
  friend bool operator==(const VersionChoice&, const VersionChoice&) = default;
};

// A base path to watch. Its children whose names are numbers are the versions.
struct MonitoredServable {
  std::string name;
  std::string base_path;
  VersionChoice versions;
  bool has_gate = false;  // the target chooses some of the versions that it is told
  friend bool operator==(const MonitoredServable&, const MonitoredServable&) = default;
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
// place or otherwise finished, see VersionFolder; a twentieth of the settle time is enough if its
// files tell that they are whole. If a marker file is configured, a folder is complete when it
// holds that file. A folder that changes later is told with another revision, once it is complete
// again. The same holds for the files of a checkpoint, which has no marker.
//
// As long as nothing has been told of a servable whose latest versions are wanted, versions below
// one that is on its way are not told either, so that a start does not take what is about to be
// replaced. If the servable has a gate, nothing at all is told as long as any version is on its
// way, because the gate may have chosen that one before a restart. Either ends after
// Options::hold_back, because a copy may take long.
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
    // How long versions are held back for one that is on its way.
    absl::Duration hold_back = absl::Seconds(20);
    // Name of a file that every complete folder holds, in place of the settle time. Empty: there is
    // no such file.
    std::string marker_file;
    // Returns true if the files in a folder tell that they are whole. May be empty.
    std::function<bool(const std::string& path)> is_whole;
  };
  explicit FileSystemSource(const Options& options);
  // Waits for a running scan.
  ~FileSystemSource() override;

  void ConnectTo(Target<std::string>* target) override;

  // Replaces the base paths that are watched, and scans them before it returns. A servable that is
  // no longer among them has no aspired versions any more. The versions of one that has changed are
  // told again.
  void SetServables(std::vector<MonitoredServable> servables);

  // The state of a servable at the last scan.
  struct Outlook {
    // Versions that are on their way: they are taken once they are complete. Without those that
    // lack their marker file, which may never get it.
    std::set<int64_t> settling;
    std::string problem;  // why no version can be taken; empty if there is no reason
  };
  // Returns an empty outlook for a servable that is not watched. May be called while the target is.
  Outlook OutlookOf(const std::string& name) const ABSL_LOCKS_EXCLUDED(outlooks_mu_);

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
    absl::Time since;         // when the fingerprint was first seen, by the clock of this machine
    bool is_partial = false;  // Options::is_whole was false for these files
  };
  struct Watched {
    MonitoredServable servable;
    bool emitted = false;
    bool is_changed = false;                     // since then
    std::map<int64_t, Taken> versions;           // as emitted last
    std::map<std::string, Unsettled> unsettled;  // by path
    std::set<std::string> renamed;               // paths of versions that were renamed into place
    absl::Time first_seen = absl::InfiniteFuture();  // of any version, complete or not
    std::string problem;                             // as in Outlook
    absl::Time problem_logged;
  };

  void RunLoop();
  void Poll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PollOne(Watched& watched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the revision of a folder if it is complete.
  std::optional<uint64_t> CompleteRevision(Watched& watched, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the folder was finished by a rename or by a copying tool.
  bool IsFinished(const Watched& watched, const std::string& path, const VersionFolder& folder)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the files in the folder tell that they are whole, and nothing follows them.
  bool IsWhole(const std::string& path, const VersionFolder& folder, Unsettled* unsettled)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Removes versions that are held back for one that is on its way, as long as nothing was told.
  void HoldBack(Watched& watched, const std::set<int64_t>& settling,
                std::map<int64_t, Taken>* versions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Emit(Watched& watched, std::map<int64_t, Taken> versions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetOutlook(const Watched& watched, std::set<int64_t> settling)
      ABSL_LOCKS_EXCLUDED(outlooks_mu_);
  void LogProblem(Watched& watched, std::string problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  absl::Mutex mu_;
  absl::CondVar end_or_change_;  // of when to look again
  Target<std::string>* target_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::map<std::string, Watched> watched_ ABSL_GUARDED_BY(mu_);  // by name
  RenameWatch rename_watch_ ABSL_GUARDED_BY(mu_);
  // The earliest time at which a folder may be complete that was not at the last scan.
  absl::Time look_again_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  std::atomic<bool> stopping_{false};
  std::thread loop_ ABSL_GUARDED_BY(mu_);  // started with the first servables
  // A lock of its own, and the last to be taken: who asks may hold locks that the target takes.
  mutable absl::Mutex outlooks_mu_;
  std::map<std::string, Outlook> outlooks_ ABSL_GUARDED_BY(outlooks_mu_);  // by name
};

}  // namespace tessera::serving
