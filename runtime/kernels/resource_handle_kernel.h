// Base of the ops that make state and give its handle: tables, stacks, barriers.
#pragma once

#include <string>

#include "runtime/framework/kernel.h"

namespace tessera {

// Finds the resource named by attributes `container` and `shared_name` (the node's own name if that
// is empty), or makes it with Make() the first time, and outputs its handle. An op whose output is
// a reference (v1) gives a reference to a [container, name] string pair instead.
//
//   class HashTableKernel : public ResourceHandleKernel {
//    public:
//     explicit HashTableKernel(const KernelBuild& build)
//         : ResourceHandleKernel(build, Table::kTypeName) {}
//    protected:
//     absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) override { ... }
//   };
class ResourceHandleKernel : public OpKernel {
 public:
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override;

 protected:
  // An op without `shared_name` (AnonymousHashTable) makes a resource of its own in every run; its
  // handles own it.
  ResourceHandleKernel(const KernelBuild& build, absl::string_view type_name);

  virtual absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) = 0;
  // Refuses a resource that another node made under this name and that does not fit.
  virtual absl::Status CheckFits(const Resource&) const { return absl::OkStatus(); }

  const std::string& name() const { return name_; }

 private:
  const std::string type_name_;
  const bool anonymous_;
  std::string container_, name_;
};

// The resource at input i, by handle or (v1) by a reference to a [container, name] pair.
// Errors: NOT_FOUND; INVALID_ARGUMENT if it is of another class.
absl::StatusOr<IntrusivePtr<Resource>> ResourceInput(const KernelContext& ctx, int i,
                                                     absl::string_view type_name);
template <typename T>
absl::StatusOr<IntrusivePtr<T>> ResourceInput(const KernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const IntrusivePtr<Resource> resource, ResourceInput(ctx, i, T::kTypeName));
  T* const typed = dynamic_cast<T*>(resource.get());
  if (typed == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " is a ", resource->DebugString(),
                                                   ", a ", T::kTypeName, " is needed"));
  }
  return IntrusivePtr<T>(typed);
}

}  // namespace tessera
