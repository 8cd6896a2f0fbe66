#include "runtime/kernels/primitives/scatter.h"

#include <algorithm>
#include <complex>

#include "runtime/kernels/primitives/cpu/index_check.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The operands of one call. Indices that are out of range are skipped; if they are errors, they
// were checked before.
struct Work {
  absl::Span<const int64_t> index;
  int64_t size, slice;
  const Tensor& updates;
  Tensor& target;
};

// Calls combine(target element, update element) for every pair.
template <typename T, typename Combine>
void ForEachPair(const Work& work, Combine combine) {
  T* const to = reinterpret_cast<T*>(work.target.mutable_raw());
  const T* const from = reinterpret_cast<const T*>(work.updates.raw());
  const int64_t slice = work.slice;
  const bool scalar = work.updates.rank() == 0;
  for (size_t i = 0; i < work.index.size(); ++i) {
    const int64_t at = work.index[i];
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(work.size)) continue;
    if (slice == 1) {
      combine(to[at], from[scalar ? 0 : i]);
      continue;
    }
    T* const row = to + at * slice;
    if (scalar) {
      const T value = *from;
      for (int64_t j = 0; j < slice; ++j) combine(row[j], value);
    } else {
      const T* const source = from + static_cast<int64_t>(i) * slice;
      for (int64_t j = 0; j < slice; ++j) combine(row[j], source[j]);
    }
  }
}

template <typename T>
absl::Status Divide(const Work& work) {
  if constexpr (std::is_integral_v<T>) {
    for (T value : work.updates.flat<T>()) {
      if (value == 0) return absl::InvalidArgumentError("integer division by zero");
    }
  }
  ForEachPair<T>(work, [](T& to, const T& from) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      // The most negative number divided by -1 overflows, and wraps to itself.
      if (from == -1) {
        to = static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(to));
        return;
      }
    }
    to = static_cast<T>(to / from);
  });
  return absl::OkStatus();
}

// Sums of narrow integers are computed in int and wrap when stored.
template <typename T>
absl::Status Arithmetic(ScatterOp op, const Work& work) {
  switch (op) {
    case ScatterOp::kAdd:
      ForEachPair<T>(work, [](T& to, const T& from) { to = static_cast<T>(to + from); });
      return absl::OkStatus();
    case ScatterOp::kSub:
      ForEachPair<T>(work, [](T& to, const T& from) { to = static_cast<T>(to - from); });
      return absl::OkStatus();
    case ScatterOp::kMul:
      ForEachPair<T>(work, [](T& to, const T& from) { to = static_cast<T>(to * from); });
      return absl::OkStatus();
    default:
      return Divide<T>(work);
  }
}

template <typename T>
absl::Status Extremum(ScatterOp op, const Work& work) {
  if (op == ScatterOp::kMin) {
    ForEachPair<T>(work, [](T& to, const T& from) { to = from < to ? from : to; });
  } else {
    ForEachPair<T>(work, [](T& to, const T& from) { to = to < from ? from : to; });
  }
  return absl::OkStatus();
}

absl::Status Combine(ScatterOp op, const Work& work) {
  const DType dtype = work.target.dtype();
  switch (op) {
    case ScatterOp::kUpdate:
      VisitStorageType(dtype, [&]<typename T>() {
        ForEachPair<T>(work, [](T& to, const T& from) { to = from; });
      });
      return absl::OkStatus();
    case ScatterOp::kMin:
    case ScatterOp::kMax:
      return VisitRealType(dtype, [&]<typename T>() { return Extremum<T>(op, work); });
    default:
      break;
  }
  if (op == ScatterOp::kAdd && dtype == DType::kString) {
    ForEachPair<std::string>(work, [](std::string& to, const std::string& from) { to += from; });
    return absl::OkStatus();
  }
  if (op == ScatterOp::kAdd && dtype == DType::kBool) {
    ForEachPair<bool>(work, [](bool& to, const bool& from) { to = to || from; });
    return absl::OkStatus();
  }
  return VisitNumericType(dtype, [&]<typename T>() { return Arithmetic<T>(op, work); });
}

// Returns the indices as int64, in scratch memory if they have to be converted or resolved.
absl::StatusOr<Tensor> Resolve(KernelContext& ctx, const Tensor& indices, int64_t size,
                               BadIndices bad_indices) {
  if (bad_indices == BadIndices::kError) RETURN_IF_ERROR(CheckIndices(indices, size));
  const bool wrap = bad_indices == BadIndices::kWrap;
  if (indices.dtype() == DType::kInt64 && !wrap) return indices;
  ASSIGN_OR_RETURN(Tensor resolved, ctx.AllocateTemp(DType::kInt64, Shape{indices.num_elements()}));
  VisitIndexType(indices.dtype(), [&]<typename Index>() {
    const auto from = indices.flat<Index>();
    std::transform(from.begin(), from.end(), resolved.data<int64_t>(), [&](Index index) {
      const int64_t i = static_cast<int64_t>(index);
      return wrap ? (i % size + size) % size : i;
    });
  });
  return resolved;
}

absl::Status RunScatter(KernelContext& ctx, ScatterOp op, const Scatter::Geometry& geometry,
                        const Tensor& indices, BadIndices bad_indices, const Tensor& updates,
                        Tensor* target) {
  // A zero among divisors is an error even if it divides nothing.
  if (indices.num_elements() == 0 && op != ScatterOp::kDiv) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Tensor resolved, Resolve(ctx, indices, geometry.size, bad_indices));
  return Combine(op, {resolved.flat<int64_t>(), geometry.size, geometry.slice, updates, *target});
}
REGISTER_PRIMITIVE(Scatter, kCpu, RunScatter);

}  // namespace
}  // namespace tessera
