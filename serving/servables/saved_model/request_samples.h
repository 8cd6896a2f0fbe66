// RequestSamples: a few of the requests that a signature was asked.
#pragma once

#include <atomic>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"
#include "serving/servables/saved_model/append_only_list.h"

namespace tessera::serving {

// Keeps the first request of each combination of input shapes, so of each batch size, and outputs:
// what a later version will be asked too, and had better be warm for.
//
// Thread-safe. Offering what is known, or anything once kMaxSamples are kept, takes no lock.
class RequestSamples {
 public:
  static constexpr int kMaxSamples = 8;
  // Of larger requests the shapes alone are kept.
  static constexpr size_t kMaxBytes = 64 << 10;

  void Offer(absl::Span<const int> outputs, absl::Span<const Tensor> feeds);
  // Latest first. Feeds of which the values are not kept are zeros and empty strings.
  void ForEach(absl::FunctionRef<void(absl::Span<const int> outputs, std::vector<Tensor> feeds)>
                   visit) const;

 private:
  struct Feed {
    DType dtype;
    Shape shape;
    Tensor value;  // none for a large one
  };
  struct Sample {
    absl::InlinedVector<int, 8> outputs;
    std::vector<Feed> feeds;
  };

  static bool IsLike(const Sample& sample, absl::Span<const int> outputs,
                     absl::Span<const Tensor> feeds);

  absl::Mutex mu_;
  AppendOnlyList<Sample> samples_;  // added to under mu_
  std::atomic<bool> is_full_{false};
};

}  // namespace tessera::serving
