// The element of a DT_VARIANT tensor: one immutable value of any C++ type, shared by copies.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace tessera {

class EncodedVariant;  // runtime/tensor/encoded_variant.h

// Base of what a Variant can hold: a tensor list, a dataset, an optional, a ragged tensor.
class VariantValue {
 public:
  virtual ~VariantValue() = default;
  // TensorFlow's registered type name, e.g. "tensorflow::TensorList".
  virtual std::string TypeName() const = 0;
  virtual std::string DebugString() const = 0;
  // The value as it travels in a proto; null if it has no such form.
  virtual std::shared_ptr<const EncodedVariant> Encode() const { return nullptr; }
};

// A value type: copying shares the value, which holders treat as immutable.
//
//   Variant v(std::make_shared<TensorList>(...));
//   if (const TensorList* list = v.get<TensorList>()) ...
class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<VariantValue> value) : value_(std::move(value)) {}

  bool has_value() const { return value_ != nullptr; }
  const VariantValue* value() const { return value_.get(); }
  // Null if empty or of another type.
  template <typename T>
  const T* get() const {
    return dynamic_cast<const T*>(value_.get());
  }
  // A share in the value; null if empty or of another type.
  template <typename T>
  std::shared_ptr<const T> share() const {
    return std::dynamic_pointer_cast<const T>(value_);
  }

 private:
  std::shared_ptr<VariantValue> value_;
};

}  // namespace tessera
