// FailureLog: lines in the log for requests that fail.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
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
  // Notes how a request ended: by which protocol, such as "grpc", it asked for what, such as
  // "Predict", of which model. `trace_id` returns the ID of the distributed trace that it belongs
  // to, or "", and is called only if the request failed. Does nothing else for one that succeeded.
  void Note(absl::string_view protocol, absl::string_view method, absl::string_view model,
            const absl::Status& status, absl::FunctionRef<absl::string_view()> trace_id,
            absl::Time now) {
    if (!status.ok()) [[unlikely]]
      NoteFailure(protocol, method, model, status, trace_id(), now);
  }

 private:
  void NoteFailure(absl::string_view protocol, absl::string_view method, absl::string_view model,
                   const absl::Status& status, absl::string_view trace_id, absl::Time now);

  absl::Mutex mu_;
  absl::Time last_line_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tessera::serving
