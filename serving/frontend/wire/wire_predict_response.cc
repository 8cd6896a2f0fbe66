#include "serving/frontend/wire/wire_predict_response.h"

#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/wire/wire_content.h"
#include "serving/frontend/wire/wire_slices.h"
#include "serving/frontend/wire/wire_tensor_writer.h"
#include "serving/frontend/wire/wire_write.h"

namespace tessera::serving {
namespace {

// The field numbers of PredictResponse, of the entries of its map, and of ModelSpec.
constexpr uint32_t kOutputs = 1, kModelSpec = 2;
constexpr uint32_t kKey = 1, kValue = 2;
constexpr uint32_t kName = 1, kVersion = 2, kSignatureName = 3;
constexpr uint32_t kWrappedValue = 1;

// An empty or zero field is not written.
uint64_t TextSize(uint32_t field, absl::string_view text) {
  return text.empty() ? 0 : BytesFieldSize(field, text.size());
}
uint64_t NumberSize(int64_t value) {
  return value == 0 ? 0 : 1 + VarintSize(static_cast<uint64_t>(value));
}

struct Output {
  absl::string_view name;
  WireTensorWriter tensor;

  uint64_t entry_size() const {
    return BytesFieldSize(kKey, name.size()) + BytesFieldSize(kValue, tensor.size());
  }
  bool is_shared() const {
    return tensor.has_own_bytes() && tensor.values_size() >= kMinSharedBytes;
  }
};

}  // namespace

absl::StatusOr<grpc::ByteBuffer> EncodePredictResponse(absl::string_view model_name,
                                                       int64_t version, PredictResult result,
                                                       TensorProtoForm form) {
  absl::InlinedVector<Output, 2> outputs;
  outputs.reserve(result.outputs.size());
  uint64_t total = 0, shared = 0;
  for (NamedOutput& output : result.outputs) {
    ASSIGN_OR_RETURN(WireTensorWriter tensor,
                     WireTensorWriter::Create(std::move(output.tensor), form));
    outputs.push_back({output.name, std::move(tensor)});
    total += BytesFieldSize(kOutputs, outputs.back().entry_size());
    if (outputs.back().is_shared()) shared += outputs.back().tensor.values_size();
  }
  const uint64_t version_size = NumberSize(version);
  const uint64_t spec_size = TextSize(kName, model_name) + BytesFieldSize(kVersion, version_size) +
                             TextSize(kSignatureName, result.signature_name);
  total += BytesFieldSize(kModelSpec, spec_size);
  if (total > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the outputs take ", total, " bytes, more than a gRPC message can have"));
  }

  SliceWriter slices(total - shared);
  char* out = slices.begin();
  for (const Output& output : outputs) {
    out = WriteBytesHead(kOutputs, output.entry_size(), out);
    out = WriteBytesField(kKey, output.name, out);
    out = WriteBytesHead(kValue, output.tensor.size(), out);
    out = output.tensor.WriteHead(out);
    if (output.is_shared()) {
      slices.Share(out, output.tensor.tensor());
    } else {
      out = output.tensor.WriteValues(out);
    }
  }
  out = WriteBytesHead(kModelSpec, spec_size, out);
  if (!model_name.empty()) out = WriteBytesField(kName, model_name, out);
  out = WriteBytesHead(kVersion, version_size, out);
  if (version != 0) {
    out = WriteVarint(WireTag(kWrappedValue, WireType::kVarint), out);
    out = WriteVarint(static_cast<uint64_t>(version), out);
  }
  if (!result.signature_name.empty()) {
    out = WriteBytesField(kSignatureName, result.signature_name, out);
  }
  return slices.Finish(out);
}

}  // namespace tessera::serving
