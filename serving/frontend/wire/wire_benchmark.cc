// Measures reading a Predict request and writing its reply, both straight from the wire and through
// protocol buffer messages.
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <string>
#include <utility>

#include "benchmark/benchmark.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/frontend/wire/wire_predict_request.h"
#include "serving/frontend/wire/wire_predict_response.h"
#include "serving/servables/serving_proto.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::serving {
namespace {

// gRPC reads from a socket in slices of about this size.
constexpr size_t kSliceBytes = 16 << 10;

grpc::ByteBuffer Request(int64_t elements, TensorProtoForm form) {
  tensorflow::serving::PredictRequest request;
  request.mutable_model_spec()->set_name("model");
  const Tensor tensor = *Tensor::Zeros(DType::kFloat, {elements});
  TensorToProto(tensor, form, &(*request.mutable_inputs())["x"]).IgnoreError();
  const std::string bytes = request.SerializeAsString();
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += kSliceBytes) {
    slices.emplace_back(bytes.data() + at, std::min(kSliceBytes, bytes.size() - at));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TensorProtoForm Form(const benchmark::State& state) {
  return state.range(1) == 0 ? TensorProtoForm::kTypedFields : TensorProtoForm::kTensorContent;
}

void BM_ReadWire(benchmark::State& state) {
  const grpc::ByteBuffer bytes = Request(state.range(0), Form(state));
  for (auto _ : state) {
    WirePredictRequest request;
    if (!request.Read(bytes).ok()) state.SkipWithError("not read");
    benchmark::DoNotOptimize(request.DecodeInput(0));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.Length()));
}

void BM_ReadMessage(benchmark::State& state) {
  const grpc::ByteBuffer bytes = Request(state.range(0), Form(state));
  for (auto _ : state) {
    grpc::ByteBuffer copy = bytes;
    tensorflow::serving::PredictRequest message;
    if (!grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::MessageLite>(&copy,
                                                                                          &message)
             .ok()) {
      state.SkipWithError("not read");
    }
    const ProtoPredictRequest request(&message);
    benchmark::DoNotOptimize(request.DecodeInput(0));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.Length()));
}

PredictResult Result(int64_t elements) {
  PredictResult result{.signature_name = "serving_default"};
  result.outputs.push_back({"y", *Tensor::Zeros(DType::kFloat, {elements})});
  return result;
}

void BM_WriteWire(benchmark::State& state) {
  const PredictResult result = Result(state.range(0));
  int64_t bytes = 0;
  for (auto _ : state) {
    const auto encoded = EncodePredictResponse("model", 1, result, Form(state));
    bytes += static_cast<int64_t>(encoded->Length());
  }
  state.SetBytesProcessed(bytes);
}

void BM_WriteMessage(benchmark::State& state) {
  const PredictResult result = Result(state.range(0));
  int64_t bytes = 0;
  for (auto _ : state) {
    tensorflow::serving::PredictResponse response;
    FillModelSpec({"model", 1}, result.signature_name, response.mutable_model_spec());
    for (const NamedOutput& output : result.outputs) {
      TensorToProto(output.tensor, Form(state),
                    &(*response.mutable_outputs())[std::string(output.name)])
          .IgnoreError();
    }
    grpc::ByteBuffer encoded;
    bool own = false;
    if (!grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::MessageLite>(
             response, &encoded, &own)
             .ok()) {
      state.SkipWithError("not written");
    }
    bytes += static_cast<int64_t>(encoded.Length());
  }
  state.SetBytesProcessed(bytes);
}

// The number of elements; 0 for typed fields, 1 for tensor_content.
#define SIZES ArgsProduct({{1, 1 << 20}, {0, 1}})
BENCHMARK(BM_ReadWire)->SIZES;
BENCHMARK(BM_ReadMessage)->SIZES;
BENCHMARK(BM_WriteWire)->SIZES;
BENCHMARK(BM_WriteMessage)->SIZES;
#undef SIZES

}  // namespace
}  // namespace tessera::serving

BENCHMARK_MAIN();
