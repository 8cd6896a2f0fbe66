// AccessLog: a line of JSON for each request.
//
//   {"time":"2026-01-31T12:00:00.123456Z","protocol":"grpc","method":"Predict","model":"resnet",
//    "version":3,"status":"OK","duration_us":812,"bytes_in":602127,"bytes_out":4032,
//    "peer":"10.0.0.7:41234","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/core/metrics.h"
#include "serving/logging/log_writer.h"
#include "serving/logging/reopened_file.h"

namespace tessera::serving {

// A request that has ended. Fields that are empty, and a version that is not known, are left out of
// the line.
struct AccessRecord {
  absl::string_view protocol;  // "grpc" or "http"
  absl::string_view method;    // "Predict", "POST"
  absl::string_view path;      // of HTTP, with its query
  absl::string_view model;
  std::optional<int64_t> version;
  absl::string_view status;  // the name of gRPC's code, "NOT_FOUND", or the number of HTTP's, "404"
  absl::Time arrived;        // when it had been read
  absl::Duration duration;   // from then until the answer is handed to the connection
  uint64_t bytes_in = 0;     // of the message, or of the body
  uint64_t bytes_out = 0;
  absl::string_view peer;  // "10.0.0.7:41234", "[::1]:41234", "unix:"
  absl::string_view trace_id;
};

// Returns the line of a record, with its end.
std::string AccessLine(const AccessRecord& record);

// Thread-safe. Add() never waits for the file, see LogWriter; what became of the lines is counted
// in /tessera/serving/access_log_count by status code.
class AccessLog {
 public:
  // Appends to the file, or to standard output if the path is "-". `metrics` must outlive the log.
  // Errors: those of ReopenedFile::Open().
  static absl::StatusOr<std::unique_ptr<AccessLog>> Open(const std::string& path,
                                                         MetricsRegistry* metrics);

  void Add(const AccessRecord& record) { writer_.Add(AccessLine(record)); }
  // Lets the log go on in a new file, after the old one was renamed.
  void Reopen() { file_->Reopen(); }
  // Returns once all lines so far are written.
  void Flush() { writer_.Flush(); }

 private:
  AccessLog(std::unique_ptr<ReopenedFile> file, CounterFamily* counts);

  ReopenedFile* const file_;  // owned by writer_
  LogWriter writer_;
};

}  // namespace tessera::serving
