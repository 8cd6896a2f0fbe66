// Checkpoints that stay open for the rest of a step.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// A checkpoint that is open for the rest of the step: graphs with a restore op for each variable
// parse its index once, and the data files are mapped once.
template <typename Reader>
class OpenCheckpoint final : public Resource {
 public:
  explicit OpenCheckpoint(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
  const Reader& reader() const { return *reader_; }
  std::string DebugString() const override { return "open checkpoint"; }

 private:
  const std::unique_ptr<Reader> reader_;
};

// Returns what Reader::Open(name) has opened in this step. `type_name` is one for each Reader.
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

}  // namespace tessera
