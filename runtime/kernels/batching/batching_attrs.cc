#include "runtime/kernels/batching/batching_attrs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

absl::Status CheckSizes(const BatchingAttrs& attrs) {
  if (attrs.max_batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_batch_size must be positive, is ", attrs.max_batch_size));
  }
  const std::vector<int64_t>& sizes = attrs.allowed_batch_sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > (i == 0 ? 0 : sizes[i - 1])) continue;
    return absl::InvalidArgumentError(
        "allowed_batch_sizes entries must be positive and monotonically increasing");
  }
  if (sizes.empty() || sizes.back() == attrs.max_batch_size) return absl::OkStatus();
  if (attrs.splits_large_tasks && sizes.back() < attrs.max_batch_size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the last entry in allowed_batch_sizes, ", sizes.back(), ", must ",
      attrs.splits_large_tasks ? "be at most" : "equal", " max_batch_size, ", attrs.max_batch_size,
      ", when enable_large_batch_splitting is ", attrs.splits_large_tasks ? "true" : "false"));
}

}  // namespace

BatchingAttrs::BatchingAttrs(const KernelBuild& build)
    : container(build.attr<std::string>("container")),
      shared_name(build.attr<std::string>("shared_name")),
      queue(build.attr<std::string>("batching_queue")),
      max_batch_size(build.attr<int64_t>("max_batch_size")),
      allowed_batch_sizes(build.attr<std::vector<int64_t>>("allowed_batch_sizes")),
      splits_large_tasks(build.has_attr("enable_large_batch_splitting") &&
                         build.attr<bool>("enable_large_batch_splitting")) {
  if (shared_name.empty()) shared_name = build.node_name();
  if (queue.empty()) queue = build.node_name();
  const int64_t threads = build.attr<int64_t>("num_batch_threads");
  const int64_t timeout = build.attr<int64_t>("batch_timeout_micros");
  options.max_enqueued_batches = build.attr<int64_t>("max_enqueued_batches");
  if (threads > BatchScheduler::kMaxThreads) {
    build.Fail(absl::InvalidArgumentError(absl::StrCat(
        "num_batch_threads must be at most ", BatchScheduler::kMaxThreads, ", is ", threads)));
  }
  if (timeout < 0 || options.max_enqueued_batches < 1) {
    build.Fail(absl::InvalidArgumentError(
        "batch_timeout_micros must not be negative, and max_enqueued_batches must be positive"));
  }
  build.Fail(CheckSizes(*this));
  // 0 stands for as many as are good.
  num_threads = threads > 0 ? static_cast<int>(threads) : AvailableCores();
  options.timeout = absl::Microseconds(timeout);
  options.max_batch_rows = splits_large_tasks && !allowed_batch_sizes.empty()
                               ? allowed_batch_sizes.back()
                               : max_batch_size;
}

absl::StatusOr<IntrusivePtr<BatchScheduler>> BatchingAttrs::Scheduler(
    const KernelContext& ctx) const {
  ASSIGN_OR_RETURN(const IntrusivePtr<Resource> resource,
                   ctx.resources().LookupOrCreate(
                       container, BatchScheduler::kTypeName, shared_name,
                       [this]() -> absl::StatusOr<IntrusivePtr<Resource>> {
                         return IntrusivePtr<Resource>(new BatchScheduler(num_threads));
                       }));
  return IntrusivePtr<BatchScheduler>(static_cast<BatchScheduler*>(resource.get()));
}

}  // namespace tessera
