// A platform of a test's own, served by all protocols, which know the Servable interface alone.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/host/pace.h"
#include "serving/frontend/grpc/grpc_server.h"
#include "serving/frontend/http/testing/http_client.h"
#include "serving/frontend/kserve/model_repository.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_server.h"
#include "serving/servables/servable.h"
#include "serving/servables/served_models.h"
#include "serving/servables/testing/servable_loader.h"
#include "tensorflow_serving/apis/prediction_service.grpc.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
namespace tfs = tensorflow::serving;
using ::testing::HasSubstr;

// While this is set, every call of an EchoServable finds no memory.
std::atomic<bool> lacks_memory = false;

void Allocate() {
  if (lacks_memory) throw std::bad_alloc();
}

// Answers Predict with its input "in" as its output "out".
class EchoServable : public Servable {
 public:
  explicit EchoServable(const ServableId& id)
      : Servable({.id = id,
                  .platform = "echo",
                  .signatures = {{"serving_default",
                                  {.inputs = {{"in", {DType::kFloat, {-1}}}},
                                   .outputs = {{"out", {DType::kFloat, PartialShape()}}},
                                   .method_name = std::string(kPredictMethod)}}}}) {}

  absl::Status Predict(const PredictRequest& request, const CallOptions&,
                       PredictResult* result) const override {
    Allocate();
    const auto signature = info().signatures.find(kDefaultSignature);
    if (request.input_names.size() != 1 || request.input_names[0] != "in") {
      return absl::InvalidArgumentError("an echo needs one input, 'in'");
    }
    absl::StatusOr<Tensor> input = request.input(0);
    if (!input.ok()) return input.status();
    result->signature_name = signature->first;
    result->outputs.push_back({signature->second.outputs.begin()->first, *std::move(input)});
    return absl::OkStatus();
  }
  absl::Status Classify(const ExamplesRequest& request, const CallOptions& options,
                        ClassifyResult* result) const override {
    Allocate();
    return Servable::Classify(request, options, result);
  }
  absl::Status MultiInference(absl::Span<const InferenceTask> tasks,
                              absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                              const CallOptions& options,
                              std::vector<InferenceResult>* results) const override {
    Allocate();
    return Servable::MultiInference(tasks, examples, options, results);
  }
  void FillSignatureDefs(tfs::SignatureDefMap* map) const override {
    Allocate();
    Servable::FillSignatureDefs(map);
  }
};

// A server of both protocols with version 7 of the model `m`.
class PlatformTest : public ::testing::Test {
 protected:
  PlatformTest() {
    std::string pattern = "/tmp/echo_XXXXXX";  // the path of a Unix socket must be short
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "m/7");
    ServedModels::Options options;
    options.source = {.poll_interval = absl::Milliseconds(5), .settle_time = absl::ZeroDuration()};
    options.platforms["echo"] = [](const ServableId& id,
                                   const std::string&) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<ServableLoader>(
          [id] { return std::make_unique<const EchoServable>(id); });
    };
    models_ = std::make_unique<ServedModels>(options);
    tfs::ModelServerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model_config_list { config { name: 'm' base_path: '", (root_ / "m").string(),
                     "' model_platform: 'echo' } }"),
        &config));
    EXPECT_TRUE(models_->ApplyConfig(config).ok());
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_);
    repository_ = std::make_unique<ModelRepository>(ModelRepository::Options{}, handler_.get(),
                                                    models_.get());
    GrpcServer::Options grpc;
    grpc.socket_path = (root_ / "socket").string();
    grpc_ = *GrpcServer::Start(grpc, handler_.get(), repository_.get());
    rest_ = *RestServer::Start({}, handler_.get(), repository_.get());
    stub_ = tfs::PredictionService::NewStub(
        grpc::CreateChannel("unix:" + grpc.socket_path, grpc::InsecureChannelCredentials()));
  }
  ~PlatformTest() override {
    stub_.reset();
    rest_.reset();
    grpc_.reset();
    repository_.reset();
    handler_.reset();
    models_.reset();
    fs::remove_all(root_);
  }

  // Returns the body of the reply without blanks and line ends.
  std::string AskByRest(absl::string_view method, absl::string_view target,
                        absl::string_view body = "") {
    HttpTestClient client(rest_->port());
    return absl::StrReplaceAll(
        client.Ask(method, target, body).value_or(HttpTestClient::Reply()).body,
        {{" ", ""}, {"\n", ""}});
  }
  template <typename Message>
  static Message Parse(const std::string& text) {
    Message message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
    return message;
  }

  fs::path root_;
  MetricsRegistry metrics_;
  Pacer pacer_;
  std::unique_ptr<ServedModels> models_;
  std::unique_ptr<RequestHandler> handler_;
  std::unique_ptr<ModelRepository> repository_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<RestServer> rest_;
  std::unique_ptr<tfs::PredictionService::Stub> stub_;
};

TEST_F(PlatformTest, PredictsByBothFrontEnds) {
  EXPECT_EQ(AskByRest("POST", "/v1/models/m:predict", R"({"instances": [1.5, 2]})"),
            R"({"predictions":[1.5,2.0]})");
  tfs::PredictResponse response;
  grpc::ClientContext context;
  const grpc::Status status = stub_->Predict(
      &context,
      Parse<tfs::PredictRequest>("model_spec { name: 'm' } inputs { key: 'in' value { dtype: "
                                 "DT_FLOAT tensor_shape {} float_val: 3 } }"),
      &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.outputs().at("out").float_val(0), 3);
  EXPECT_EQ(response.model_spec().version().value(), 7);
  EXPECT_EQ(response.model_spec().signature_name(), "serving_default");
}

