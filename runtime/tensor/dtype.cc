#include "runtime/tensor/dtype.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tessera {
namespace {

enum Kind : uint8_t {
  kOther,
  kSigned,
  kUnsignedInt,
  kFloatingPoint,
  kComplexNumber,
  kQuantizedInt
};

struct DTypeInfo {
  absl::string_view name;
  uint8_t size;
  Kind kind;
};

// Indexed by the number of the dtype.
constexpr DTypeInfo kInfo[] = {
    {"invalid", 0, kOther},
    {"float", 4, kFloatingPoint},
    {"double", 8, kFloatingPoint},
    {"int32", 4, kSigned},
    {"uint8", 1, kUnsignedInt},
    {"int16", 2, kSigned},
    {"int8", 1, kSigned},
    {"string", sizeof(std::string), kOther},
    {"complex64", 8, kComplexNumber},
    {"int64", 8, kSigned},
    {"bool", 1, kOther},
    {"qint8", 1, kQuantizedInt},
    {"quint8", 1, kQuantizedInt},
    {"qint32", 4, kQuantizedInt},
    {"bfloat16", 2, kFloatingPoint},
    {"qint16", 2, kQuantizedInt},
    {"quint16", 2, kQuantizedInt},
    {"uint16", 2, kUnsignedInt},
    {"complex128", 16, kComplexNumber},
    {"half", 2, kFloatingPoint},
    {"resource", static_cast<uint8_t>(sizeof(ResourceHandle)), kOther},
    {"variant", sizeof(Variant), kOther},
    {"uint32", 4, kUnsignedInt},
    {"uint64", 8, kUnsignedInt},
    {"float8_e5m2", 1, kFloatingPoint},
    {"float8_e4m3fn", 1, kFloatingPoint},
    {"float8_e4m3fnuz", 1, kFloatingPoint},
    {"float8_e4m3b11fnuz", 1, kFloatingPoint},
    {"float8_e5m2fnuz", 1, kFloatingPoint},
    {"int4", 1, kSigned},
    {"uint4", 1, kUnsignedInt},
    {"int2", 1, kSigned},
    {"uint2", 1, kUnsignedInt},
};
constexpr size_t kNumDTypes = sizeof(kInfo) / sizeof(kInfo[0]);
static_assert(kNumDTypes == static_cast<size_t>(DType::kUint2) + 1);
static_assert(sizeof(ResourceHandle) < 256, "DTypeInfo::size holds one byte");

const DTypeInfo& Info(DType t) {
  const auto number = static_cast<size_t>(t);
  return kInfo[number < kNumDTypes ? number : 0];
}

}  // namespace

std::string DTypeName(DType t) {
  const DTypeInfo& info = Info(RemoveRef(t));
  if (IsRef(t) && info.size > 0) return absl::StrCat(info.name, "_ref");
  return std::string(info.name);
}

DType DTypeFromName(absl::string_view name) {
  std::string lower;
  if (absl::StartsWith(name, "DT_")) {
    lower = std::string(name.substr(3));
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    name = lower;
  }
  bool is_ref = false;
  if (absl::EndsWith(name, "_ref")) {
    is_ref = true;
    name.remove_suffix(4);
  }
  if (name == "float32") name = "float";
  if (name == "float64") name = "double";
  if (name == "float16") name = "half";
  for (size_t i = 1; i < kNumDTypes; ++i) {
    if (kInfo[i].name != name) continue;
    const auto t = static_cast<DType>(i);
    return is_ref ? MakeRef(t) : t;
  }
  return DType::kInvalid;
}

size_t DTypeSize(DType t) { return Info(t).size; }
bool IsKnown(DType t) { return Info(t).size > 0; }
bool IsFloating(DType t) { return Info(t).kind == kFloatingPoint; }
bool IsComplex(DType t) { return Info(t).kind == kComplexNumber; }
bool IsInteger(DType t) { return Info(t).kind == kSigned || Info(t).kind == kUnsignedInt; }
bool IsUnsigned(DType t) { return Info(t).kind == kUnsignedInt; }
bool IsQuantized(DType t) { return Info(t).kind == kQuantizedInt; }

}  // namespace tessera
