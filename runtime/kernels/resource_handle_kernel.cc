#include "runtime/kernels/resource_handle_kernel.h"

#include "runtime/framework/op.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {

ResourceHandleKernel::ResourceHandleKernel(const KernelBuild& build, absl::string_view type_name)
    : type_name_(type_name), anonymous_(!build.has_attr("shared_name")) {
  if (anonymous_) return;
  container_ = build.attr<std::string>("container");
  name_ = build.attr<std::string>("shared_name");
  if (name_.empty()) name_ = build.node_name();
}

absl::Status ResourceHandleKernel::Compute(KernelContext& ctx) {
  ResourceHandle handle;
  handle.device = ctx.device() == nullptr ? "" : ctx.device()->name().ToString();
  handle.container = container_;
  handle.type_name = type_name_;
  handle.name = name_;
  if (anonymous_) {
    ASSIGN_OR_RETURN(handle.resource, Make(ctx));
  } else {
    ASSIGN_OR_RETURN(handle.resource, ctx.resources().LookupOrCreate(container_, type_name_, name_,
                                                                     [&] { return Make(ctx); }));
    RETURN_IF_ERROR(CheckFits(*handle.resource));
  }
  if (!IsRef(ctx.output_type(0))) {
    return SetScalarOutput(ctx, 0, std::move(handle));
  }
  auto pair = MakeRefCounted<Variable>(DType::kString, PartialShape{2});
  pair->Assign(Tensor::Vector<std::string>({container_, name_}));
  ctx.set_ref_output(0, std::move(pair));
  return absl::OkStatus();
}

absl::StatusOr<IntrusivePtr<Resource>> ResourceInput(const KernelContext& ctx, int i,
                                                     absl::string_view type_name) {
  if (!ctx.has_ref(i) && ctx.input(i).dtype() == DType::kResource) return ctx.Resource<Resource>(i);
  const Tensor pair = ctx.has_ref(i) ? ctx.ref_input(i)->Read() : ctx.input(i);
  if (pair.dtype() != DType::kString || pair.num_elements() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be the handle of a ", type_name));
  }
  const auto names = pair.flat<std::string>();
  return ctx.resources().Lookup(names[0], type_name, names[1]);
}

}  // namespace tessera
