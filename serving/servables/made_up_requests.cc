#include "serving/servables/made_up_requests.h"

#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace tessera::serving {
namespace {

absl::StatusOr<Tensor> MakeUpInput(const SignatureTensor& input, int64_t batch_size) {
  if (!input.shape.known_rank() || !IsKnown(input.dtype) || input.dtype == DType::kResource ||
      input.dtype == DType::kVariant) {
    return absl::InvalidArgumentError("nothing is known of the input");
  }
  absl::InlinedVector<int64_t, 6> dims(input.shape.dims().begin(), input.shape.dims().end());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) dims[i] = i == 0 ? batch_size : 1;
  }
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return shape.status();
  const int64_t bytes =
      MultiplyWithoutOverflow(shape->num_elements(), static_cast<int64_t>(DTypeSize(input.dtype)));
  if (bytes < 0 || bytes > kMaxMadeUpBytes) {
    return absl::ResourceExhaustedError("the input is large");
  }
  return Tensor::Zeros(input.dtype, *shape);
}

std::optional<SampleRequest> MakeUpRequest(const std::string& name, const Signature& signature,
                                           int64_t batch_size) {
  SampleRequest request{.signature_name = name};
  for (const auto& [alias, input] : signature.inputs) {
    absl::StatusOr<Tensor> tensor = MakeUpInput(input, batch_size);
    if (!tensor.ok()) return std::nullopt;
    request.input_names.push_back(alias);
    request.inputs.push_back(*std::move(tensor));
  }
  return request;
}

}  // namespace

std::vector<SampleRequest> MakeUpRequests(const std::map<std::string, Signature>& signatures,
                                          absl::Span<const int64_t> batch_sizes) {
  std::vector<SampleRequest> requests;
  for (const auto& [name, signature] : signatures) {
    if (!signature.is_pure || signature.outputs.empty()) continue;
    for (const int64_t batch_size : batch_sizes) {
      if (auto request = MakeUpRequest(name, signature, batch_size)) {
        requests.push_back(*std::move(request));
      }
    }
  }
  return requests;
}

}  // namespace tessera::serving
