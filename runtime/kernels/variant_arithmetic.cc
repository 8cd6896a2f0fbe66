#include "runtime/kernels/variant_arithmetic.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/ragged_variant.h"
#include "runtime/kernels/tensor_list.h"

namespace tessera {
namespace {

bool SameRows(const RaggedVariant& a, const RaggedVariant& b) {
  return std::equal(a.splits.begin(), a.splits.end(), b.splits.begin(), b.splits.end(),
                    [](const Tensor& x, const Tensor& y) {
                      return x.dtype() == y.dtype() && x.shape() == y.shape() &&
                             std::equal(x.raw(), x.raw() + x.size_bytes(), y.raw());
                    });
}

absl::StatusOr<Variant> AddRagged(const RaggedVariant& a, const RaggedVariant& b,
                                  Allocator* allocator) {
  if (a.values.dtype() != b.values.dtype() || !(a.values.shape() == b.values.shape()) ||
      !SameRows(a, b)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add a ", a.DebugString(), " and a ", b.DebugString()));
  }
  ASSIGN_OR_RETURN(Tensor sum, a.values.DeepCopy(allocator));
  RETURN_IF_ERROR(VisitNumericType(sum.dtype(), [&]<typename T>() {
    const auto addend = b.values.flat<T>();
    auto total = sum.flat<T>();
    for (size_t i = 0; i < total.size(); ++i) total[i] = static_cast<T>(total[i] + addend[i]);
    return absl::OkStatus();
  }));
  return Variant(std::make_shared<RaggedVariant>(a.splits, std::move(sum)));
}

}  // namespace

absl::StatusOr<Variant> ZerosLikeVariant(KernelContext& ctx, const Variant& variant) {
  if (const auto ragged = GetRaggedVariant(variant)) {
    ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(ragged->values.dtype(), ragged->values.shape(),
                                                 ctx.host_allocator()));
    return Variant(std::make_shared<RaggedVariant>(ragged->splits, std::move(zeros)));
  }
  ASSIGN_OR_RETURN(const auto list, GetTensorList(variant));
  return ZerosLikeTensorList(ctx, *list);
}

absl::StatusOr<Variant> AddVariants(KernelContext& ctx, AddN::Function* add_n, Variant a,
                                    const Variant& b) {
  const auto ragged_a = GetRaggedVariant(a);
  const auto ragged_b = GetRaggedVariant(b);
  if (ragged_a && ragged_b) return AddRagged(*ragged_a, *ragged_b, ctx.host_allocator());
  ASSIGN_OR_RETURN(std::shared_ptr<TensorList> sum, TakeTensorList(std::move(a)));
  ASSIGN_OR_RETURN(const auto addend, GetTensorList(b));
  RETURN_IF_ERROR(AddToTensorList(ctx, add_n, *addend, sum.get()));
  return Variant(std::move(sum));
}

}  // namespace tessera
