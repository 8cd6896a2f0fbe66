#include "runtime/host/share.h"

#include <algorithm>

namespace tessera {
namespace {

// How long a share counts as asked for after its last run. NoteRun() may be one tick behind.
constexpr int64_t kActive = 1'000'000'000;
// How long what GivesWay() found counts.
constexpr int64_t kLookAgain = 5'000'000;

}  // namespace

Share* Shares::Get(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<Share>& share = shares_[name];
  if (share == nullptr) share = std::make_unique<Share>();
  return share.get();
}

Share* Shares::Find(absl::string_view name) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto it = shares_.find(name);
  return it == shares_.end() ? nullptr : it->second.get();
}

bool Shares::GivesWay(const Share& share, int crowd, int64_t now) const {
  if (share.under_way() <= crowd) return false;
  if (now - share.looked_.load(std::memory_order_relaxed) < kLookAgain) {
    return share.gives_way_.load(std::memory_order_relaxed);
  }
  share.looked_.store(now, std::memory_order_relaxed);
  absl::ReaderMutexLock lock(&mu_);
  const bool gives_way = std::any_of(shares_.begin(), shares_.end(), [&](const auto& entry) {
    const Share& other = *entry.second;
    return &other != &share && now - other.last_run() < kActive && other.under_way() <= crowd &&
           other.weight() >= share.weight();
  });
  share.gives_way_.store(gives_way, std::memory_order_relaxed);
  return gives_way;
}

}  // namespace tessera
