#include "runtime/kernels/element_memory.h"

#include <array>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {

namespace {

MemoryKind KindOf(const KernelContext& ctx, DType dtype) {
  return ctx.device() == nullptr ? MemoryKind::kHost : ctx.device()->KindOf(dtype);
}

}  // namespace

absl::StatusOr<Tensor> OnDevice(KernelContext& ctx, const Tensor& tensor) {
  if (tensor.num_elements() == 0 || IsHostAccessible(KindOf(ctx, tensor.dtype())) ||
      !IsHostAccessible(tensor.memory_kind())) {
    return tensor;
  }
  ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateState(tensor.dtype(), tensor.shape()));
  ctx.stream()->Copy(tensor, &copy);
  return copy;
}

absl::StatusOr<Tensor> ZerosOf(KernelContext& ctx, DType dtype, const Shape& shape) {
  return ctx.AllocateZeros(dtype, shape, KindOf(ctx, dtype));
}

void CopyToRows(KernelContext& ctx, const Tensor& from, int64_t row, Tensor* to) {
  if (from.num_elements() == 0) return;
  const int64_t row_size = to->num_elements() / to->dim(0);
  if (!IsHostAccessible(to->memory_kind())) {
    Tensor rows = to->Slice(row, row + from.num_elements() / row_size);
    ctx.stream()->Copy(from, &rows);
    return;
  }
  const size_t offset = static_cast<size_t>(row * row_size) * DTypeSize(to->dtype());
  CopyElements(to->dtype(), from.raw(), to->mutable_raw() + offset, from.num_elements());
}

void ZeroRows(KernelContext& ctx, int64_t row, int64_t count, Tensor* to) {
  if (to->num_elements() == 0 || count == 0) return;
  if (!IsHostAccessible(to->memory_kind())) {
    Tensor rows = to->Slice(row, row + count);
    ctx.stream()->Zero(&rows);
    return;
  }
  const int64_t row_size = to->num_elements() / to->dim(0);
  const size_t offset = static_cast<size_t>(row * row_size) * DTypeSize(to->dtype());
  ZeroElements(to->dtype(), to->mutable_raw() + offset, count * row_size);
}

absl::StatusOr<Tensor> AddElements(KernelContext& ctx, AddN::Function* add_n, Tensor a,
                                   const Tensor& b) {
  RETURN_IF_ERROR(VisitNumericType(a.dtype(), [&]<typename T>() { return absl::OkStatus(); }));
  if (a.num_elements() == 0) return a;
  ASSIGN_OR_RETURN(const Tensor addend, OnDevice(ctx, b));
  if (a.CanWriteInPlace()) {
    ASSIGN_OR_RETURN(Tensor sum, OnDevice(ctx, a));
    const std::array<const char*, 2> addends = {sum.address(), addend.address()};
    RETURN_IF_ERROR(add_n(ctx, sum.dtype(), sum.num_elements(), addends, sum.address()));
    return sum;
  }
  ASSIGN_OR_RETURN(const Tensor old, OnDevice(ctx, a));
  ASSIGN_OR_RETURN(Tensor sum, ctx.AllocateState(old.dtype(), old.shape()));
  const std::array<const char*, 2> addends = {old.address(), addend.address()};
  RETURN_IF_ERROR(add_n(ctx, sum.dtype(), sum.num_elements(), addends, sum.address()));
  return sum;
}

}  // namespace tessera
