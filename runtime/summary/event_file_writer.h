// EventFileWriter: writes event files, which TensorBoard shows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/file_descriptor.h"

namespace tensorflow {
class Event;
}  // namespace tensorflow

namespace tessera {

// Appends events to a file DIRECTORY/events.out.tfevents.SECONDS.HOST[SUFFIX], a TFRecord of
// serialized tensorflow.Event messages whose first one names the version of the format.
//
//   ASSIGN_OR_RETURN(auto writer, EventFileWriter::Create("/logs/run1", {}));
//   tensorflow::Event event;
//   event.set_wall_time(...); event.set_step(1); ... event.mutable_summary() ...
//   RETURN_IF_ERROR(writer->Write(event));
//   RETURN_IF_ERROR(writer->Flush());
//
// Events are kept in memory until there are more than `max_queue`, `flush_interval` has passed,
// Flush() is called, or the writer is destroyed. The file ends with a whole record at any time that
// a write does not run: what a failed write left behind is cut off. Thread-safe.
class EventFileWriter {
 public:
  struct Options {
    int max_queue = 10;  // events
    absl::Duration flush_interval = absl::Minutes(2);
    std::string suffix;
  };

  // Creates the directory if it is missing, and the file. A file that is there is left alone: its
  // successor gets a number. Errors: those of CreateDirectories() and open().
  static absl::StatusOr<std::unique_ptr<EventFileWriter>> Create(const std::string& directory,
                                                                 const Options& options);
  // Flushes; an error is logged.
  ~EventFileWriter();

  // Errors: those of Flush(), if events are written out.
  absl::Status Write(const tensorflow::Event& event);
  // Takes a serialized Event.
  absl::Status WriteSerialized(absl::string_view event);
  // Writes all events to the file. After an error these events are lost, and later ones are
  // written if they can be. Errors: those of write(), such as RESOURCE_EXHAUSTED on a full disk.
  absl::Status Flush();

  const std::string& path() const { return path_; }

 private:
  EventFileWriter(std::string path, int fd, const Options& options);
  absl::Status FlushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string path_;
  const Options options_;
  absl::Mutex mu_;
  const FileDescriptor file_;
  std::string pending_ ABSL_GUARDED_BY(mu_);  // records
  int num_pending_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t size_ ABSL_GUARDED_BY(mu_) = 0;  // bytes of whole records in the file
  absl::Time last_flush_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
