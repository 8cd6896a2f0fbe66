#include "runtime/kernels/data/dataset_kernel.h"

#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status DatasetKernel::Compute(KernelContext& ctx) {
  ASSIGN_OR_RETURN(DatasetPtr dataset, Make(ctx));
  RETURN_IF_ERROR(dataset->CheckSize());
  ctx.set_output(0, DatasetTensor(std::move(dataset)));
  return absl::OkStatus();
}

ElementSpec SpecOf(const KernelBuild& build) {
  ElementSpec spec;
  spec.dtypes = build.attr<std::vector<DType>>(build.has_attr("output_types") ? "output_types"
                                                                              : "Toutput_types");
  spec.shapes = build.attr<std::vector<PartialShape>>("output_shapes");
  if (spec.shapes.size() != spec.dtypes.size()) {
    build.Fail(absl::InvalidArgumentError(absl::StrCat("there are ", spec.dtypes.size(),
                                                       " output types, but ", spec.shapes.size(),
                                                       " output shapes")));
  }
  return spec;
}

absl::StatusOr<DatasetPtr> DatasetInput(const KernelContext& ctx, int i) {
  return DatasetIn(ctx.input(i), absl::StrCat("input ", i));
}

std::vector<Tensor> InputsIn(const KernelContext& ctx, ArgRange range) {
  std::vector<Tensor> inputs;
  inputs.reserve(range.size());
  for (int i = range.begin; i < range.end; ++i) inputs.push_back(ctx.input(i));
  return inputs;
}

absl::StatusOr<FunctionPtr> FunctionAttr::Capture(const KernelContext& ctx, int num_args,
                                                  int num_results) const {
  auto function = std::make_shared<CapturedFunction>(function_, InputsIn(ctx, captured_));
  RETURN_IF_ERROR(function->Check(num_args, num_results));
  return function;
}

}  // namespace tessera
