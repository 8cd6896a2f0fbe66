// Kernels of ops on the handles of iterators, of any type of iterator. As a string a handle is the
// container, a line end, and the name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {

// Gives the handle at input 0, of a resource of type R, as a string.
// Errors: UNIMPLEMENTED for an anonymous iterator, which has no name by which it could be found.
template <typename R>
class IteratorToStringHandleKernel final : public OpKernel {
 public:
  explicit IteratorToStringHandleKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(ctx.Resource<R>(0).status());
    const auto& handle = ctx.input(0).scalar<ResourceHandle>();
    if (handle.name.empty()) {
      return absl::UnimplementedError("an anonymous iterator has no string handle");
    }
    return SetScalarOutput(ctx, 0, absl::StrCat(handle.container, "\n", handle.name));
  }
};

// Gives the handle that a string stands for. R has a kTypeName and the spec of its elements.
// Errors: INVALID_ARGUMENT for another string, or elements that do not fit the node; NOT_FOUND.
template <typename R>
class IteratorFromStringHandleKernel final : public OpKernel {
 public:
  explicit IteratorFromStringHandleKernel(const KernelBuild& build) : spec_(SpecOf(build)) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string text, ScalarInput<std::string>(ctx, 0, "string_handle"));
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('\n', 1));
    if (parts.size() != 2) {
      return absl::InvalidArgumentError("Could not parse string_handle as a valid ResourceHandle");
    }
    ResourceHandle handle;
    handle.container = parts[0];
    handle.name = parts[1];
    handle.type_name = std::string(R::kTypeName);
    ASSIGN_OR_RETURN(const auto iterator, LookupResource<R>(ctx.resources(), handle));
    if (!spec_.dtypes.empty()) RETURN_IF_ERROR(spec_.CheckFits(iterator->spec()));
    handle.resource = iterator;
    return SetScalarOutput(ctx, 0, std::move(handle));
  }

 private:
  const ElementSpec spec_;
};

// Ends what the resource at input 0 works with. The resource itself goes with its last handle.
template <typename R>
class DeleteIteratorKernel final : public OpKernel {
 public:
  explicit DeleteIteratorKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto iterator, ctx.Resource<R>(0));
    return iterator->Stop(ctx.step());
  }
};

}  // namespace tessera
