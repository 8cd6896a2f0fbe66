#include "serving/frontend/kserve/json_tensor.h"

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/common.h"
#include "runtime/base/status.h"
#include "serving/frontend/kserve/datatype.h"
#include "serving/frontend/kserve/number_types.h"

namespace tessera::serving {
namespace {

constexpr char kAskForBinary[] = " has no form in JSON; use the binary tensor data extension";

bool HasJsonForm(DType dtype) { return dtype != DType::kHalf && dtype != DType::kBfloat16; }

// These read one element. They return false if the value is no such element.
template <typename T>
bool ReadElement(const JsonValue& value, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!value.IsNumber()) return false;
    const double number = value.GetDouble();
    *out = static_cast<T>(number);
    return std::isfinite(*out) || !std::isfinite(number);
  } else if constexpr (std::is_unsigned_v<T>) {
    if (!value.IsUint64() || !std::in_range<T>(value.GetUint64())) return false;
    *out = static_cast<T>(value.GetUint64());
  } else {
    if (!value.IsInt64() || !std::in_range<T>(value.GetInt64())) return false;
    *out = static_cast<T>(value.GetInt64());
  }
  return true;
}
bool ReadElement(const JsonValue& value, bool* out) {
  if (!value.IsBool()) return false;
  *out = value.GetBool();
  return true;
}
bool ReadElement(const JsonValue& value, std::string* out) {
  if (!value.IsString()) return false;
  out->assign(value.GetString(), value.GetStringLength());
  return true;
}

// Checks that a list is nested as `dims` say.
absl::Status CheckNesting(const JsonValue& list, absl::Span<const int64_t> dims) {
  if (!list.IsArray() || list.Size() != dims[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat("its data has ", QuoteJson(list), " where a list of ", dims[0],
                     " belongs; data is flat, or nested as the shape says"));
  }
  if (dims.size() == 1) return absl::OkStatus();
  for (const JsonValue& inner : list.GetArray()) {
    RETURN_IF_ERROR(CheckNesting(inner, dims.subspan(1)));
  }
  return absl::OkStatus();
}

// Reads a list of this many levels, whose nesting was checked, and moves *out behind its elements.
template <typename T>
absl::Status ReadList(const JsonValue& list, size_t levels, T** out) {
  for (const JsonValue& value : list.GetArray()) {
    if (levels > 1) {
      RETURN_IF_ERROR(ReadList(value, levels - 1, out));
    } else if (!ReadElement(value, (*out)++)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the element ", QuoteJson(value), " is no ", DatatypeOf(DTypeOf<T>)));
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<Tensor> Read(const Shape& shape, const JsonValue& data) {
  // A list of lists is nested. One without elements is read as flat.
  const bool nested = shape.rank() > 1 && !data.Empty() && data[0].IsArray();
  const int64_t count = shape.num_elements();
  const absl::Span<const int64_t> dims = nested ? shape.dims() : absl::MakeConstSpan(&count, 1);
  // Before memory is taken for the shape.
  RETURN_IF_ERROR(CheckNesting(data, dims));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DTypeOf<T>, shape));
  T* out = tensor.data<T>();
  RETURN_IF_ERROR(ReadList(data, dims.size(), &out));
  return tensor;
}

absl::Status CheckUtf8(absl::Span<const std::string> texts) {
  for (const std::string& text : texts) {
    if (!google::protobuf::internal::IsStructurallyValidUTF8(text.data(),
                                                             static_cast<int>(text.size()))) {
      return absl::InvalidArgumentError(absl::StrCat("a string that is not UTF-8", kAskForBinary));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tensor> TensorFromJson(DType dtype, const Shape& shape, const JsonValue& data) {
  if (!HasJsonForm(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat(DatatypeOf(dtype), kAskForBinary));
  }
  if (!data.IsArray()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its data is ", QuoteJson(data), " where a list belongs"));
  }
  if (dtype == DType::kBool) return Read<bool>(shape, data);
  if (dtype == DType::kString) return Read<std::string>(shape, data);
  absl::StatusOr<Tensor> tensor;
  WithNumberType(dtype, [&]<typename T>() {
    if constexpr (std::is_arithmetic_v<T>) tensor = Read<T>(shape, data);
  });
  return tensor;
}

absl::Status WriteJsonElements(const Tensor& tensor, JsonWriter& json) {
  if (!HasJsonForm(tensor.dtype()) || DatatypeOf(tensor.dtype()).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(DTypeName(tensor.dtype()), kAskForBinary));
  }
  if (tensor.dtype() == DType::kString) {
    RETURN_IF_ERROR(CheckUtf8(tensor.flat<std::string>()));
  }
  json.StartArray();
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.flat<std::string>()) json.String(text);
  } else if (tensor.dtype() == DType::kBool) {
    for (const bool value : tensor.flat<bool>()) json.Bool(value);
  } else {
    WithNumberType(tensor.dtype(), [&]<typename T>() {
      if constexpr (std::is_arithmetic_v<T>) json.Numbers(tensor.flat<T>());
    });
  }
  json.EndArray();
  return absl::OkStatus();
}

}  // namespace tessera::serving
