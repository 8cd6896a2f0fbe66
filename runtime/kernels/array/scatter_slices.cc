#include "runtime/kernels/array/scatter_slices.h"

#include "absl/strings/match.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Calls combine(target element, update element) for every pair.
template <typename T, typename Combine>
void ForEachPair(const Tensor& slices, int64_t slice, const Tensor& updates, Tensor* target,
                 Combine combine) {
  T* const to = reinterpret_cast<T*>(target->mutable_raw());
  const T* const from = reinterpret_cast<const T*>(updates.raw());
  const auto index = slices.flat<int64_t>();
  const bool scalar = updates.rank() == 0;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0) continue;
    T* const row = to + index[i] * slice;
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
absl::Status Divide(const Tensor& slices, int64_t slice, const Tensor& updates, Tensor* target) {
  if constexpr (std::is_integral_v<T>) {
    for (T value : updates.flat<T>()) {
      if (value == 0) return absl::InvalidArgumentError("integer division by zero");
    }
  }
  ForEachPair<T>(slices, slice, updates, target, [](T& to, const T& from) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      // The most negative number by -1 overflows; it wraps to itself, as in two's complement.
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
absl::Status Arithmetic(ScatterOp op, const Tensor& slices, int64_t slice, const Tensor& updates,
                        Tensor* target) {
  switch (op) {
    case ScatterOp::kAdd:
      ForEachPair<T>(slices, slice, updates, target,
                     [](T& to, const T& from) { to = static_cast<T>(to + from); });
      return absl::OkStatus();
    case ScatterOp::kSub:
      ForEachPair<T>(slices, slice, updates, target,
                     [](T& to, const T& from) { to = static_cast<T>(to - from); });
      return absl::OkStatus();
    case ScatterOp::kMul:
      ForEachPair<T>(slices, slice, updates, target,
                     [](T& to, const T& from) { to = static_cast<T>(to * from); });
      return absl::OkStatus();
    default:
      return Divide<T>(slices, slice, updates, target);
  }
}

template <typename T>
absl::Status Extremum(ScatterOp op, const Tensor& slices, int64_t slice, const Tensor& updates,
                      Tensor* target) {
  if (op == ScatterOp::kMin) {
    ForEachPair<T>(slices, slice, updates, target,
                   [](T& to, const T& from) { to = from < to ? from : to; });
  } else {
    ForEachPair<T>(slices, slice, updates, target,
                   [](T& to, const T& from) { to = to < from ? from : to; });
  }
  return absl::OkStatus();
}

}  // namespace

ScatterOp ScatterOpFromName(absl::string_view op_name) {
  if (absl::EndsWith(op_name, "Add")) return ScatterOp::kAdd;
  if (absl::EndsWith(op_name, "Sub")) return ScatterOp::kSub;
  if (absl::EndsWith(op_name, "Mul")) return ScatterOp::kMul;
  if (absl::EndsWith(op_name, "Div")) return ScatterOp::kDiv;
  if (absl::EndsWith(op_name, "Min")) return ScatterOp::kMin;
  if (absl::EndsWith(op_name, "Max")) return ScatterOp::kMax;
  return ScatterOp::kUpdate;
}

absl::Status ScatterSlices(ScatterOp op, const Tensor& slices, int64_t slice, const Tensor& updates,
                           Tensor* target) {
  const DType dtype = target->dtype();
  switch (op) {
    case ScatterOp::kUpdate:
      VisitStorageType(dtype, [&]<typename T>() {
        ForEachPair<T>(slices, slice, updates, target, [](T& to, const T& from) { to = from; });
      });
      return absl::OkStatus();
    case ScatterOp::kMin:
    case ScatterOp::kMax:
      return VisitRealType(
          dtype, [&]<typename T>() { return Extremum<T>(op, slices, slice, updates, target); });
    default:
      break;
  }
  if (op == ScatterOp::kAdd && dtype == DType::kString) {
    ForEachPair<std::string>(slices, slice, updates, target,
                             [](std::string& to, const std::string& from) { to += from; });
    return absl::OkStatus();
  }
  if (op == ScatterOp::kAdd && dtype == DType::kBool) {
    ForEachPair<bool>(slices, slice, updates, target,
                      [](bool& to, const bool& from) { to = to || from; });
    return absl::OkStatus();
  }
  return VisitNumericType(
      dtype, [&]<typename T>() { return Arithmetic<T>(op, slices, slice, updates, target); });
}

}  // namespace tessera
