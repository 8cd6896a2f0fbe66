#include "runtime/kernels/io/record_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tensorflow/core/framework/reader_base.pb.h"

namespace tessera {

void RecordReader::AddWork(std::string name) {
  absl::MutexLock lock(&mu_);
  waiting_.push_back(std::move(name));
}

absl::StatusOr<bool> RecordReader::Read(int64_t count, std::vector<Record>* records) {
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(failure_);
  int64_t produced = 0;
  while (produced < count) {
    if (work_ == nullptr) {
      if (produced > 0) break;
      if (waiting_.empty()) return false;
      name_ = std::move(waiting_.front());
      waiting_.pop_front();
      ASSIGN_OR_RETURN(work_, Open(name_));
      ++work_started_;
    }
    absl::StatusOr<std::optional<Record>> record = work_->Next();
    if (!record.ok()) {
      return failure_ = Annotate(record.status(), absl::StrCat("file '", name_, "': "));
    }
    const bool more = record->has_value();
    if (more) {
      records->push_back(**std::move(record));
      ++produced;
      ++num_records_;
    }
    if (!more || work_->AtEnd()) {
      work_.reset();
      ++work_finished_;
    }
  }
  return true;
}

int64_t RecordReader::num_records_produced() const {
  absl::MutexLock lock(&mu_);
  return num_records_;
}

int64_t RecordReader::num_work_units_completed() const {
  absl::MutexLock lock(&mu_);
  return work_finished_;
}

void RecordReader::Reset() {
  absl::MutexLock lock(&mu_);
  waiting_.clear();
  work_.reset();
  name_.clear();
  work_started_ = work_finished_ = num_records_ = 0;
  failure_ = absl::OkStatus();
}

absl::StatusOr<std::string> RecordReader::SerializeState() const {
  if (!HasState()) return absl::UnimplementedError("the position of this reader cannot be saved");
  absl::MutexLock lock(&mu_);
  tensorflow::ReaderBaseState state;
  state.set_work_started(work_started_);
  state.set_work_finished(work_finished_);
  state.set_num_records_produced(num_records_);
  state.set_current_work(name_);
  return state.SerializeAsString();
}

absl::Status RecordReader::RestoreState(const std::string& state) {
  if (!HasState()) {
    return absl::UnimplementedError("the position of this reader cannot be restored");
  }
  tensorflow::ReaderBaseState parsed;
  if (!parsed.ParseFromString(state)) {
    return absl::InvalidArgumentError("the state is not a serialized ReaderBaseState");
  }
  const int64_t started = parsed.work_started(), finished = parsed.work_finished();
  if (finished < 0 || parsed.num_records_produced() < 0 || started < finished ||
      started > finished + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state is no reader's: work_started is ", started, ", work_finished ",
                     finished, ", num_records_produced ", parsed.num_records_produced()));
  }
  std::unique_ptr<Work> work;
  if (started > finished) {
    ASSIGN_OR_RETURN(work, Open(parsed.current_work()));
  }
  absl::MutexLock lock(&mu_);
  waiting_.clear();
  work_ = std::move(work);
  name_ = parsed.current_work();
  work_started_ = started;
  work_finished_ = finished;
  num_records_ = parsed.num_records_produced();
  failure_ = absl::OkStatus();
  return absl::OkStatus();
}

}  // namespace tessera
