// Decodes one request again and again, for counting instructions:
//
//   decode_runner FORM TIMES
//
// FORM: grpc_small    three floats as float_val
//       grpc_floats   100,000 floats as float_val
//       grpc_content  4 MiB of tensor_content
//       rest_small    {"instances": [1.0, 2.0, 5.0]}
//       rest_floats   100,000 floats of nine digits in rows of eight
//       rest_digits   100,000 floats of one digit, some negative, in rows of eight
#include <cstdio>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/frontend/wire/wire_predict_request.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::serving {
namespace {

constexpr int kMany = 100'000;
constexpr int64_t kContentBytes = int64_t{4} << 20;

std::string GrpcRequest(absl::string_view form) {
  tensorflow::serving::PredictRequest request;
  request.mutable_model_spec()->set_name("model");
  tensorflow::TensorProto& x = (*request.mutable_inputs())["x"];
  x.set_dtype(tensorflow::DT_FLOAT);
  int64_t size = 3;
  if (form == "grpc_content") {
    size = kContentBytes / static_cast<int64_t>(sizeof(float));
    x.set_tensor_content(std::string(kContentBytes, '\x3f'));
  } else {
    if (form == "grpc_floats") size = kMany;
    for (int64_t i = 0; i < size; ++i) x.add_float_val(static_cast<float>(i));
  }
  x.mutable_tensor_shape()->add_dim()->set_size(size);
  return request.SerializeAsString();
}

std::string RestRequest(absl::string_view form) {
  if (form == "rest_small") return "{\"instances\": [1.0, 2.0, 5.0]}";
  std::mt19937 random(1);
  std::uniform_real_distribution<double> value(-1, 1);
  std::string json = "{\"instances\": [";
  char text[32];
  for (int i = 0; i < kMany; ++i) {
    std::snprintf(text, sizeof(text), form == "rest_digits" ? "%.0f" : "%.9g", value(random));
    absl::StrAppend(&json, i == 0 ? "[" : i % 8 == 0 ? "], [" : ", ", text);
  }
  return json + "]]}";
}

absl::Status DecodeGrpc(const grpc::ByteBuffer& message) {
  WirePredictRequest request;
  RETURN_IF_ERROR(request.Read(message));
  return request.DecodeInput(0).status();
}

absl::Status DecodeRest(const std::string& json) {
  const InputType type = {"x", DType::kFloat};
  const auto find = [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> {
    return absl::MakeConstSpan(&type, 1);
  };
  PredictBody body;
  return DecodePredictBody(json, find, &body);
}

absl::Status Repeat(absl::string_view form, int times) {
  if (absl::StartsWith(form, "rest_")) {
    const std::string json = RestRequest(form);
    for (int i = 0; i < times; ++i) RETURN_IF_ERROR(DecodeRest(json));
    return absl::OkStatus();
  }
  const grpc::Slice slice(GrpcRequest(form));
  const grpc::ByteBuffer message(&slice, 1);
  for (int i = 0; i < times; ++i) RETURN_IF_ERROR(DecodeGrpc(message));
  return absl::OkStatus();
}

// Small blocks of all sizes, which stay allocated as in a server. Without them a free often leaves
// no block of its size, and then mimalloc retires the page: that would be counted as decoding.
std::vector<std::unique_ptr<char[]>> HoldSmallBlocks() {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t size = 8; size <= 1024; size += 8) blocks.push_back(std::make_unique<char[]>(size));
  return blocks;
}

int Main(int argc, char** argv) {
  const std::vector<std::unique_ptr<char[]>> held = HoldSmallBlocks();
  int times = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &times)) {
    std::cerr << "usage: decode_runner FORM TIMES\n";
    return 2;
  }
  const absl::Status status = Repeat(argv[1], times);
  if (status.ok()) return 0;
  std::cerr << "decode_runner: " << status.ToString() << "\n";
  return 1;
}

}  // namespace
}  // namespace tessera::serving

int main(int argc, char** argv) { return tessera::serving::Main(argc, argv); }
