#include "runtime/kernels/xla/element_function.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/data/captured_function.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

bool IsMarkedElementwise(const KernelBuild& build, absl::string_view attr) {
  if (!build.has_attr("_elementwise")) return false;
  const auto marked = build.attr<std::vector<std::string>>("_elementwise");
  return std::find(marked.begin(), marked.end(), attr) != marked.end();
}

int NumCaptured(const KernelBuild& build) {
  if (!build.has_attr("Tcaptured")) return 0;
  return static_cast<int>(build.attr<std::vector<DType>>("Tcaptured").size());
}

}  // namespace

ElementFunction::ElementFunction(const KernelBuild& build, absl::string_view attr)
    : function_(build.function(attr)),
      is_elementwise_(IsMarkedElementwise(build, attr)),
      num_captured_(NumCaptured(build)) {}

absl::Status ElementFunction::Apply(KernelContext& ctx, const std::vector<Tensor>& args,
                                    absl::Span<const DType> types,
                                    std::vector<Tensor>* results) const {
  RETURN_IF_ERROR(ctx.CheckGoingOn());
  const int64_t count = args[0].num_elements();
  const std::vector<Tensor> captured = Captured(ctx);
  std::vector<Tensor> all = args;
  all.insert(all.end(), captured.begin(), captured.end());
  if (function_->num_args() != static_cast<int>(all.size()) ||
      function_->num_results() != static_cast<int>(types.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a function takes ", function_->num_args(), " scalars and gives ", function_->num_results(),
        " where ", all.size(), " and ", types.size(), " are needed"));
  }
  // A captured scalar broadcasts to vectors, which another tensor could do at the wrong places.
  const bool are_scalars = std::all_of(captured.begin(), captured.end(),
                                       [](const Tensor& value) { return value.rank() == 0; });
  if (!are_scalars || (!is_elementwise_ && count != 1)) {
    return ApplyToEach(ctx, args, captured, types, results);
  }
  // What an op does not broadcast, such as two choices of Select that are constants, ends the
  // trial and not the caller's step.
  CallStep trial(ctx.step());
  bool are_vectors = function_->Call(trial.context(), all, results).ok();
  for (size_t i = 0; i < types.size() && are_vectors; ++i) {
    are_vectors = (*results)[i].dtype() == types[i] && (*results)[i].shape() == Shape({count});
  }
  return are_vectors ? absl::OkStatus() : ApplyToEach(ctx, args, captured, types, results);
}

std::vector<Tensor> ElementFunction::Captured(KernelContext& ctx) const {
  std::vector<Tensor> captured;
  for (int i = ctx.num_inputs() - num_captured_; i < ctx.num_inputs(); ++i) {
    captured.push_back(ctx.input(i));
  }
  return captured;
}

absl::Status ElementFunction::ApplyToEach(KernelContext& ctx, const std::vector<Tensor>& args,
                                          const std::vector<Tensor>& captured,
                                          absl::Span<const DType> types,
                                          std::vector<Tensor>* results) const {
  const int64_t count = args[0].num_elements();
  std::vector<Tensor> vectors(types.size()), scalars(args.size()), values;
  scalars.insert(scalars.end(), captured.begin(), captured.end());
  for (size_t i = 0; i < types.size(); ++i) {
    ASSIGN_OR_RETURN(vectors[i], ctx.AllocateTemp(types[i], {count}));
  }
  for (int64_t n = 0; n < count; ++n) {
    for (size_t i = 0; i < args.size(); ++i) scalars[i] = args[i].SubSlice(n);
    RETURN_IF_ERROR(function_->Call(ctx.step(), scalars, &values));
    for (size_t i = 0; i < types.size(); ++i) {
      if (values[i].dtype() != types[i] || values[i].num_elements() != 1) {
        return absl::InvalidArgumentError(absl::StrCat("a function gives ", values[i].ToString(),
                                                       ", no scalar of ", DTypeName(types[i])));
      }
      const size_t size = DTypeSize(types[i]);
      CopyElements(types[i], values[i].raw(), vectors[i].mutable_raw() + n * size, 1);
    }
  }
  *results = std::move(vectors);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Pick(KernelContext& ctx, const Tensor& tensor,
                            absl::Span<const int64_t> source, const Tensor* missing) {
  ASSIGN_OR_RETURN(Tensor result,
                   ctx.AllocateTemp(tensor.dtype(), {static_cast<int64_t>(source.size())}));
  const size_t size = DTypeSize(tensor.dtype());
  char* out = source.empty() ? nullptr : result.mutable_raw();
  for (int64_t position : source) {
    CopyElements(tensor.dtype(), position < 0 ? missing->raw() : tensor.raw() + position * size,
                 out, 1);
    out += size;
  }
  return result;
}

absl::StatusOr<Tensor> Repeated(KernelContext& ctx, const Tensor& scalar, int64_t count) {
  return Pick(ctx, scalar, std::vector<int64_t>(count, 0));
}

void Put(const Tensor& values, absl::Span<const int64_t> target, Tensor* tensor) {
  if (target.empty()) return;
  const size_t size = DTypeSize(values.dtype());
  const char* in = values.raw();
  for (int64_t position : target) {
    CopyElements(values.dtype(), in, tensor->mutable_raw() + position * size, 1);
    in += size;
  }
}

bool Step(absl::Span<const int64_t> dims, std::vector<int64_t>* index) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++(*index)[d] < dims[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

absl::StatusOr<std::vector<int64_t>> ReadInts(const Tensor& tensor, int64_t count,
                                              absl::string_view name) {
  if (tensor.num_elements() == count) {
    if (auto elements = IntElements(tensor)) return *std::move(elements);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must have ", count, " integers, is ", tensor.ToString()));
}

}  // namespace tessera
