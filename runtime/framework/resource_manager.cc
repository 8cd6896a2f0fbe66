#include "runtime/framework/resource_manager.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

constexpr absl::string_view kDefaultContainer = "localhost";

std::string ContainerName(absl::string_view container) {
  return std::string(container.empty() ? kDefaultContainer : container);
}

}  // namespace

ResourceManager::~ResourceManager() {
  // A resource may look for others when it dies.
  absl::flat_hash_map<Key, IntrusivePtr<Resource>> doomed;
  absl::MutexLock lock(&mu_);
  doomed.swap(resources_);
}

absl::Status ResourceManager::Create(absl::string_view container, absl::string_view type_name,
                                     absl::string_view name, IntrusivePtr<Resource> resource) {
  Key key{ContainerName(container), std::string(type_name), std::string(name)};
  absl::MutexLock lock(&mu_);
  if (!resources_.emplace(key, std::move(resource)).second) {
    return absl::AlreadyExistsError(absl::StrCat("there is a ", type_name, " '", name,
                                                 "' in container '", key.container, "' already"));
  }
  return absl::OkStatus();
}

absl::StatusOr<IntrusivePtr<Resource>> ResourceManager::Lookup(absl::string_view container,
                                                               absl::string_view type_name,
                                                               absl::string_view name) const {
  Key key{ContainerName(container), std::string(type_name), std::string(name)};
  absl::ReaderMutexLock lock(&mu_);
  auto it = resources_.find(key);
  if (it == resources_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no ", type_name, " '", name,
                                            "' in container '", key.container,
                                            "': it was not created yet, or was deleted"));
  }
  return it->second;
}

absl::StatusOr<IntrusivePtr<Resource>> ResourceManager::LookupOrCreate(
    absl::string_view container, absl::string_view type_name, absl::string_view name,
    const std::function<absl::StatusOr<IntrusivePtr<Resource>>()>& make) {
  Key key{ContainerName(container), std::string(type_name), std::string(name)};
  {
    absl::ReaderMutexLock lock(&mu_);
    if (auto it = resources_.find(key); it != resources_.end()) return it->second;
  }
  absl::MutexLock lock(&mu_);
  if (auto it = resources_.find(key); it != resources_.end()) return it->second;
  absl::StatusOr<IntrusivePtr<Resource>> made = make();
  if (made.ok()) resources_.emplace(std::move(key), *made);
  return made;
}

absl::Status ResourceManager::Delete(absl::string_view container, absl::string_view type_name,
                                     absl::string_view name) {
  Key key{ContainerName(container), std::string(type_name), std::string(name)};
  IntrusivePtr<Resource> doomed;  // dies after the lock is dropped
  absl::MutexLock lock(&mu_);
  auto it = resources_.find(key);
  if (it == resources_.end()) {
    return absl::NotFoundError(absl::StrCat("there is no ", type_name, " '", name,
                                            "' in container '", key.container, "' to delete"));
  }
  doomed = std::move(it->second);
  resources_.erase(it);
  return absl::OkStatus();
}

void ResourceManager::ForEach(
    const std::function<void(const std::string&, const std::string&, const std::string&,
                             Resource&)>& visit) const {
  std::vector<std::pair<Key, IntrusivePtr<Resource>>> all;
  {
    absl::ReaderMutexLock lock(&mu_);
    all.assign(resources_.begin(), resources_.end());
  }
  for (auto& [key, resource] : all) visit(key.container, key.type_name, key.name, *resource);
}

std::string Variable::DebugString() const {
  return absl::StrCat("variable ", DTypeName(dtype_), shape_.ToString());
}

}  // namespace tessera
