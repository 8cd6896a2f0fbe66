#include "serving/rollout/non_finite.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tessera::serving {
namespace {

// The exponent of a NaN or an infinity has all bits set, and that of a finite number has not.
// Adding one to the lowest bit of the exponent therefore carries into the sign if, and only if, the
// number is not finite. The bits of all numbers are merged by OR, which compiles to vectors.
template <typename Bits, Bits kExponent>
bool AnyNonFinite(const char* bytes, int64_t n) {
  constexpr Bits kLowest = kExponent & (~kExponent + 1);
  constexpr Bits kSign = Bits{1} << (std::numeric_limits<Bits>::digits - 1);
  constexpr int64_t kBlock = 128 / sizeof(Bits);
  const auto carry = [&](int64_t i) {
    Bits bits;
    std::memcpy(&bits, bytes + i * static_cast<int64_t>(sizeof(Bits)), sizeof(Bits));
    return static_cast<Bits>((bits & kExponent) + kLowest);
  };
  Bits merged[kBlock] = {};
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (int64_t k = 0; k < kBlock; ++k) merged[k] |= carry(i + k);
  }
  Bits any = 0;
  for (int64_t k = 0; k < kBlock; ++k) any |= merged[k];
  for (; i < n; ++i) any |= carry(i);
  return (any & kSign) != 0;
}

// Elements of one dtype, or the parts of complex ones.
struct Numbers {
  bool (*any_non_finite)(const char* bytes, int64_t n) = nullptr;  // null: not floating-point
  int parts = 1;
};

Numbers NumbersOf(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return {AnyNonFinite<uint16_t, 0x7c00>};
    case DType::kBfloat16:
      return {AnyNonFinite<uint16_t, 0x7f80>};
    case DType::kFloat:
      return {AnyNonFinite<uint32_t, 0x7f800000>};
    case DType::kDouble:
      return {AnyNonFinite<uint64_t, 0x7ff0000000000000>};
    case DType::kComplex64:
      return {AnyNonFinite<uint32_t, 0x7f800000>, 2};
    case DType::kComplex128:
      return {AnyNonFinite<uint64_t, 0x7ff0000000000000>, 2};
    default:
      return {};
  }
}

}  // namespace

Finiteness CheckFiniteness(absl::Span<const NamedOutput> outputs) {
  int64_t left = kMaxCheckedElements;
  bool checked = false;
  for (const NamedOutput& output : outputs) {
    const Tensor& tensor = output.tensor;
    const Numbers numbers = NumbersOf(tensor.dtype());
    const int64_t n = std::min(left, tensor.num_elements() * numbers.parts);
    if (numbers.any_non_finite == nullptr || n == 0 || !IsHostAccessible(tensor.memory_kind())) {
      continue;
    }
    if (numbers.any_non_finite(tensor.raw(), n)) return Finiteness::kNonFinite;
    checked = true;
    left -= n;
  }
  return checked ? Finiteness::kFinite : Finiteness::kNotChecked;
}

}  // namespace tessera::serving
