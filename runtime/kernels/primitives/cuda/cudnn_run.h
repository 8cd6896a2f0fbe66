// Running cuDNN's graphs on the stream of a kernel context.
//
//   struct PoolProblem { ...; friend bool operator==(...); AbslHashValue(...) };
//   ASSIGN_OR_RETURN(const bool done, RunGraph(
//       ctx, problem, /*exact=*/false,
//       [&](const Cudnn& cudnn) { return DescribePool(cudnn, problem); }, bindings));
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cuda/cudnn_plan.h"

namespace tessera::cuda {

// True if cuDNN may be given the tensor's address.
inline bool IsAligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.address()) % kCudnnAlignment == 0;
}

// The plans of one GPU for problems of one kind, which all its streams share: making one may
// compile a kernel, for about a second. Thread-safe.
template <typename Problem>
class PlanCache {
 public:
  // cuDNN does not promise that a plan can be run by two threads at once: whoever runs it holds its
  // lock.
  struct Entry {
    absl::Mutex mu;
    bool is_made ABSL_GUARDED_BY(mu) = false;
    // None if cuDNN does not take the problem, or cannot describe it.
    std::optional<Descriptor> plan ABSL_GUARDED_BY(mu);
  };

  // Lives as long as the program, as CUDA's numbers of GPUs do.
  static PlanCache& Of(int gpu) {
    static absl::Mutex mu(absl::kConstInit);
    static auto* const caches = new absl::flat_hash_map<int, std::unique_ptr<PlanCache>>;
    absl::MutexLock lock(&mu);
    std::unique_ptr<PlanCache>& cache = (*caches)[gpu];
    if (cache == nullptr) cache = std::make_unique<PlanCache>();
    return *cache;
  }

  // Returns the entry of a problem, whose plan may have to be made.
  std::shared_ptr<Entry> Get(const Problem& problem) {
    absl::MutexLock lock(&mu_);
    if (entries_.size() >= kMaxPlans && !entries_.contains(problem)) entries_.clear();
    std::shared_ptr<Entry>& entry = entries_[problem];
    if (entry == nullptr) entry = std::make_shared<Entry>();
    return entry;
  }

 private:
  static constexpr size_t kMaxPlans = 1024;
  absl::Mutex mu_;
  absl::flat_hash_map<Problem, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);
};

// Enqueues the graph of a problem, after what `before` enqueues. Returns false, and calls nothing,
// if cuDNN does not take it. Errors: FAILED_PRECONDITION without cuDNN; INTERNAL.
template <typename Problem>
absl::StatusOr<bool> RunGraph(
    KernelContext& ctx, const Problem& problem, bool exact,
    absl::FunctionRef<absl::StatusOr<CudnnGraph>(const Cudnn& cudnn)> describe,
    const Bindings& bindings,
    absl::FunctionRef<absl::Status()> before = [] { return absl::OkStatus(); }) {
  ASSIGN_OR_RETURN(const Cudnn* cudnn, LoadCudnn());
  CudaStream& stream = CudaStream::Of(ctx);
  const auto entry = PlanCache<Problem>::Of(stream.gpu()).Get(problem);
  absl::MutexLock lock(&stream.library_mu());
  absl::MutexLock entry_lock(&entry->mu);
  ASSIGN_OR_RETURN(const cudnnHandle_t handle, stream.cudnn_handle());
  ASSIGN_OR_RETURN(const CudaStream::Workspace workspace, stream.workspace());
  if (!entry->is_made) {
    const absl::StatusOr<CudnnGraph> graph = describe(*cudnn);
    if (graph.ok()) {
      ASSIGN_OR_RETURN(entry->plan, ChoosePlan(*graph, {.handle = handle},
                                               {.exact = exact, .workspace_size = workspace.size}));
    } else {
      LOG(INFO) << "a kernel of this program computes what cuDNN refuses: " << graph.status();
    }
    entry->is_made = true;
  }
  if (!entry->plan.has_value()) return false;
  RETURN_IF_ERROR(before());
  RETURN_IF_ERROR(ExecutePlan(*cudnn, handle, *entry->plan, workspace.data, bindings));
  return true;
}

}  // namespace tessera::cuda
