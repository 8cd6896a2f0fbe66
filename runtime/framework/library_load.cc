#include "runtime/framework/library_load.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

thread_local LibraryLoad* current = nullptr;

}  // namespace

LibraryLoad::LibraryLoad() { current = this; }
LibraryLoad::~LibraryLoad() { current = nullptr; }

LibraryLoad* LibraryLoad::Current() { return current; }

absl::StatusOr<std::vector<std::string>> LibraryLoad::Apply() {
  std::set<std::string> names;
  for (const OpBuilder& op : ops_) {
    if (OpRegistry::Global().Find(op.name()) != nullptr) {
      return absl::AlreadyExistsError(
          absl::StrCat("op '", op.name(), "' is declared already; give the op another name"));
    }
    if (!names.insert(op.name()).second) {
      return absl::AlreadyExistsError(absl::StrCat("op '", op.name(), "' is declared twice"));
    }
  }
  for (OpBuilder& op : ops_) RETURN_IF_ERROR(OpRegistry::Global().Register(std::move(op)));
  for (const std::function<void()>& add : kernels_) add();
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace tessera
