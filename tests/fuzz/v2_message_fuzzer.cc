// Any bytes as a ModelInferRequest of KServe's protocol, in one piece and in several: what is read
// of it is what the protocol buffer library reads, its tensors hold the raw contents that came, and
// a response with them is one that the library reads. The first byte says how the rest is cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/logging.h"
#include "serving/frontend/kserve/datatype.h"
#include "serving/frontend/kserve/raw_contents.h"
#include "serving/frontend/kserve/wire_infer.h"
#include "serving/frontend/wire/testing/predict_request_contents.h"

namespace tessera::serving {
namespace {

std::string RawBytes(const Tensor& tensor) {
  std::string raw(RawSize(tensor), '\0');
  CHECK(WriteRaw(tensor, raw.data()) == raw.data() + raw.size());
  return raw;
}

std::string Joined(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  CHECK(bytes.Dump(&slices).ok());
  std::string joined;
  for (const grpc::Slice& slice : slices) {
    joined.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return joined;
}

void CheckResponse(const std::string& id, const PredictResult& result) {
  const ServableId model{"m", 1};
  const auto bytes = EncodeInferResponse(id, model, result, InferEnvelope::kStream);
  CHECK(bytes.ok()) << bytes.status();
  inference::ModelStreamInferResponse stream;
  CHECK(stream.ParseFromString(Joined(*bytes)));
  const inference::ModelInferResponse& response = stream.infer_response();
  CHECK(response.id() == id && response.model_name() == "m" && response.model_version() == "1");
  CHECK(response.outputs_size() == static_cast<int>(result.outputs.size()));
  CHECK(response.raw_output_contents_size() == response.outputs_size());
  for (int i = 0; i < response.outputs_size(); ++i) {
    CHECK(response.raw_output_contents(i) == RawBytes(result.outputs[i].tensor));
  }
  const auto alone = EncodeInferResponse(id, model, result, InferEnvelope::kNone);
  CHECK(alone.ok()) << alone.status();
  CHECK(Joined(*alone) == response.SerializeAsString());
}

void Check(const std::string& bytes, size_t chunk_size) {
  inference::ModelInferRequest expected;
  const bool is_request = expected.ParseFromString(bytes);
  WireInferRequest wire;
  CHECK(wire.Read(InChunks(bytes, chunk_size)).ok() == is_request);
  if (!is_request) return;
  CHECK(wire.model_name() == expected.model_name() && wire.id() == expected.id());
  CHECK(wire.model_version() == expected.model_version());
  const absl::StatusOr<InferRequest> request = wire.Request();
  if (!request.ok()) return;
  CHECK(request->inputs.size() == static_cast<size_t>(expected.inputs_size()));
  CHECK(request->outputs.size() == static_cast<size_t>(expected.outputs_size()));
  PredictResult result;
  for (size_t i = 0; i < request->inputs.size(); ++i) {
    const InferInput& input = request->inputs[i];
    const DType dtype = DTypeOfDatatype(input.datatype);
    const absl::StatusOr<Shape> shape = Shape::Make(input.shape);
    if (dtype == DType::kInvalid || !shape.ok()) continue;
    const absl::StatusOr<Tensor> tensor = wire.Elements(i, dtype, *shape);
    if (!tensor.ok()) continue;
    CHECK(tensor->dtype() == dtype && tensor->shape() == *shape);
    if (expected.raw_input_contents_size() > 0) {
      std::string raw = expected.raw_input_contents(static_cast<int>(i));
      if (dtype == DType::kBool) {  // any byte that is not zero is true
        for (char& byte : raw) byte = byte != 0;
      }
      CHECK(RawBytes(*tensor) == raw);
    }
    result.outputs.push_back({input.name, *tensor});
  }
  CheckResponse(request->id, result);
}

}  // namespace
}  // namespace tessera::serving

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  tessera::serving::Check(bytes, data[0] == 0 ? size : data[0]);
  return 0;
}
