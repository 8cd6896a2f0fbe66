// FileSystemSource: versions of servables as directories below base paths.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
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

// Versions below `servable.base_path`: path by number. A child counts if its name reads as an
// int64, blanks, sign and leading zeros allowed, whatever it is on disk; other names are passed
// over in silence. Of several names for one number, the last in byte order counts. Errors:
// NOT_FOUND and others of ListDirectory() if the base path cannot be read. A base path without
// versions is no error.
absl::StatusOr<std::map<int64_t, std::string>> FindVersions(const MonitoredServable& servable);

// Looks at the base paths at an interval and tells its target when their versions have changed.
//
//   FileSystemSource source({.poll_interval = absl::Seconds(1)});
//   source.ConnectTo(&adapter);
//   source.SetServables({{"resnet", "/models/resnet"}});
//
// A base path that cannot be read leaves the versions of its own servable as they were; one that is
// there but holds no version unloads them all. What is inside a version's directory is not watched.
//
// Thread-safe. Calls its target under a lock of its own.
class FileSystemSource : public Source<std::string> {
 public:
  struct Options {
    // Zero: looks only when SetServables() is called.
    absl::Duration poll_interval = absl::Seconds(1);
  };
  explicit FileSystemSource(const Options& options);
  ~FileSystemSource() override;

  void ConnectTo(Target<std::string>* target) override;

  // Watches these from now on, and looks at them before it returns. Of one that is not among them
  // any more, no version is aspired.
  void SetServables(std::vector<MonitoredServable> servables);

  // Ends polling; waits for a look under way.
  void Stop();

 private:
  struct Watched {
    MonitoredServable servable;
    bool emitted = false;
    std::map<int64_t, std::string> versions;  // as emitted last
    std::string problem;                      // as logged last; empty if there was none
    absl::Time problem_logged;
  };

  void RunLoop();
  void Poll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PollOne(Watched& watched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LogProblem(Watched& watched, std::string problem) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  absl::Mutex mu_;
  absl::CondVar stop_changed_;
  Target<std::string>* target_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::map<std::string, Watched> watched_ ABSL_GUARDED_BY(mu_);  // by name
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread loop_ ABSL_GUARDED_BY(mu_);  // started with the first servables
};

}  // namespace tessera::serving
