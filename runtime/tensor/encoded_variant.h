// A variant in the form it has on the wire.
#pragma once

#include <string>
#include <vector>

#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// What a VariantTensorDataProto carries: a type's name, bytes in that type's own format, and
// tensors. A tensor read from a proto holds values of this class, since only the kernels know the
// types: a kernel that takes, say, a tensor list accepts the decoded and the encoded form.
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
