#include "serving/servables/made_up_requests.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {
namespace {

bool HasBatchSize(const TensorInfo& input) {
  return input.shape.known_rank() && !input.shape.dims().empty() && input.shape.dims()[0] < 0;
}

absl::StatusOr<Tensor> MakeUpInput(const TensorInfo& input, int64_t batch_size, int64_t max_bytes) {
  if (!input.shape.known_rank() || !IsKnown(input.dtype) || input.dtype == DType::kResource ||
      input.dtype == DType::kVariant) {
    return absl::InvalidArgumentError("nothing is known of the input");
  }
  absl::StatusOr<Shape> shape = MadeUpShape(input.shape, batch_size);
  if (!shape.ok()) return shape.status();
  const int64_t bytes =
      MultiplyWithoutOverflow(shape->num_elements(), static_cast<int64_t>(DTypeSize(input.dtype)));
  if (bytes < 0 || bytes > max_bytes) {
    return absl::ResourceExhaustedError("the input is large");
  }
  return Tensor::Zeros(input.dtype, *shape);
}

std::optional<SampleRequest> MakeUpRequest(const std::string& name, const SignatureInfo& signature,
                                           int64_t batch_size, int64_t max_bytes) {
  SampleRequest request{.signature_name = name};
  for (const auto& [alias, input] : signature.inputs) {
    absl::StatusOr<Tensor> tensor = MakeUpInput(input, batch_size, max_bytes);
    if (!tensor.ok()) return std::nullopt;
    request.input_names.push_back(alias);
    request.inputs.push_back(*std::move(tensor));
  }
  return request;
}

}  // namespace

absl::StatusOr<Shape> MadeUpShape(const PartialShape& shape, int64_t batch_size) {
  absl::InlinedVector<int64_t, 6> dims(shape.dims().begin(), shape.dims().end());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) dims[i] = i == 0 ? batch_size : 1;
  }
  return Shape::Make(dims);
}

void ForEachMadeUpRequest(const SignatureMap& signatures, absl::Span<const int64_t> batch_sizes,
                          absl::FunctionRef<void(const SampleRequest&)> visit) {
  for (size_t i = 0; i < batch_sizes.size(); ++i) {
    const int64_t max_bytes = i == 0 ? kMaxMadeUpBytes : kMaxBatchBytes;
    absl::flat_hash_set<absl::string_view> computations;
    for (const auto& [name, signature] : signatures) {
      if (!signature.is_pure || signature.outputs.empty()) continue;
      const auto& inputs = signature.inputs;
      const bool varies = std::any_of(inputs.begin(), inputs.end(),
                                      [](const auto& input) { return HasBatchSize(input.second); });
      if (i > 0 && !varies) continue;
      const auto request = MakeUpRequest(name, signature, batch_sizes[i], max_bytes);
      if (!request) continue;
      const absl::string_view computation = signature.computation;
      if (computation.empty() || computations.insert(computation).second) visit(*request);
    }
  }
}

}  // namespace tessera::serving
