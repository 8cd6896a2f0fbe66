// MemoryBudget: the memory that loaded versions take, and whether another version fits.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// Rough number of bytes that a version takes.
struct MemoryEstimate {
  // Bytes of mapped files. Processes that serve the same files share them, and the kernel can drop
  // them and read them again.
  int64_t mapped = 0;
  // All other memory: the graph, packed weights, buffers.
  int64_t heap = 0;

  int64_t total() const { return mapped + heap; }
};

// Formats a number of bytes: "512 B", "1.5 GiB".
std::string BytesText(int64_t bytes);

// Counts the estimates of loaded versions against a limit. Mapped files count like all other
// memory, because weights that do not stay in memory make each request wait for the disk.
//
//   MemoryBudget budget(int64_t{8} << 30);
//   RETURN_IF_ERROR(budget.Reserve(id, estimate));
//   ... load the version; after it has been unloaded, or the load has failed:
//   budget.Release(id);
//
// Thread-safe.
class MemoryBudget {
 public:
  // `limit` is in bytes; there is none if it is 0 or less.
  explicit MemoryBudget(int64_t limit) : limit_(limit) {}

  // Requires that nothing is reserved for `id`.
  // Errors: RESOURCE_EXHAUSTED, saying how much is missing and what helps; nothing is reserved
  // then.
  absl::Status Reserve(const ServableId& id, const MemoryEstimate& estimate);
  void Release(const ServableId& id);
  // Returns true if Reserve() would succeed now.
  bool Fits(const MemoryEstimate& estimate) const;
  int64_t in_use() const;
  // Returns the reservations there are now, by version.
  std::map<ServableId, MemoryEstimate> reserved() const;

 private:
  bool FitsLocked(const MemoryEstimate& estimate) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int64_t limit_;
  mutable absl::Mutex mu_;
  int64_t in_use_ ABSL_GUARDED_BY(mu_) = 0;  // the sum of reserved_
  std::map<ServableId, MemoryEstimate> reserved_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
