#include "runtime/session/unused_variables.h"

#include "runtime/host/mapping_guard.h"

namespace tessera {
namespace {

// The pages of smaller tensors are not worth a system call.
constexpr size_t kMinReleasedSize = 64 << 10;

}  // namespace

void ReleaseUnusedVariables(const ResourceManager& resources) {
  resources.ForEach(
      [](const std::string&, const std::string&, const std::string&, Resource& resource) {
        auto* const variable = dynamic_cast<Variable*>(&resource);
        if (variable == nullptr) return;
        variable
            ->Update([](Tensor& value) {
              if (value.has_value() && value.total_bytes() >= kMinReleasedSize &&
                  value.buffer()->HasOneOwner()) {
                ReleaseMappedPages({value.raw(), value.total_bytes()});
              }
              return absl::OkStatus();
            })
            .IgnoreError();
      });
}

}  // namespace tessera
