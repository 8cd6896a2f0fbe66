// The resource behind iterator handles.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/data/dataset.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/tensor/resource_handle.h"

namespace tessera {

// An iterator that outlives steps, and can be pointed at one dataset after another. Thread-safe:
// calls take turns.
class IteratorResource : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "iterator";

  explicit IteratorResource(ElementSpec spec) : spec_(std::move(spec)) {}

  const ElementSpec& spec() const { return spec_; }
  // Starts at the beginning of `dataset`.
  // Errors: INVALID_ARGUMENT unless its elements fit the spec.
  absl::Status Start(DatasetPtr dataset);
  // Does the same with what `make` gives, unless some dataset is there.
  absl::Status StartOnce(absl::FunctionRef<absl::StatusOr<DatasetPtr>()> make);
  // Forgets the dataset.
  void Stop();

  // Errors: FAILED_PRECONDITION if there is no dataset; those of the iterator.
  absl::StatusOr<bool> Next(StepContext& step, Element* element);
  absl::StatusOr<std::shared_ptr<IteratorState>> Save();
  // After an error the iterator is where it was. Errors: FAILED_PRECONDITION if there is no
  // dataset; those of Iterator::Transfer().
  absl::Status Restore(StepContext& step, const IteratorState& state);

  std::string DebugString() const override { return "iterator"; }

 private:
  struct Walk {
    DatasetPtr dataset;
    std::unique_ptr<Iterator> iterator;
  };
  absl::Status CheckStarted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status StartLocked(DatasetPtr dataset, Walk* old) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ElementSpec spec_;
  absl::Mutex mu_;
  Walk walk_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
