// Checkpoints that stay open until the step ends, or until one of its ops writes a checkpoint.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The type names of the step's resources, one for each kind of reader.
inline constexpr char kOpenCheckpoint[] = "open_checkpoint";
inline constexpr char kOpenCheckpointV1[] = "open_checkpoint_v1";

// An open checkpoint: graphs with a restore op for each variable parse its index once, and the data
// files are mapped once.
template <typename Reader>
class OpenCheckpoint final : public Resource {
 public:
  explicit OpenCheckpoint(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
  const Reader& reader() const { return *reader_; }
  std::string DebugString() const override { return "open checkpoint"; }

 private:
  const std::unique_ptr<Reader> reader_;
};

// Returns what Reader::Open(name) has opened in this step. `type_name` is that of the Reader.
template <typename Reader>
absl::StatusOr<IntrusivePtr<OpenCheckpoint<Reader>>> OpenForStep(const KernelContext& ctx,
                                                                 absl::string_view type_name,
                                                                 const std::string& name) {
  auto open = [&name]() -> absl::StatusOr<IntrusivePtr<Resource>> {
    ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, Reader::Open(name));
    return IntrusivePtr<Resource>(MakeRefCounted<OpenCheckpoint<Reader>>(std::move(reader)));
  };
  IntrusivePtr<Resource> resource;
  if (ctx.step().step_resources == nullptr) {
    ASSIGN_OR_RETURN(resource, open());
  } else {
    ASSIGN_OR_RETURN(resource,
                     ctx.step().step_resources->LookupOrCreate("", type_name, name, open));
  }
  return IntrusivePtr<OpenCheckpoint<Reader>>(static_cast<OpenCheckpoint<Reader>*>(resource.get()));
}

// Makes the restores that follow in this step open their files anew. To be called after a
// checkpoint was written. All are closed, since one file may have several names: relative and
// absolute paths, and patterns.
inline void CloseForStep(const KernelContext& ctx) {
  ResourceManager* const resources = ctx.step().step_resources;
  if (resources == nullptr) return;
  std::vector<std::pair<std::string, std::string>> open;  // types and names
  resources->ForEach([&](const std::string& /*container*/, const std::string& type_name,
                         const std::string& name, Resource&) {
    if (type_name == kOpenCheckpoint || type_name == kOpenCheckpointV1) {
      open.emplace_back(type_name, name);
    }
  });
  for (const auto& [type_name, name] : open) {
    resources->Delete("", type_name, name).IgnoreError();  // another op may have closed it
  }
}

}  // namespace tessera
