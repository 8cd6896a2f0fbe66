// JoinedParts: tensors that come one after the other, in any order and from any thread, as one.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/kernels/batching/batch_rows.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Takes the same number of tensors from each part, and joins the rows of all parts in their order.
// Thread-safe.
class JoinedParts {
 public:
  using Done = std::function<void(absl::StatusOr<std::vector<Tensor>>)>;

  // `done` is called once, when the last part has come: with the joined tensors, or with the first
  // error of a part. Requires a part at least. `allocator` gives host memory for the joined ones.
  JoinedParts(size_t num_parts, Allocator* allocator, Done done)
      : allocator_(allocator), parts_(num_parts), num_missing_(num_parts), done_(std::move(done)) {}

  // Must be called once for each part.
  void Put(size_t part, absl::StatusOr<std::vector<Tensor>> tensors) {
    {
      absl::MutexLock lock(&mu_);
      if (tensors.ok()) {
        parts_[part] = *std::move(tensors);
      } else if (first_error_.ok()) {
        first_error_ = tensors.status();
      }
      if (--num_missing_ > 0) return;
    }
    done_(Join());
  }

 private:
  absl::StatusOr<std::vector<Tensor>> Join() {
    absl::MutexLock lock(&mu_);
    RETURN_IF_ERROR(first_error_);
    std::vector<Tensor> joined;
    for (size_t i = 0; i < parts_.front().size(); ++i) {
      std::vector<Tensor> rows;
      for (const std::vector<Tensor>& part : parts_) rows.push_back(part[i]);
      ASSIGN_OR_RETURN(Tensor tensor, JoinRows(rows, /*padding=*/0, allocator_));
      joined.push_back(std::move(tensor));
    }
    return joined;
  }

  Allocator* const allocator_;
  absl::Mutex mu_;
  std::vector<std::vector<Tensor>> parts_ ABSL_GUARDED_BY(mu_);
  size_t num_missing_ ABSL_GUARDED_BY(mu_);
  absl::Status first_error_ ABSL_GUARDED_BY(mu_);
  const Done done_;
};

}  // namespace tessera
