#include "serving/logging/log_writer.h"

#include <pthread.h>

#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/logging.h"

namespace tessera::serving {
namespace {

// How long records wait for others, so that a busy log is written a few times a second.
constexpr absl::Duration kMaxDelay = absl::Milliseconds(50);
constexpr absl::Duration kMessageInterval = absl::Minutes(1);

}  // namespace

LogWriter::LogWriter(Options options, std::unique_ptr<LogFile> file)
    : options_(std::move(options)), file_(std::move(file)), thread_([this] { Run(); }) {}

void LogWriter::Add(std::string record) {
  const int64_t size = static_cast<int64_t>(record.size());
  bool is_taken;
  {
    absl::MutexLock lock(&mu_);
    is_taken = !closing_ &&
               queued_bytes_.load(std::memory_order_relaxed) + size <= options_.max_queued_bytes;
    if (is_taken) {
      queued_bytes_.fetch_add(size, std::memory_order_relaxed);
      queue_.push_back(std::move(record));
      ++num_added_;
    }
  }
  if (!is_taken) Drop();
}

void LogWriter::Flush() {
  absl::MutexLock lock(&mu_);
  const int64_t num_added = num_added_;
  ++num_flushes_;
  const auto is_done = [this, num_added]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return num_done_ >= num_added; };
  mu_.Await(absl::Condition(&is_done));
  --num_flushes_;
}

void LogWriter::Close() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
    mu_.AwaitWithTimeout(absl::Condition(&has_ended_), options_.close_patience);
    if (!has_ended_) file_->StopWaiting();
  }
  if (thread_.joinable()) thread_.join();
}

bool LogWriter::IsPressed() const {
  return closing_ || num_flushes_ > 0 ||
         queued_bytes_.load(std::memory_order_relaxed) >= options_.max_queued_bytes / 2;
}

void LogWriter::Run() {
  pthread_setname_np(pthread_self(), "log writer");
  while (true) {
    Records records;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &LogWriter::HasWork));
      mu_.AwaitWithTimeout(absl::Condition(this, &LogWriter::IsPressed), kMaxDelay);
      records.swap(queue_);
    }
    if (!records.empty()) Write(records);
    absl::MutexLock lock(&mu_);
    if (records.empty()) {  // closing
      has_ended_ = true;
      return;
    }
    num_done_ += static_cast<int64_t>(records.size());
  }
}

void LogWriter::Write(const Records& records) {
  std::string bytes;
  int64_t num_records = 0;
  const auto append = [&] {
    if (num_records > 0) Append(bytes, num_records);
    bytes.clear();
    num_records = 0;
  };
  for (const std::string& record : records) {
    if (static_cast<int64_t>(bytes.size() + record.size()) > options_.max_written_bytes) append();
    bytes += record;
    ++num_records;
  }
  append();
}

void LogWriter::Append(absl::string_view bytes, int64_t num_records) {
  const absl::Status status = file_->Append(bytes);
  queued_bytes_.fetch_sub(static_cast<int64_t>(bytes.size()), std::memory_order_relaxed);
  NoteOutcome(status, num_records);
  options_.count(status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kUnavailable, num_records);
}

void LogWriter::NoteOutcome(const absl::Status& status, int64_t num_records) {
  if (status.ok()) {
    if (!is_told_) return;
    LOG(INFO) << options_.name << " is written again; " << num_lost_ << " records were lost";
    is_told_ = false;
    num_lost_ = 0;
    return;
  }
  num_lost_ += num_records;
  const absl::Time now = absl::Now();
  if (is_told_ || now < last_message_ + kMessageInterval) return;
  is_told_ = true;
  last_message_ = now;
  LOG(ERROR) << options_.name << ": " << status.message()
             << "; its records are lost until that is mended, and the server goes on";
}

}  // namespace tessera::serving
