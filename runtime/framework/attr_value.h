// Attribute values of nodes and functions, free of protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

class AttrValue;
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

// A function's name with the attributes it is instantiated with: the value of a `func` attribute.
struct FunctionRef {
  std::string name;
  AttrMap attrs;
  friend bool operator==(const FunctionRef& a, const FunctionRef& b);
};

// `$T` inside a function body: to be replaced by the instantiation's attribute of that name.
struct AttrPlaceholder {
  std::string name;
  friend bool operator==(const AttrPlaceholder&, const AttrPlaceholder&) = default;
};

// An empty list of unstated element type, as `list { }` on the wire: converts to any list.
struct EmptyList {
  friend bool operator==(const EmptyList&, const EmptyList&) = default;
};

// One of the types an attribute can have. A value type.
class AttrValue {
 public:
  using Storage =
      std::variant<std::monostate, int64_t, float, bool, std::string, DType, PartialShape, Tensor,
                   FunctionRef, AttrPlaceholder, EmptyList, std::vector<int64_t>,
                   std::vector<float>, std::vector<bool>, std::vector<std::string>,
                   std::vector<DType>, std::vector<PartialShape>, std::vector<Tensor>,
                   std::vector<FunctionRef>>;

  AttrValue() = default;
  template <typename T>
  requires std::is_constructible_v<Storage, T> AttrValue(T value) : value_(std::move(value)) {}
  AttrValue(const char* value) : value_(std::string(value)) {}
  AttrValue(int value) : value_(static_cast<int64_t>(value)) {}

  const Storage& storage() const { return value_; }
  // Null if the value is of another type.
  template <typename T>
  const T* get() const {
    return std::get_if<T>(&value_);
  }
  bool is_placeholder() const { return std::holds_alternative<AttrPlaceholder>(value_); }

  // For messages and keys: of two values of one type, equal strings exactly for equal ones (tensors
  // by their contents).
  std::string ToString() const;
  friend bool operator==(const AttrValue& a, const AttrValue& b);

 private:
  Storage value_;
};

// Attribute `name` of `attrs` as T; an EmptyList counts as an empty vector.
// Errors: NOT_FOUND if there is none; INVALID_ARGUMENT if it has another type.
template <typename T>
absl::StatusOr<T> GetAttr(const AttrMap& attrs, absl::string_view name);

}  // namespace tessera
