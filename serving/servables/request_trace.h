// TraceRequest: requests in traces.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "runtime/profile/tracer.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {

// A request that has ended, on the thread that answered it.
struct EndedRequest {
  absl::string_view method;  // "predict"; empty for one that asks about a model
  absl::string_view model;
  Entrypoint entrypoint;
  absl::Status status;
  absl::Time ended;
  absl::string_view trace_id = {};  // of the distributed trace that it belongs to; "": none
};

// Records the request as an event of the category "request", which lasts from when the calling
// thread took it on, with its phases nested in it. Its wait for that thread, and its wait for the
// run of its batch, are of the category "queue"; the former is on no thread. Does nothing unless
// `tracer` records.
void TraceRequest(const EndedRequest& request, const RequestTimes& times, Tracer* tracer);

}  // namespace tessera::serving
