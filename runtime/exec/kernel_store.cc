#include "runtime/exec/kernel_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

bool NamesFunctions(const AttrMap& attrs) {
  for (const auto& [name, value] : attrs) {
    if (value.get<FunctionRef>() != nullptr || value.get<std::vector<FunctionRef>>() != nullptr) {
      return true;
    }
  }
  return false;
}

std::string KeyOf(const Node& node, const Device* device) {
  std::string key = absl::StrCat(node.name(), "\n", node.op_name(), "\n",
                                 device == nullptr ? "" : device->full_name());
  for (const auto& [name, value] : node.attrs()) {
    // Attributes of the system (colocation, inferred shapes) do not change what a kernel does.
    if (!name.empty() && name[0] != '_') absl::StrAppend(&key, "\n", name, "=", value.ToString());
  }
  return key;
}

}  // namespace

absl::StatusOr<std::shared_ptr<OpKernel>> KernelStore::FindOrMake(
    const Node& node, const Device* device,
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<OpKernel>>()> make) {
  if (NamesFunctions(node.attrs())) {
    ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, make());
    return std::shared_ptr<OpKernel>(std::move(kernel));
  }
  const std::string key = KeyOf(node, device);
  {
    absl::MutexLock lock(&mu_);
    auto it = kernels_.find(key);
    if (it != kernels_.end()) return it->second;
  }
  // Made outside the lock: a constructor may take long, or compile functions. If two executors race
  // for one node, the first kernel counts.
  ASSIGN_OR_RETURN(std::shared_ptr<OpKernel> kernel, make());
  absl::MutexLock lock(&mu_);
  return kernels_.emplace(key, std::move(kernel)).first->second;
}

}  // namespace tessera
