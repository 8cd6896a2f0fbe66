#include "runtime/tensor/raw_elements.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

bool IsNarrow(DType dtype) {
  return dtype == DType::kInt4 || dtype == DType::kUint4 || dtype == DType::kInt2 ||
         dtype == DType::kUint2;
}

}  // namespace

int8_t NarrowInt(DType dtype, int32_t value) {
  const int bits = dtype == DType::kInt4 || dtype == DType::kUint4 ? 4 : 2;
  const uint32_t low = static_cast<uint32_t>(value) & ((1u << bits) - 1);
  const bool negative = !IsUnsigned(dtype) && (low >> (bits - 1)) != 0;
  return static_cast<int8_t>(negative ? low | (~0u << bits) : low);
}

bool AreElements(DType dtype, absl::string_view bytes) {
  if (dtype == DType::kBool) {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0 || c == 1; });
  }
  if (IsNarrow(dtype)) {
    return std::all_of(bytes.begin(), bytes.end(),
                       [dtype](char c) { return static_cast<int8_t>(c) == NarrowInt(dtype, c); });
  }
  return true;
}

void CopyElements(DType dtype, absl::string_view bytes, char* out) {
  if (dtype == DType::kBool) {
    std::transform(bytes.begin(), bytes.end(), out, [](char c) { return c != 0; });
  } else if (IsNarrow(dtype)) {
    std::transform(bytes.begin(), bytes.end(), out,
                   [dtype](char c) { return NarrowInt(dtype, c); });
  } else {
    std::memcpy(out, bytes.data(), bytes.size());
  }
}

}  // namespace tessera
