#include "serving/core/memory_budget.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tessera::serving {

std::string BytesText(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return absl::StrFormat("%.*f %s", value < 10 ? 1 : 0, value, unit);
}

absl::Status MemoryBudget::Reserve(const ServableId& id, const MemoryEstimate& estimate) {
  absl::MutexLock lock(&mu_);
  if (FitsLocked(estimate)) {
    in_use_ += estimate.total();
    reserved_[id] = estimate;
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "Insufficient resources to load servable ", id.ToString(), ": it takes about ",
      BytesText(estimate.total()), " (", BytesText(estimate.mapped), " of mapped files, ",
      BytesText(estimate.heap), " besides), and versions that are loaded take ", BytesText(in_use_),
      " of the limit of ", BytesText(limit_),
      ". Raise --memory_limit, or serve fewer versions; it is loaded once there is room"));
}

void MemoryBudget::Release(const ServableId& id) {
  absl::MutexLock lock(&mu_);
  auto it = reserved_.find(id);
  if (it == reserved_.end()) return;
  in_use_ -= it->second.total();
  reserved_.erase(it);
}

std::map<ServableId, MemoryEstimate> MemoryBudget::reserved() const {
  absl::MutexLock lock(&mu_);
  return reserved_;
}

bool MemoryBudget::Fits(const MemoryEstimate& estimate) const {
  absl::MutexLock lock(&mu_);
  return FitsLocked(estimate);
}

int64_t MemoryBudget::in_use() const {
  absl::MutexLock lock(&mu_);
  return in_use_;
}

// Subtracts, because a sum with the estimate of a loader could overflow.
bool MemoryBudget::FitsLocked(const MemoryEstimate& estimate) const {
  return limit_ <= 0 || estimate.total() <= limit_ - in_use_;
}

}  // namespace tessera::serving
