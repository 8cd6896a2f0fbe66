#include "runtime/host/share.h"

namespace tessera {

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

}  // namespace tessera
