#include "serving/frontend/wire/testing/predict_request_contents.h"

#include <grpcpp/support/slice.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/frontend/wire/wire_predict_request.h"
#include "serving/servables/serving_proto.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::serving {
namespace {

// The bytes are compared as well, because numbers are rounded in text.
std::string Describe(const Tensor& tensor) {
  std::string text = tensor.ToString(1000);
  if (IsTriviallyCopyable(tensor.dtype())) {
    absl::StrAppend(&text, " ", absl::string_view(tensor.raw(), tensor.size_bytes()));
  }
  return text;
}

void DescribeSpec(const ModelSpec& spec, PredictRequestContents* contents) {
  contents->model = std::string(spec.name);
  contents->signature = std::string(spec.signature_name);
  contents->version = spec.version;
  if (spec.label) contents->label = std::string(*spec.label);
}

}  // namespace

std::string PredictRequestContents::ToString() const {
  if (!is_request) return "no request";
  return absl::CHexEscape(
      absl::StrCat(has_model_spec ? "" : "without spec, ", model, ":", signature, " version ",
                   version ? absl::StrCat(*version) : "none", " label ", label.value_or("none"),
                   " inputs ", absl::StrJoin(inputs, ";", absl::PairFormatter("=")), " filter ",
                   absl::StrJoin(filter, ",")));
}

PredictRequestContents ReadByLibrary(const std::string& bytes, int64_t max_tensor_bytes) {
  PredictRequestContents contents;
  tensorflow::serving::PredictRequest proto;
  if (!proto.ParseFromString(bytes)) return contents;
  contents.is_request = true;
  contents.has_model_spec = proto.has_model_spec();
  DescribeSpec(ViewModelSpec(proto.model_spec()), &contents);
  contents.filter.assign(proto.output_filter().begin(), proto.output_filter().end());
  for (const auto& [name, tensor_proto] : proto.inputs()) {
    const absl::StatusOr<Tensor> tensor = TensorFromProto(tensor_proto, max_tensor_bytes);
    contents.inputs[name] =
        tensor.ok() ? Describe(*tensor)
                    : absl::InvalidArgumentError(absl::StrCat("tensor parsing error: ", name, ": ",
                                                              tensor.status().message()))
                          .ToString();
  }
  return contents;
}

PredictRequestContents ReadByWire(const grpc::ByteBuffer& bytes, int64_t max_tensor_bytes) {
  PredictRequestContents contents;
  WirePredictRequest request(max_tensor_bytes);
  if (!request.Read(bytes).ok()) return contents;
  contents.is_request = true;
  contents.has_model_spec = request.has_model_spec();
  DescribeSpec(request.model_spec(), &contents);
  const auto input = [&](size_t i) { return request.DecodeInput(i); };
  const PredictRequest view = request.View(input);
  for (const absl::string_view name : view.output_filter) contents.filter.emplace_back(name);
  for (size_t i = 0; i < view.input_names.size(); ++i) {
    const absl::StatusOr<Tensor> tensor = view.input(i);
    contents.inputs[std::string(view.input_names[i])] =
        tensor.ok() ? Describe(*tensor) : tensor.status().ToString();
  }
  return contents;
}

grpc::ByteBuffer InChunks(absl::string_view bytes, size_t chunk_size) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += chunk_size) {
    slices.emplace_back(bytes.data() + at, std::min(chunk_size, bytes.size() - at));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace tessera::serving
