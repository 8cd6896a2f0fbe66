// The resource behind iterator handles.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/data/dataset.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/data/step_mutex.h"
#include "runtime/tensor/resource_handle.h"

namespace tessera {

// An iterator that outlives steps, and can be pointed at one dataset after another. Thread-safe:
// calls take turns. One that has a step waits for its turn as long as the step lasts, and has its
// error, CANCELLED or DEADLINE_EXCEEDED, after that.
class IteratorResource : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "iterator";

  explicit IteratorResource(ElementSpec spec) : spec_(std::move(spec)) {}

  const ElementSpec& spec() const { return spec_; }
  // Starts at the beginning of `dataset`.
  // Errors: INVALID_ARGUMENT unless its elements fit the spec.
  absl::Status Start(const StepContext& step, DatasetPtr dataset);
  // Does the same with what `make` gives, unless some dataset is there.
  absl::Status StartOnce(const StepContext& step,
                         absl::FunctionRef<absl::StatusOr<DatasetPtr>()> make);
  // Forgets the dataset.
  absl::Status Stop(const StepContext& step);

  // Errors: FAILED_PRECONDITION if there is no dataset; those of the iterator.
  absl::StatusOr<bool> Next(StepContext& step, Element* element);
  // Waits for elements that are being made as long as `waits` lasts. Errors: FAILED_PRECONDITION if
  // there is no dataset; those of Iterator::Transfer().
  absl::StatusOr<std::shared_ptr<IteratorState>> Save(const StepContext& waits);
  // After an error the iterator is where it was. Errors: FAILED_PRECONDITION if there is no
  // dataset; those of Iterator::Transfer().
  absl::Status Restore(StepContext& step, const IteratorState& state);

  // How far the iterator is behind the beginning of its dataset, or the position that was restored.
  struct Progress {
    int64_t taken = 0;  // calls of Next() that had no error
    // False if a call had an error, which may have lost elements, or if DropFirst() is not done
    // yet.
    bool is_whole = true;
  };
  Progress progress() const;
  // Has the next call of Next() leave out this many elements before its own. They do not count.
  void DropFirst(int64_t count);

  std::string DebugString() const override { return "iterator"; }

 private:
  struct Walk {
    DatasetPtr dataset;
    std::unique_ptr<Iterator> iterator;
    int64_t taken = 0, to_drop = 0;
    bool had_error = false;
  };
  absl::Status CheckStarted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status StartLocked(DatasetPtr dataset, Walk* old) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ElementSpec spec_;
  mutable StepMutex mu_;
  Walk walk_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
