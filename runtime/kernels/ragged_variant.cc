#include "runtime/kernels/ragged_variant.h"

#include "absl/strings/str_cat.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {

std::string RaggedVariant::DebugString() const {
  return absl::StrCat("ragged tensor of ", splits.size(), " ragged dimensions over ",
                      DTypeName(values.dtype()), values.shape().ToString());
}

std::shared_ptr<const EncodedVariant> RaggedVariant::Encode() const {
  std::vector<Tensor> tensors = splits;
  tensors.push_back(values);
  return std::make_shared<EncodedVariant>(TypeName(), "", std::move(tensors));
}

std::shared_ptr<const RaggedVariant> GetRaggedVariant(const Variant& variant) {
  if (auto ragged = variant.share<RaggedVariant>()) return ragged;
  const auto* const encoded = variant.get<EncodedVariant>();
  if (encoded == nullptr || encoded->TypeName() != "RaggedTensorVariant" ||
      encoded->tensors().empty()) {
    return nullptr;
  }
  std::vector<Tensor> splits = encoded->tensors();
  Tensor values = std::move(splits.back());
  splits.pop_back();
  return std::make_shared<RaggedVariant>(std::move(splits), std::move(values));
}

}  // namespace tessera
