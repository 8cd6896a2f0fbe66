// The value of a variant in its serialised form.
#pragma once

#include <string>
#include <vector>

#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// The content of a VariantTensorDataProto: the name of a type, bytes in a format of that type, and
// tensors. A tensor that was read from a proto holds values of this class, because only kernels
// know the types. A kernel that takes a tensor list, for instance, accepts both forms of it.
class EncodedVariant : public VariantValue {
 public:
  EncodedVariant(std::string type_name, std::string metadata, std::vector<Tensor> tensors)
      : type_name_(std::move(type_name)),
        metadata_(std::move(metadata)),
        tensors_(std::move(tensors)) {}

  std::string TypeName() const override { return type_name_; }
  std::string DebugString() const override { return "encoded " + type_name_; }
  std::shared_ptr<const EncodedVariant> Encode() const override {
    return std::make_shared<EncodedVariant>(*this);
  }

  const std::string& metadata() const { return metadata_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::string type_name_;
  std::string metadata_;
  std::vector<Tensor> tensors_;
};

}  // namespace tessera
