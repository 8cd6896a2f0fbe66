#include "runtime/framework/attr_value.h"

#include <charconv>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

// Name of alternative T, for messages.
template <typename T>
constexpr const char* kKindOf = "value";
template <>
constexpr const char* kKindOf<std::monostate> = "nothing";
template <>
constexpr const char* kKindOf<int64_t> = "int";
template <>
constexpr const char* kKindOf<float> = "float";
template <>
constexpr const char* kKindOf<bool> = "bool";
template <>
constexpr const char* kKindOf<std::string> = "string";
template <>
constexpr const char* kKindOf<DType> = "type";
template <>
constexpr const char* kKindOf<PartialShape> = "shape";
template <>
constexpr const char* kKindOf<Tensor> = "tensor";
template <>
constexpr const char* kKindOf<FunctionRef> = "func";
template <>
constexpr const char* kKindOf<AttrPlaceholder> = "placeholder";
template <>
constexpr const char* kKindOf<EmptyList> = "list()";
template <>
constexpr const char* kKindOf<std::vector<int64_t>> = "list(int)";
template <>
constexpr const char* kKindOf<std::vector<float>> = "list(float)";
template <>
constexpr const char* kKindOf<std::vector<bool>> = "list(bool)";
template <>
constexpr const char* kKindOf<std::vector<std::string>> = "list(string)";
template <>
constexpr const char* kKindOf<std::vector<DType>> = "list(type)";
template <>
constexpr const char* kKindOf<std::vector<PartialShape>> = "list(shape)";
template <>
constexpr const char* kKindOf<std::vector<Tensor>> = "list(tensor)";
template <>
constexpr const char* kKindOf<std::vector<FunctionRef>> = "list(func)";

bool SameTensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (!a.has_value()) return true;
  if (a.dtype() == DType::kString) return a.flat<std::string>() == b.flat<std::string>();
  if (!IsTriviallyCopyable(a.dtype())) return a.raw() == b.raw();
  return a.raw() == b.raw() || std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
}

// Exact text of a tensor: unlike Tensor::ToString(), different contents give different text.
std::string TensorText(const Tensor& tensor) {
  std::string text = absl::StrCat(DTypeName(tensor.dtype()), tensor.shape().ToString(), ":");
  if (!tensor.has_value()) return text;
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.flat<std::string>()) {
      absl::StrAppend(&text, "'", absl::CHexEscape(s), "'");
    }
  } else if (IsTriviallyCopyable(tensor.dtype())) {
    absl::StrAppend(&text,
                    absl::BytesToHexString(absl::string_view(tensor.raw(), tensor.size_bytes())));
  } else {
    absl::StrAppend(&text, absl::Hex(reinterpret_cast<uintptr_t>(tensor.raw())));
  }
  return text;
}

std::string Text(std::monostate) { return "none"; }
std::string Text(int64_t v) { return absl::StrCat(v); }
std::string Text(float v) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), v).ptr);
}
std::string Text(bool v) { return v ? "true" : "false"; }
std::string Text(const std::string& v) { return absl::StrCat("\"", absl::CHexEscape(v), "\""); }
std::string Text(DType v) { return DTypeName(v); }
std::string Text(const PartialShape& v) { return v.ToString(); }
std::string Text(const Tensor& v) { return TensorText(v); }
std::string Text(const AttrPlaceholder& v) { return absl::StrCat("$", v.name); }
std::string Text(EmptyList) { return "[]"; }
std::string Text(const FunctionRef& v) {
  std::string text = v.name;
  if (v.attrs.empty()) return text;
  return absl::StrCat(text, "[",
                      absl::StrJoin(v.attrs, ",",
                                    [](std::string* out, const auto& attr) {
                                      absl::StrAppend(out, attr.first, "=", attr.second.ToString());
                                    }),
                      "]");
}
template <typename T>
std::string Text(const std::vector<T>& values) {
  return absl::StrCat("[",
                      absl::StrJoin(values, ",",
                                    [](std::string* out, const auto& v) {
                                      absl::StrAppend(out, Text(static_cast<const T&>(v)));
                                    }),
                      "]");
}

template <typename T>
bool Same(const T& a, const T& b) {
  return a == b;
}
bool Same(const Tensor& a, const Tensor& b) { return SameTensor(a, b); }
bool Same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameTensor);
}

}  // namespace

bool operator==(const FunctionRef& a, const FunctionRef& b) {
  return a.name == b.name && a.attrs == b.attrs;
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (a.value_.index() != b.value_.index()) return false;
  return std::visit(
      [&](const auto& value) {
        return Same(value, std::get<std::decay_t<decltype(value)>>(b.value_));
      },
      a.value_);
}

std::string AttrValue::ToString() const {
  return std::visit([](const auto& value) { return Text(value); }, value_);
}

namespace {
template <typename T>
constexpr bool kIsVector = false;
template <typename T>
constexpr bool kIsVector<std::vector<T>> = true;
}  // namespace

template <typename T>
absl::StatusOr<T> GetAttr(const AttrMap& attrs, absl::string_view name) {
  auto it = attrs.find(name);
  if (it == attrs.end()) {
    return absl::NotFoundError(absl::StrCat("there is no attribute '", name, "'"));
  }
  if (const T* value = it->second.template get<T>()) return *value;
  if constexpr (kIsVector<T>) {
    if (it->second.template get<EmptyList>()) return T();
  }
  const char* kind =
      std::visit([](const auto& value) { return kKindOf<std::decay_t<decltype(value)>>; },
                 it->second.storage());
  return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' must be of type ",
                                                 kKindOf<T>, ", is ", kind, " ",
                                                 it->second.ToString()));
}

#define INSTANTIATE(T) \
  template absl::StatusOr<T> GetAttr<T>(const AttrMap& attrs, absl::string_view name)
INSTANTIATE(int64_t);
INSTANTIATE(float);
INSTANTIATE(bool);
INSTANTIATE(std::string);
INSTANTIATE(DType);
INSTANTIATE(PartialShape);
INSTANTIATE(Tensor);
INSTANTIATE(FunctionRef);
INSTANTIATE(std::vector<int64_t>);
INSTANTIATE(std::vector<float>);
INSTANTIATE(std::vector<bool>);
INSTANTIATE(std::vector<std::string>);
INSTANTIATE(std::vector<DType>);
INSTANTIATE(std::vector<PartialShape>);
INSTANTIATE(std::vector<Tensor>);
INSTANTIATE(std::vector<FunctionRef>);
#undef INSTANTIATE

}  // namespace tessera
