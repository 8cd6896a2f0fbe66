// The attributes that Batch and BatchFunction have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/batching/batch_scheduler.h"

namespace tessera {

struct BatchingAttrs {
  // Makes the kernel fail for attributes that contradict each other.
  explicit BatchingAttrs(const KernelBuild& build);

  // Returns the scheduler that all kernels with this container and shared_name have.
  absl::StatusOr<IntrusivePtr<BatchScheduler>> Scheduler(const KernelContext& ctx) const;

  std::string container;
  std::string shared_name;  // the node's name if the attribute is empty
  std::string queue;        // batching_queue, or the node's name
  int num_threads = 1;
  int64_t max_batch_size = 1;  // of a task
  // Rising. Empty: batches are not padded.
  std::vector<int64_t> allowed_batch_sizes;
  bool splits_large_tasks = false;
  BatchQueueOptions options;  // its max_batch_rows is at most max_batch_size
};

}  // namespace tessera
