// The element of a DT_VARIANT tensor: one immutable value of any C++ type, which copies share.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace tessera {

class EncodedVariant;  // runtime/tensor/encoded_variant.h

// The base class of what a Variant can hold: a tensor list, a dataset, an optional, a ragged
// tensor.
class VariantValue {
 public:
  virtual ~VariantValue() = default;
  // Returns the name under which TensorFlow registers the type, such as "tensorflow::TensorList".
  virtual std::string TypeName() const = 0;
  virtual std::string DebugString() const = 0;
  // Returns the serialised form of the value; null if it has none.
  virtual std::shared_ptr<const EncodedVariant> Encode() const { return nullptr; }
};

// A value type. Copies share the value, which all holders treat as immutable.
//
//   Variant v(std::make_shared<TensorList>(...));
//   if (const TensorList* list = v.get<TensorList>()) ...
class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<VariantValue> value) : value_(std::move(value)) {}

  bool has_value() const { return value_ != nullptr; }
  const VariantValue* value() const { return value_.get(); }
  // Returns the value; null if the variant is empty or holds another type.
  template <typename T>
  const T* get() const {
    return dynamic_cast<const T*>(value_.get());
  }
  // Returns a share in the value; null if the variant is empty or holds another type.
  template <typename T>
  std::shared_ptr<const T> share() const {
    return std::dynamic_pointer_cast<const T>(value_);
  }

 private:
  std::shared_ptr<VariantValue> value_;
};

}  // namespace tessera
