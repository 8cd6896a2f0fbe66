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

// The plans of one device for problems of one kind. A device has one stream, whose library_mu()
// guards its plans.
template <typename Problem>
class PlanCache {
 public:
  static std::shared_ptr<PlanCache> Of(const Device& device) {
    // So many devices keep their plans. Those of more are made anew.
    constexpr size_t kMaxDevices = 64;
    static absl::Mutex mu(absl::kConstInit);
    static auto* const caches = new absl::flat_hash_map<uint64_t, std::shared_ptr<PlanCache>>;
    absl::MutexLock lock(&mu);
    if (caches->size() > kMaxDevices) caches->clear();
    std::shared_ptr<PlanCache>& entry = (*caches)[device.incarnation()];
    if (entry == nullptr) entry = std::make_shared<PlanCache>();
    return entry;
  }

  using Describe = absl::FunctionRef<absl::StatusOr<CudnnGraph>(const Cudnn& cudnn)>;
  // Returns the plan of a problem, which is chosen when it is first asked for; null if cuDNN does
  // not take it, or cannot describe it. Valid until the next call.
  absl::StatusOr<const Descriptor*> Get(const Problem& problem, const Cudnn& cudnn,
                                        Describe describe, const PlanTarget& target,
                                        const PlanLimits& limits) {
    auto it = plans_.find(problem);
    if (it == plans_.end()) {
      if (plans_.size() >= kMaxPlans) plans_.clear();
      std::optional<Descriptor> plan;
      const absl::StatusOr<CudnnGraph> graph = describe(cudnn);
      if (graph.ok()) {
        ASSIGN_OR_RETURN(plan, ChoosePlan(*graph, target, limits));
      } else {
        LOG(INFO) << "a kernel of this program computes what cuDNN refuses: " << graph.status();
      }
      it = plans_.emplace(problem, std::move(plan)).first;
    }
    return it->second.has_value() ? &*it->second : nullptr;
  }

 private:
  static constexpr size_t kMaxPlans = 512;
  // Without a descriptor: cuDNN does not take the problem.
  absl::flat_hash_map<Problem, std::optional<Descriptor>> plans_;
};

// Enqueues the graph of a problem, after what `before` enqueues. Returns false, and calls nothing,
// if cuDNN does not take it. Errors: FAILED_PRECONDITION without cuDNN; INTERNAL.
template <typename Problem>
absl::StatusOr<bool> RunGraph(
    KernelContext& ctx, const Problem& problem, bool exact,
    typename PlanCache<Problem>::Describe describe, const Bindings& bindings,
    absl::FunctionRef<absl::Status()> before = [] { return absl::OkStatus(); }) {
  ASSIGN_OR_RETURN(const Cudnn* cudnn, LoadCudnn());
  CudaStream& stream = CudaStream::Of(ctx);
  absl::MutexLock lock(&stream.library_mu());
  ASSIGN_OR_RETURN(const cudnnHandle_t handle, stream.cudnn_handle());
  ASSIGN_OR_RETURN(const CudaStream::Workspace workspace, stream.workspace());
  const auto cache = PlanCache<Problem>::Of(*ctx.device());
  ASSIGN_OR_RETURN(const Descriptor* plan,
                   cache->Get(problem, *cudnn, describe, {.handle = handle},
                              {.exact = exact, .workspace_size = workspace.size}));
  if (plan == nullptr) return false;
  RETURN_IF_ERROR(before());
  RETURN_IF_ERROR(ExecutePlan(*cudnn, handle, *plan, workspace.data, bindings));
  return true;
}

}  // namespace tessera::cuda
