#include "runtime/summary/event_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "runtime/base/append_whole.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/base/tf_record.h"
#include "tensorflow/core/util/event.pb.h"

namespace tessera {
namespace {

constexpr char kFileVersion[] = "brain.Event:2";
// Files of one directory, host and second.
constexpr int kMaxFilesASecond = 1000;

std::string HostName() {
  char name[256] = "";
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventFileWriter>> EventFileWriter::Create(
    const std::string& directory, const Options& options) {
  RETURN_IF_ERROR(CreateDirectories(directory));
  const absl::Time now = absl::Now();
  const std::string name = JoinPath(
      directory,
      absl::StrFormat("events.out.tfevents.%010d.%s", absl::ToUnixSeconds(now), HostName()));
  for (int i = 0; i < kMaxFilesASecond; ++i) {
    std::string path = absl::StrCat(name, i == 0 ? "" : absl::StrCat(".", i), options.suffix);
    const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return ErrnoStatus(errno, "create", path);
    std::unique_ptr<EventFileWriter> writer(new EventFileWriter(std::move(path), fd, options));
    tensorflow::Event version;
    version.set_wall_time(absl::ToDoubleSeconds(now - absl::UnixEpoch()));
    version.set_file_version(kFileVersion);
    RETURN_IF_ERROR(writer->Write(version));
    RETURN_IF_ERROR(writer->Flush());
    return writer;
  }
  return absl::AlreadyExistsError(
      absl::StrCat("'", name, "' and ", kMaxFilesASecond - 1, " files like it are there"));
}

EventFileWriter::EventFileWriter(std::string path, int fd, const Options& options)
    : path_(std::move(path)), options_(options), file_(fd), last_flush_(absl::Now()) {}

EventFileWriter::~EventFileWriter() {
  if (const absl::Status status = Flush(); !status.ok()) LOG(ERROR) << status;
}

absl::Status EventFileWriter::Write(const tensorflow::Event& event) {
  return WriteSerialized(event.SerializeAsString());
}

absl::Status EventFileWriter::WriteSerialized(absl::string_view event) {
  absl::MutexLock lock(&mu_);
  AppendTfRecord(event, &pending_);
  ++num_pending_;
  const bool is_due = absl::Now() - last_flush_ > options_.flush_interval;
  return num_pending_ > options_.max_queue || is_due ? FlushLocked() : absl::OkStatus();
}

absl::Status EventFileWriter::Flush() {
  absl::MutexLock lock(&mu_);
  return FlushLocked();
}

absl::Status EventFileWriter::FlushLocked() {
  last_flush_ = absl::Now();
  num_pending_ = 0;
  const std::string records = std::exchange(pending_, std::string());
  RETURN_IF_ERROR(AppendWhole(file_.get(), records, static_cast<off_t>(size_), path_));
  size_ += static_cast<int64_t>(records.size());
  return absl::OkStatus();
}

}  // namespace tessera
