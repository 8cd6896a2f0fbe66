// RequestSamples: keeps a few of the requests to a signature.
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

// Keeps the first request of each combination of input shapes, and thus of each batch size, and of
// outputs. The next version is warmed up with them, because it will be asked the same.
//
// Thread-safe. Offering a request takes no lock if its combination is known, or if kMaxSamples are
// kept already.
class RequestSamples {
 public:
  static constexpr int kMaxSamples = 8;
  // Requests that are larger than this are kept as their shapes alone.
  static constexpr size_t kMaxBytes = 64 << 10;

  void Offer(absl::Span<const int> outputs, absl::Span<const Tensor> feeds);
  // Returns the samples, latest first. Feeds whose values are not kept are zeros and empty strings.
  void ForEach(absl::FunctionRef<void(absl::Span<const int> outputs, std::vector<Tensor> feeds)>
                   visit) const;

 private:
  struct Feed {
    DType dtype;
    Shape shape;
    Tensor value;  // has no value if the request was large
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
