// The resource behind v1 readers: records of files whose names come out of a queue.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/tensor/resource_handle.h"

namespace tessera {

// Reads records one after the other. A unit of work is the name of a file; a subclass says how its
// records are read. Thread-safe.
//
//   reader->AddWork("a.txt");
//   ASSIGN_OR_RETURN(const int64_t count, reader->Read(10, &records));
//   if (count == 0) ...  // more work is needed
class RecordReader : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "reader";

  struct Record {
    std::string key;  // where it is from, such as "FILE:LINE"
    std::string value;
  };

  // The records of one unit of work.
  class Work {
   public:
    virtual ~Work() = default;
    // Returns nothing at the end.
    virtual absl::StatusOr<std::optional<Record>> Next() = 0;
    // True if it is known that nothing comes any more.
    virtual bool AtEnd() const { return false; }
  };

  // Adds a unit of work behind those that are there.
  void AddWork(std::string name);
  // Appends up to `count` records of one unit of work to *records and returns true, or returns
  // false if there is no work left.
  // Errors: those of opening a file, which is left out then; those of reading, from then on.
  absl::StatusOr<bool> Read(int64_t count, std::vector<Record>* records);

  int64_t num_records_produced() const;
  int64_t num_work_units_completed() const;
  // Forgets all work and starts counting anew.
  void Reset();
  // Whether the position can be saved.
  virtual bool HasState() const { return false; }
  // The position as TensorFlow's ReaderBaseState. Errors: UNIMPLEMENTED unless HasState().
  absl::StatusOr<std::string> SerializeState() const;
  // Errors: likewise; INVALID_ARGUMENT for what is no state.
  absl::Status RestoreState(const std::string& state);

  std::string DebugString() const override { return "reader"; }

 protected:
  virtual absl::StatusOr<std::unique_ptr<Work>> Open(const std::string& name) const = 0;

 private:
  mutable absl::Mutex mu_;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Work> work_ ABSL_GUARDED_BY(mu_);  // null: none is under way
  std::string name_ ABSL_GUARDED_BY(mu_);            // of the latest work
  int64_t work_started_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t work_finished_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_records_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
