#include "runtime/session/step_cache.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// The names sorted; positions[i] is where names[i] went. Equal names keep their order.
std::vector<std::string> Sorted(const std::vector<std::string>& names,
                                std::vector<int>* positions) {
  std::vector<int> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return names[a] < names[b]; });
  std::vector<std::string> sorted;
  positions->assign(names.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.push_back(names[order[i]]);
    (*positions)[order[i]] = static_cast<int>(i);
  }
  return sorted;
}

bool IsIdentity(const std::vector<int>& positions) {
  return std::is_sorted(positions.begin(), positions.end());
}

}  // namespace

std::string KeyOf(const RunSignature& signature) {
  std::string key;
  for (const auto* names : {&signature.feeds, &signature.fetches, &signature.targets}) {
    absl::StrAppend(&key, names->size(), ":");
    for (const std::string& name : *names) absl::StrAppend(&key, name.size(), ":", name);
  }
  return key;
}

std::shared_ptr<const OrderedStep> StepCache::Find(const std::string& key) const {
  absl::ReaderMutexLock lock(&mu_);
  auto it = by_order_.find(key);
  return it == by_order_.end() ? nullptr : it->second;
}

absl::StatusOr<std::shared_ptr<const OrderedStep>> StepCache::FindOrCompile(
    const RunSignature& signature, const Compile& compile) {
  const std::string key = KeyOf(signature);
  if (std::shared_ptr<const OrderedStep> found = Find(key)) return found;

  auto ordered = std::make_shared<OrderedStep>();
  RunSignature sorted;
  std::vector<int> ignored;
  sorted.feeds = Sorted(signature.feeds, &ordered->feeds);
  sorted.fetches = Sorted(signature.fetches, &ordered->fetches);
  sorted.targets = Sorted(signature.targets, &ignored);
  ordered->same_order = IsIdentity(ordered->feeds) && IsIdentity(ordered->fetches);
  const std::string sorted_key = KeyOf(sorted);

  absl::MutexLock compile_lock(&compile_mu_);
  {
    absl::ReaderMutexLock lock(&mu_);
    auto it = by_names_.find(sorted_key);
    if (it != by_names_.end()) ordered->step = it->second;
  }
  if (ordered->step == nullptr) {
    ASSIGN_OR_RETURN(ordered->step, compile(sorted));
  }
  absl::MutexLock lock(&mu_);
  by_names_.emplace(sorted_key, ordered->step);
  if (by_order_.size() < kMaxOrders) by_order_.emplace(key, ordered);
  return std::shared_ptr<const OrderedStep>(std::move(ordered));
}

}  // namespace tessera
