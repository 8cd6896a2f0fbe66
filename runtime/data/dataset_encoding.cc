#include "runtime/data/dataset_encoding.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

absl::flat_hash_map<std::string, DatasetDecoder>& Decoders() {
  static auto* const decoders = new absl::flat_hash_map<std::string, DatasetDecoder>;
  return *decoders;
}

// For each component its dtype, its rank or -1 for an unknown one, and its dimensions.
Tensor SpecToTensor(const ElementSpec& spec) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < spec.dtypes.size(); ++i) {
    const PartialShape shape = i < spec.shapes.size() ? spec.shapes[i] : PartialShape();
    numbers.insert(numbers.end(), {static_cast<int64_t>(spec.dtypes[i]), shape.rank()});
    numbers.insert(numbers.end(), shape.dims().begin(), shape.dims().end());
  }
  return Tensor::Vector<int64_t>(numbers);
}

absl::StatusOr<ElementSpec> SpecFromTensor(const Tensor& tensor) {
  const absl::Status damaged = absl::DataLossError("the type of a saved dataset is damaged");
  if (tensor.dtype() != DType::kInt64 || tensor.rank() != 1) return damaged;
  absl::Span<const int64_t> numbers = tensor.flat<int64_t>();
  ElementSpec spec;
  while (!numbers.empty()) {
    if (numbers.size() < 2 || numbers[0] < 0 || numbers[0] >= kRefOffset) return damaged;
    const auto dtype = static_cast<DType>(numbers[0]);
    const int64_t rank = numbers[1];
    numbers.remove_prefix(2);
    if (!IsKnown(dtype) || rank < -1 || rank > static_cast<int64_t>(numbers.size())) return damaged;
    const absl::Span<const int64_t> dims = numbers.first(std::max<int64_t>(rank, 0));
    if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < -1; })) return damaged;
    numbers.remove_prefix(dims.size());
    spec.dtypes.push_back(dtype);
    spec.shapes.push_back(rank < 0 ? PartialShape() : PartialShape(dims));
  }
  return spec;
}

absl::Status DecodeDataset(Variant* variant) {
  const auto encoded = variant->share<EncodedVariant>();
  if (encoded == nullptr) return absl::OkStatus();
  const auto decoder = Decoders().find(encoded->TypeName());
  if (decoder == Decoders().end()) return absl::OkStatus();
  std::vector<Tensor> content = encoded->tensors();
  if (content.empty()) return absl::DataLossError("a saved dataset has no type");
  ASSIGN_OR_RETURN(ElementSpec spec, SpecFromTensor(content[0]));
  content.erase(content.begin());
  RETURN_IF_ERROR(DecodeDatasets(&content));  // a window of windows
  ASSIGN_OR_RETURN(const DatasetPtr dataset, decoder->second(std::move(spec), std::move(content)));
  *variant = Variant(std::const_pointer_cast<Dataset>(dataset));
  return absl::OkStatus();
}

}  // namespace

std::shared_ptr<const EncodedVariant> EncodeDataset(absl::string_view type, const ElementSpec& spec,
                                                    std::vector<Tensor> content) {
  content.insert(content.begin(), SpecToTensor(spec));
  return std::make_shared<EncodedVariant>(std::string(type), "", std::move(content));
}

absl::Status DecodeDatasets(Element* element) {
  for (Tensor& component : *element) {
    if (component.dtype() != DType::kVariant || !component.has_value()) continue;
    // Others may share the tensor.
    const auto values = std::as_const(component).flat<Variant>();
    std::vector<Variant> decoded(values.begin(), values.end());
    for (Variant& value : decoded) RETURN_IF_ERROR(DecodeDataset(&value));
    component = Tensor::Of<Variant>(component.shape(), decoded);
  }
  return absl::OkStatus();
}

DatasetDecoderRegistration::DatasetDecoderRegistration(absl::string_view type,
                                                       DatasetDecoder decoder) {
  Decoders().emplace(type, decoder);
}

}  // namespace tessera
