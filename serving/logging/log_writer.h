// LogWriter: writes the records of a log on a thread of its own, so that no request waits for a
// disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/logging/log_file.h"

namespace tessera::serving {

// Records wait in a bounded queue and are written soon, many at once. What finds the queue full, or
// cannot be written, is dropped and counted. The first record that cannot be written is told in the
// server's log, and so is the first one that can be again; a problem that lasts or comes back is
// told at most once a minute.
//
// Thread-safe. Add() never waits for the file. The destructor calls Close().
class LogWriter {
 public:
  struct Options {
    // The name of the log in messages: "the access log".
    std::string name;
    // The most bytes of records that wait or are being written.
    int64_t max_queued_bytes = int64_t{16} << 20;
    // The most bytes that are written at once, unless one record is larger.
    int64_t max_written_bytes = 64 << 10;
    // Told what became of a number of records: OK once they were written, RESOURCE_EXHAUSTED if the
    // queue was full, UNAVAILABLE if they could not be written. Called by Add() and by the thread.
    std::function<void(absl::StatusCode, int64_t num_records)> count;
    // How long Close() lets the reader of a pipe take what waits.
    absl::Duration close_patience = absl::Seconds(1);
  };

  LogWriter(Options options, std::unique_ptr<LogFile> file);
  ~LogWriter() { Close(); }

  void Add(std::string record) ABSL_LOCKS_EXCLUDED(mu_);
  // Counts a record as dropped that the caller does not add.
  void Drop() const { options_.count(absl::StatusCode::kResourceExhausted, 1); }
  // Whether Add() would take a small record now. If not, the caller need not make one.
  bool HasRoom() const {
    return queued_bytes_.load(std::memory_order_relaxed) < options_.max_queued_bytes;
  }

  // Returns once all records that were added before have been written or dropped.
  void Flush() ABSL_LOCKS_EXCLUDED(mu_);
  // Writes what waits, but what the reader of a pipe does not take in time, and ends the thread.
  // Later records are dropped. One thread may call it.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Records = std::vector<std::string>;

  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  void Write(const Records& records);
  void Append(absl::string_view bytes, int64_t num_records);
  void NoteOutcome(const absl::Status& status, int64_t num_records);

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !queue_.empty() || closing_; }
  // Whether the thread need not wait for more records to write at once.
  bool IsPressed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const std::unique_ptr<LogFile> file_;  // the thread's
  std::atomic<int64_t> queued_bytes_{0};
  absl::Mutex mu_;
  Records queue_ ABSL_GUARDED_BY(mu_);
  int64_t num_added_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_done_ ABSL_GUARDED_BY(mu_) = 0;
  int num_flushes_ ABSL_GUARDED_BY(mu_) = 0;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;
  // The thread's, for its messages.
  bool is_told_ = false;
  int64_t num_lost_ = 0;
  absl::Time last_message_ = absl::InfinitePast();
  std::thread thread_;  // last, so that it finds all else made
};

}  // namespace tessera::serving
