// MemoryBudget: what versions take, and whether one more fits.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// Bytes that a version takes, roughly.
struct MemoryEstimate {
  // Of files that are mapped: processes that serve the same files share them, and the kernel can
  // drop and read them again.
  int64_t mapped = 0;
  // The rest: graph, packed weights, buffers.
  int64_t heap = 0;

  int64_t total() const { return mapped + heap; }
};

// "512 B", "1.5 GiB".
std::string BytesText(int64_t bytes);

// Counts the estimates of what is loaded against a limit. Mapped files count like the rest: what a
// model computes with must stay in memory, or each request waits for the disk.
//
//   MemoryBudget budget(int64_t{8} << 30);
//   RETURN_IF_ERROR(budget.Reserve(id, estimate));
//   ... load; when it failed, or was unloaded:
//   budget.Release(id);
//
// Thread-safe.
class MemoryBudget {
 public:
  // In bytes; 0 or less: no limit.
  explicit MemoryBudget(int64_t limit) : limit_(limit) {}

  // Requires that nothing is reserved for `id`.
  // Errors: RESOURCE_EXHAUSTED with what is missing and what helps; then nothing is reserved.
  absl::Status Reserve(const ServableId& id, const MemoryEstimate& estimate);
  void Release(const ServableId& id);
  // Whether Reserve() would succeed now.
  bool Fits(const MemoryEstimate& estimate) const;
  int64_t in_use() const;
  // What is reserved now, and for whom.
  std::map<ServableId, MemoryEstimate> reserved() const;

 private:
  bool FitsLocked(const MemoryEstimate& estimate) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int64_t limit_;
  mutable absl::Mutex mu_;
  int64_t in_use_ ABSL_GUARDED_BY(mu_) = 0;  // the sum of reserved_
  std::map<ServableId, MemoryEstimate> reserved_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
