// FailureLog: lines in the log for requests that fail.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera::serving {

// Logs requests that fail, at most one a second, so that a client that sends nothing but wrong
// requests does not fill the disk. Each line says how many were left out before it.
//
// Thread-safe.
class FailureLog {
 public:
  // Notes that a request failed: by which protocol, such as "grpc", it asked for what, such as
  // "Predict", of which model.
  void Note(absl::string_view protocol, absl::string_view method, absl::string_view model,
            const absl::Status& status, absl::Time now);

 private:
  absl::Mutex mu_;
  absl::Time last_line_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tessera::serving
