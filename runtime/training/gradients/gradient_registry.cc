#include "runtime/training/gradients/gradient_registry.h"

#include "absl/container/flat_hash_map.h"
#include "runtime/base/logging.h"

namespace tessera {
namespace {

using Registry = absl::flat_hash_map<absl::string_view, GradientFunction>;

// Static initialisers fill it before main, and nobody changes it later.
Registry& Gradients() {
  static Registry* registry = new Registry;
  return *registry;
}

}  // namespace

GradientRegistration::GradientRegistration(absl::string_view op, GradientFunction function) {
  CHECK(Gradients().emplace(op, function).second) << "two gradients of op " << op;
}

bool FindGradient(absl::string_view op, GradientFunction* function) {
  const auto found = Gradients().find(op);
  if (found == Gradients().end()) return false;
  *function = found->second;
  return true;
}

}  // namespace tessera