TEST_F(PlatformTest, ErrorsAreThoseOfTheServable) {
  tfs::PredictResponse response;
  grpc::ClientContext context;
  const grpc::Status status =
      stub_->Predict(&context, Parse<tfs::PredictRequest>("model_spec { name: 'm' }"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "an echo needs one input, 'in'");
}

TEST_F(PlatformTest, ExamplesAreRefusedByAPlatformWithoutThem) {
  EXPECT_THAT(AskByRest("POST", "/v1/models/m:classify", R"({"examples": [{"x": 1}]})"),
              HasSubstr("modelsofplatformechodonotanswerClassify"));
  tfs::RegressionResponse response;
  grpc::ClientContext context;
  const grpc::Status status = stub_->Regress(
      &context, Parse<tfs::RegressionRequest>("model_spec { name: 'm' }"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  tfs::MultiInferenceResponse results;
  grpc::ClientContext another;
  EXPECT_EQ(stub_
                ->MultiInference(&another,
                                 Parse<tfs::MultiInferenceRequest>(
                                     "tasks { model_spec { name: 'm' } method_name: "
                                     "'tensorflow/serving/regress' }"),
                                 &results)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(PlatformTest, IsServedByTheProtocolOfKServe) {
  EXPECT_THAT(
      AskByRest(
          "POST", "/v2/models/m/infer",
          R"({"inputs": [{"name": "in", "datatype": "FP32", "shape": [2], "data": [1.5, 2]}]})"),
      HasSubstr(R"("outputs":[{"name":"out","datatype":"FP32","shape":[2],"data":[1.5,2.0]}])"));
  const std::string metadata = AskByRest("GET", "/v2/models/m");
  EXPECT_THAT(metadata, HasSubstr(R"("platform":"echo")"));
  EXPECT_THAT(metadata, HasSubstr(R"("inputs":[{"name":"in","datatype":"FP32","shape":[-1]}])"));
  EXPECT_THAT(AskByRest("GET", "/v2/models/m/stats"), HasSubstr(R"("version":"7")"));
}

TEST_F(PlatformTest, MetadataAreMadeFromTheSignatures) {
  tfs::GetModelMetadataResponse response;
  grpc::ClientContext context;
  const grpc::Status status =
      stub_->GetModelMetadata(&context,
                              Parse<tfs::GetModelMetadataRequest>(
                                  "model_spec { name: 'm' } metadata_field: 'signature_def'"),
                              &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  tfs::SignatureDefMap map;
  ASSERT_TRUE(response.metadata().at("signature_def").UnpackTo(&map));
  const auto& signature = map.signature_def().at("serving_default");
  EXPECT_EQ(signature.method_name(), kPredictMethod);
  EXPECT_EQ(signature.inputs().at("in").dtype(), tensorflow::DT_FLOAT);
  EXPECT_EQ(signature.inputs().at("in").tensor_shape().dim(0).size(), -1);
  EXPECT_TRUE(signature.outputs().at("out").tensor_shape().unknown_rank());
  EXPECT_THAT(AskByRest("GET", "/v1/models/m/metadata"),
              HasSubstr(R"("inputs":{"in":{"dtype":"DT_FLOAT")"));
  EXPECT_THAT(AskByRest("GET", "/v1/models/m"), HasSubstr(R"("state":"AVAILABLE")"));
}

TEST_F(PlatformTest, LackOfMemoryEndsARequestAndNotTheServer) {
  const absl::Cleanup has_memory = [] { lacks_memory = false; };
  lacks_memory = true;
  const std::string error = R"({"error":"therequest:thereisnotenoughmemory"})";
  EXPECT_EQ(AskByRest("POST", "/v1/models/m:predict", R"({"instances": [1]})"), error);
  EXPECT_EQ(AskByRest("POST", "/v1/models/m:classify", R"({"examples": [{"x": 1}]})"), error);
  EXPECT_EQ(AskByRest("GET", "/v1/models/m/metadata"), error);
  EXPECT_EQ(
      AskByRest("POST", "/v2/models/m/infer",
                R"({"inputs": [{"name": "in", "datatype": "FP32", "shape": [1], "data": [1]}]})"),
      error);

  const auto check = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(), "the request: there is not enough memory");
  };
  const auto ask = [&](auto method, const auto& request, auto response) {
    grpc::ClientContext context;
    check((stub_.get()->*method)(&context, request, &response));
  };
  using Stub = tfs::PredictionService::Stub;
  ask(&Stub::Predict, Parse<tfs::PredictRequest>("model_spec { name: 'm' }"),
      tfs::PredictResponse());
  ask(&Stub::Classify, Parse<tfs::ClassificationRequest>("model_spec { name: 'm' }"),
      tfs::ClassificationResponse());
  ask(&Stub::MultiInference,
      Parse<tfs::MultiInferenceRequest>("tasks { model_spec { name: 'm' } }"),
      tfs::MultiInferenceResponse());
  ask(&Stub::GetModelMetadata,
      Parse<tfs::GetModelMetadataRequest>(
          "model_spec { name: 'm' } metadata_field: 'signature_def'"),
      tfs::GetModelMetadataResponse());

  lacks_memory = false;
  EXPECT_EQ(AskByRest("POST", "/v1/models/m:predict", R"({"instances": [1]})"),
            R"({"predictions":[1.0]})");
}

}  // namespace
}  // namespace tessera::serving
