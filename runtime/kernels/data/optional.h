// The value of an optional: an element, or none.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/types/optional.h"
#include "runtime/data/dataset.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// The value of an optional in a variant tensor. Immutable.
class OptionalValue : public VariantValue {
 public:
  explicit OptionalValue(absl::optional<Element> element) : element_(std::move(element)) {}

  std::string TypeName() const override { return "tensorflow::OptionalVariant"; }
  std::string DebugString() const override { return element_ ? "optional" : "empty optional"; }
  const absl::optional<Element>& element() const { return element_; }

 private:
  const absl::optional<Element> element_;
};

inline Tensor OptionalTensor(absl::optional<Element> element) {
  return Tensor::Scalar<Variant>(Variant(std::make_shared<OptionalValue>(std::move(element))));
}

}  // namespace tessera
