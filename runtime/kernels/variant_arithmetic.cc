#include "runtime/kernels/variant_arithmetic.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/data/optional.h"
#include "runtime/kernels/element_memory.h"
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

// Returns the sum of two tensors of numbers in the host's memory, of one dtype and shape.
absl::StatusOr<Tensor> AddNumbers(const Tensor& a, const Tensor& b, Allocator* allocator) {
  ASSIGN_OR_RETURN(Tensor sum, a.DeepCopy(allocator));
  RETURN_IF_ERROR(VisitNumericType(sum.dtype(), [&]<typename T>() {
    const auto addend = b.flat<T>();
    auto total = sum.flat<T>();
    for (size_t i = 0; i < total.size(); ++i) total[i] = static_cast<T>(total[i] + addend[i]);
    return absl::OkStatus();
  }));
  return sum;
}

absl::StatusOr<Variant> AddRagged(const RaggedVariant& a, const RaggedVariant& b,
                                  Allocator* allocator) {
  if (a.values.dtype() != b.values.dtype() || !(a.values.shape() == b.values.shape()) ||
      !SameRows(a, b)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add a ", a.DebugString(), " and a ", b.DebugString()));
  }
  ASSIGN_OR_RETURN(Tensor sum, AddNumbers(a.values, b.values, allocator));
  return Variant(std::make_shared<RaggedVariant>(a.splits, std::move(sum)));
}

// Returns zeros of each variant of a tensor.
absl::StatusOr<Tensor> ZerosLikeVariants(KernelContext& ctx, const Tensor& variants) {
  ASSIGN_OR_RETURN(Tensor zeros,
                   Tensor::Zeros(DType::kVariant, variants.shape(), ctx.host_allocator()));
  for (int64_t i = 0; i < variants.num_elements(); ++i) {
    ASSIGN_OR_RETURN(zeros.flat<Variant>()[i], ZerosLikeVariant(ctx, variants.flat<Variant>()[i]));
  }
  return zeros;
}

// Returns the sums of the variants of two tensors of one shape.
absl::StatusOr<Tensor> AddEachVariant(KernelContext& ctx, AddN::Function* add_n, const Tensor& a,
                                      const Tensor& b) {
  ASSIGN_OR_RETURN(Tensor sums, Tensor::Zeros(DType::kVariant, a.shape(), ctx.host_allocator()));
  for (int64_t i = 0; i < sums.num_elements(); ++i) {
    ASSIGN_OR_RETURN(sums.flat<Variant>()[i],
                     AddVariants(ctx, add_n, a.flat<Variant>()[i], b.flat<Variant>()[i]));
  }
  return sums;
}

// A list of lists or of optionals, whose zeros keep their lengths.
absl::StatusOr<Variant> ZerosLikeNestedList(KernelContext& ctx, const TensorList& list) {
  auto zeros = std::make_shared<TensorList>(list);
  zeros->max_elements = -1;
  for (Tensor& element : zeros->elements) {
    if (!element.has_value()) continue;
    ASSIGN_OR_RETURN(element, ZerosLikeVariants(ctx, element));
  }
  return Variant(std::move(zeros));
}

absl::StatusOr<Variant> ZerosLikeOptional(KernelContext& ctx, const OptionalValue& optional) {
  absl::optional<Element> zeros = optional.element();
  for (size_t i = 0; zeros && i < zeros->size(); ++i) {
    Tensor& tensor = (*zeros)[i];
    if (tensor.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(tensor, ZerosLikeVariants(ctx, tensor));
    } else {
      ASSIGN_OR_RETURN(tensor, Tensor::Zeros(tensor.dtype(), tensor.shape(), ctx.host_allocator()));
    }
  }
  return Variant(std::make_shared<OptionalValue>(std::move(zeros)));
}

absl::StatusOr<Variant> AddOptionals(KernelContext& ctx, AddN::Function* add_n,
                                     const OptionalValue& a, const OptionalValue& b) {
  absl::optional<Element> sum = a.element();
  if (sum.has_value() != b.element().has_value() || (sum && sum->size() != b.element()->size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add an ", a.DebugString(), " and an ", b.DebugString()));
  }
  for (size_t i = 0; sum && i < sum->size(); ++i) {
    Tensor& tensor = (*sum)[i];
    const Tensor& addend = (*b.element())[i];
    if (tensor.dtype() != addend.dtype() || !(tensor.shape() == addend.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot add components ", i, " of two optionals: they are ",
                       DTypeName(tensor.dtype()), tensor.shape().ToString(), " and ",
                       DTypeName(addend.dtype()), addend.shape().ToString()));
    }
    if (tensor.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(tensor, AddEachVariant(ctx, add_n, tensor, addend));
    } else {
      ASSIGN_OR_RETURN(tensor, AddNumbers(tensor, addend, ctx.host_allocator()));
    }
  }
  return Variant(std::make_shared<OptionalValue>(std::move(sum)));
}

}  // namespace

absl::StatusOr<Variant> ZerosLikeVariant(KernelContext& ctx, const Variant& variant) {
  if (const auto ragged = GetRaggedVariant(variant)) {
    ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(ragged->values.dtype(), ragged->values.shape(),
                                                 ctx.host_allocator()));
    return Variant(std::make_shared<RaggedVariant>(ragged->splits, std::move(zeros)));
  }
  if (!variant.has_value()) return variant;
  if (const auto optional = variant.share<OptionalValue>()) {
    return ZerosLikeOptional(ctx, *optional);
  }
  ASSIGN_OR_RETURN(const auto list, GetTensorList(variant));
  if (list->element_dtype == DType::kVariant) return ZerosLikeNestedList(ctx, *list);
  return ZerosLikeTensorList(ctx, *list);
}

absl::StatusOr<Variant> AddVariants(KernelContext& ctx, AddN::Function* add_n, Variant a,
                                    const Variant& b) {
  if (!b.has_value()) return a;
  if (!a.has_value()) return b;
  const auto optional_a = a.share<OptionalValue>();
  const auto optional_b = b.share<OptionalValue>();
  if (optional_a && optional_b) return AddOptionals(ctx, add_n, *optional_a, *optional_b);
  const auto ragged_a = GetRaggedVariant(a);
  const auto ragged_b = GetRaggedVariant(b);
  if (ragged_a && ragged_b) return AddRagged(*ragged_a, *ragged_b, ctx.host_allocator());
  ASSIGN_OR_RETURN(std::shared_ptr<TensorList> sum, TakeTensorList(std::move(a)));
  ASSIGN_OR_RETURN(const auto addend, GetTensorList(b));
  const auto add = [&](Tensor to, const Tensor& from) -> absl::StatusOr<Tensor> {
    if (to.dtype() == DType::kVariant) return AddEachVariant(ctx, add_n, to, from);
    return AddElements(ctx, add_n, std::move(to), from);
  };
  RETURN_IF_ERROR(AddToTensorList(*addend, add, sum.get()));
  sum->max_elements = -1;
  return Variant(std::move(sum));
}

}  // namespace tessera
