#include "runtime/framework/op_library.h"

#include <dlfcn.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/op.h"

namespace tessera {
namespace {

std::set<std::string> RegisteredOps() {
  std::set<std::string> names;
  for (const OpDef* op : OpRegistry::Global().All()) names.insert(op->name);
  return names;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadOpLibrary(const std::string& path) {
  static absl::Mutex* const mu = new absl::Mutex;
  absl::MutexLock lock(mu);
  const std::set<std::string> before = RegisteredOps();
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot load op library ", path, ": ", dlerror(),
                     "; it must be a shared library built against this server's headers"));
  }
  std::vector<std::string> added;
  for (const std::string& name : RegisteredOps()) {
    if (!before.contains(name)) added.push_back(name);
  }
  return added;
}

}  // namespace tessera
