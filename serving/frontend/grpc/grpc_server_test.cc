#include "serving/frontend/grpc/grpc_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <list>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/host/pace.h"
#include "serving/servables/saved_model/testing/linear_session.h"
#include "serving/servables/served_models.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
namespace tfs = tensorflow::serving;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A server with model `m`, versions 1 (label `stable`) and 2, over a Unix socket.
class GrpcServerTest : public ::testing::Test {
 protected:
  GrpcServerTest() {
    // Not in TempDir(): a Unix socket's path has 107 bytes, and Bazel's folders can be longer.
    std::string pattern = "/tmp/grpc_XXXXXX";
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "m/1");
    fs::create_directories(root_ / "m/2");
    ServedModels::Options options;
    options.manager.max_load_retries = 0;
    options.source = {.poll_interval = absl::Milliseconds(10), .settle_time = absl::ZeroDuration()};
    options.platforms["tensorflow"] =
        [this](const ServableId&,
               const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<LinearLoader>(directory, &log_);
    };
    models_ = std::make_unique<ServedModels>(options);
    EXPECT_TRUE(models_->ApplyConfig(Config("model_version_policy { all {} }")).ok());
    while (!models_->Acquire({.name = "m", .version = 1}).ok()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_TRUE(models_
                    ->ApplyConfig(Config("model_version_policy { all {} } "
                                         "version_labels { key: 'stable' value: 1 }"))
                    .ok());
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_);
    Start({});
  }
  ~GrpcServerTest() override {
    server_.reset();
    handler_.reset();
    models_.reset();
    fs::remove_all(root_);
  }

  tfs::ModelServerConfig Config(const std::string& rest) {
    tfs::ModelServerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model_config_list { config { name: 'm' base_path: '", (root_ / "m").string(),
                     "' model_platform: 'tensorflow' ", rest, " } }"),
        &config));
    return config;
  }
  void Start(GrpcServer::Options options, ModelRepository* repository = nullptr) {
    server_.reset();
    options.socket_path = (root_ / "socket").string();
    auto server = GrpcServer::Start(options, handler_.get(), repository);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ =
        grpc::CreateChannel("unix:" + options.socket_path, grpc::InsecureChannelCredentials());
    predictions_ = tfs::PredictionService::NewStub(channel_);
    model_service_ = tfs::ModelService::NewStub(channel_);
  }
  template <typename Message>
  static Message Parse(const std::string& text) {
    Message message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
    return message;
  }
  grpc::Status Predict(const std::string& request, tfs::PredictResponse* response,
                       absl::Duration timeout = absl::Seconds(20)) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    return predictions_->Predict(&context, Parse<tfs::PredictRequest>(request), response);
  }
  // A call whose message is only bytes, from when it is sent.
  struct BytesCall {
    BytesCall(grpc::GenericStub* stub, const std::string& method, const std::string& bytes)
        : request_slice(bytes), request(&request_slice, 1) {
      stub->UnaryCall(&context, method, {}, &request, &response, [this](grpc::Status result) {
        status = std::move(result);
        ended.Notify();
      });
    }
    const grpc::Slice request_slice;
    const grpc::ByteBuffer request;
    grpc::ClientContext context;
    grpc::ByteBuffer response;
    grpc::Status status;
    absl::Notification ended;
  };
  static void ExpectText(const google::protobuf::Message& message, const std::string& text) {
    std::unique_ptr<google::protobuf::Message> expected(message.New());
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, expected.get()));
    EXPECT_EQ(message.DebugString(), expected->DebugString());
  }
  static void ExpectError(const grpc::Status& status, grpc::StatusCode code,
                          const std::string& text) {
    EXPECT_EQ(status.error_code(), code);
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  }

  fs::path root_;
  LinearSessionLog log_;
  MetricsRegistry metrics_;
  Pacer pacer_;
  std::unique_ptr<ServedModels> models_;
  std::unique_ptr<RequestHandler> handler_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<tfs::PredictionService::Stub> predictions_;
  std::unique_ptr<tfs::ModelService::Stub> model_service_;
};

// Bytes that are no message.
constexpr char kEndOfAGroup[] = "\x0c";

constexpr char kX[] =
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 2 } } ";

TEST_F(GrpcServerTest, FailuresOfEveryMethodAreLoggedWithTheirTrace) {
  constexpr char kTraceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  // Returns what is logged of a call. A handler of its own, because one logs a line a second.
  const auto logged = [&](const auto& call, std::vector<std::string> traceparents) {
    server_.reset();
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_);
    Start({});
    grpc::ClientContext context;
    for (const std::string& value : traceparents) context.AddMetadata("traceparent", value);
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(call(&context).ok());
    return ::testing::internal::GetCapturedStderr();
  };
  const auto predict = [&](grpc::ClientContext* context) {
    tfs::PredictResponse response;
    return predictions_->Predict(context, Parse<tfs::PredictRequest>("model_spec { name: 'gone' }"),
                                 &response);
  };
  const auto multi_inference = [&](grpc::ClientContext* context) {
    tfs::MultiInferenceResponse response;
    return predictions_->MultiInference(
        context, Parse<tfs::MultiInferenceRequest>("tasks { model_spec { name: 'gone' } }"),
        &response);
  };
  const auto metadata = [&](grpc::ClientContext* context) {
    tfs::GetModelMetadataResponse response;
    return predictions_->GetModelMetadata(
        context,
        Parse<tfs::GetModelMetadataRequest>(
            "model_spec { name: 'gone' } metadata_field: 'signature_def'"),
        &response);
  };
  const auto status = [&](grpc::ClientContext* context) {
    tfs::GetModelStatusResponse response;
    return model_service_->GetModelStatus(
        context, Parse<tfs::GetModelStatusRequest>("model_spec { name: 'gone' }"), &response);
  };
  const auto reload = [&](grpc::ClientContext* context) {
    tfs::ReloadConfigResponse response;
    return model_service_->HandleReloadConfigRequest(context, {}, &response);
  };
  constexpr char kTrace[] = "; trace 4bf92f3577b34da6a3ce929d0e0e4736\n";
  EXPECT_THAT(logged(predict, {kTraceparent}),
              AllOf(HasSubstr("grpc Predict of model 'gone': NOT_FOUND"), HasSubstr(kTrace)));
  EXPECT_THAT(logged(multi_inference, {kTraceparent}),
              AllOf(HasSubstr("grpc MultiInference of model 'gone': "), HasSubstr(kTrace)));
  EXPECT_THAT(logged(metadata, {kTraceparent}),
              AllOf(HasSubstr("grpc GetModelMetadata of model 'gone': "), HasSubstr(kTrace)));
  EXPECT_THAT(logged(status, {kTraceparent}),
              AllOf(HasSubstr("grpc GetModelStatus of model 'gone': "), HasSubstr(kTrace)));
  EXPECT_THAT(logged(reload, {}),
              AllOf(HasSubstr("grpc HandleReloadConfigRequest: INVALID_ARGUMENT"),
                    Not(HasSubstr("trace"))));
  // Malformed, or told twice: as if it were not there.
  EXPECT_THAT(logged(predict, {"00-4bf9-00f0-01"}), Not(HasSubstr("trace")));
  EXPECT_THAT(logged(predict, {kTraceparent, kTraceparent}), Not(HasSubstr("trace")));
}

TEST_F(GrpcServerTest, PacedWorkLearnsOfRequests) {
  EXPECT_FALSE(pacer_.RequestsCome());
  tfs::PredictResponse response;
  ASSERT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
  EXPECT_TRUE(pacer_.RequestsCome());
}

TEST_F(GrpcServerTest, PredictAnswersWithTypedFields) {
  for (int i = 0; i < 3; ++i) {  // on the pool first, then on gRPC's thread
    tfs::PredictResponse response;
    ASSERT_TRUE(
        Predict(absl::StrCat("model_spec { name: 'm' } ", kX, "output_filter: 'y'"), &response)
            .ok());
    ExpectText(response,
               "model_spec { name: 'm' version { value: 2 } signature_name: 'serving_default' } "
               "outputs { key: 'y' value { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } "
               "float_val: 3 } }");
  }
}

TEST_F(GrpcServerTest, VersionsAndLabelsChoose) {
  tfs::PredictResponse response;
  ASSERT_TRUE(
      Predict(absl::StrCat("model_spec { name: 'm' version { value: 1 } } ", kX), &response).ok());
  EXPECT_EQ(response.model_spec().version().value(), 1);
  ASSERT_TRUE(
      Predict(absl::StrCat("model_spec { name: 'm' version_label: 'stable' } ", kX), &response)
          .ok());
  EXPECT_EQ(response.model_spec().version().value(), 1);
  EXPECT_EQ(response.model_spec().version_label(), "");
  ExpectError(Predict(absl::StrCat("model_spec { name: 'm' version {} } ", kX), &response),
              grpc::StatusCode::NOT_FOUND, "Specific(m, 0)");
  ExpectError(Predict("model_spec { name: 'm' version_label: 'zz' }", &response),
              grpc::StatusCode::INVALID_ARGUMENT, "Unrecognized servable version label: zz");
  ExpectError(Predict("model_spec { name: 'zz' }", &response), grpc::StatusCode::NOT_FOUND,
              "Servable not found for request: Latest(zz)");
  ExpectError(Predict(kX, &response), grpc::StatusCode::INVALID_ARGUMENT, "Missing ModelSpec");
}

TEST_F(GrpcServerTest, BadTensorsAreNamed) {
  tfs::PredictResponse response;
  ExpectError(Predict("model_spec { name: 'm' } inputs { key: 'x' value { dtype: DT_FLOAT "
                      "tensor_shape { dim { size: 2 } } tensor_content: 'ab' } }",
                      &response),
              grpc::StatusCode::INVALID_ARGUMENT, "tensor parsing error: x");
}

TEST_F(GrpcServerTest, BytesThatAreNoRequestAreAnInternalError) {
  grpc::GenericStub stub(channel_);
  for (const std::string method :
       {"PredictionService/Predict", "PredictionService/Classify", "PredictionService/Regress",
        "PredictionService/MultiInference", "PredictionService/GetModelMetadata",
        "ModelService/GetModelStatus", "ModelService/HandleReloadConfigRequest"}) {
    BytesCall call(&stub, "/tensorflow.serving." + method, kEndOfAGroup);
    call.ended.WaitForNotification();
    SCOPED_TRACE(method);
    ExpectError(call.status, grpc::StatusCode::INTERNAL,
                "the request is not a tensorflow.serving.");
  }
}

TEST_F(GrpcServerTest, LargeMessagesAreParsedOnThePool) {
  ModelRepository repository({}, handler_.get(), models_.get());
  GrpcServer::Options options;
  options.max_threads = 1;
  Start(options, &repository);
  absl::Notification running, release;
  log_.on_run = [&](const RunOptions&) {
    running.Notify();
    release.WaitForNotification();
    return absl::OkStatus();
  };
  std::thread client([&] {
    tfs::PredictResponse response;
    EXPECT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
  });
  running.WaitForNotification();  // on the only thread of the pool
  grpc::GenericStub stub(channel_);
  std::list<BytesCall> calls;
  for (const std::string method : {"tensorflow.serving.PredictionService/Classify",
                                   "tensorflow.serving.PredictionService/Regress",
                                   "tensorflow.serving.PredictionService/MultiInference",
                                   "tensorflow.serving.PredictionService/GetModelMetadata",
                                   "tensorflow.serving.ModelService/GetModelStatus",
                                   "inference.GRPCInferenceService/ModelInfer",
                                   "inference.GRPCInferenceService/ModelStreamInfer"}) {
    // Whoever parses the message sees at its begin that it is none.
    BytesCall& call =
        calls.emplace_back(&stub, "/" + method, kEndOfAGroup + std::string(1 << 20, '\0'));
    const std::string queue = absl::StrCat("pool_queue_length{pool=\"grpc\"} ", calls.size(), "\n");
    while (!absl::StrContains(metrics_.RenderMetrics(), queue) && !call.ended.HasBeenNotified()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_FALSE(call.ended.HasBeenNotified()) << method;
  }
  release.Notify();
  client.join();
  for (BytesCall& call : calls) {
    call.ended.WaitForNotification();
    ExpectError(call.status, grpc::StatusCode::INTERNAL, "the request is not a");
  }
  server_.reset();
}

TEST_F(GrpcServerTest, LargeRequestsAreAnswered) {
  tfs::ClassificationRequest request =
      Parse<tfs::ClassificationRequest>("model_spec { name: 'm' signature_name: 'classify' }");
  auto* const examples = request.mutable_input()->mutable_example_list();
  const std::string unused(1 << 20, 'u');
  for (int i = 0; i < 2; ++i) {
    (*examples->add_examples()->mutable_features()->mutable_feature())["unused"]
        .mutable_bytes_list()
        ->add_value(unused);
  }
  grpc::ClientContext context;
  tfs::ClassificationResponse response;
  ASSERT_TRUE(predictions_->Classify(&context, request, &response).ok());
  EXPECT_EQ(response.result().classifications_size(), 2);
}

TEST_F(GrpcServerTest, OutputsAsTensorContentIfAskedFor) {
  GrpcServer::Options options;
  options.prediction.output_form = TensorProtoForm::kTensorContent;
  Start(options);
  tfs::PredictResponse response;
  ASSERT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
  EXPECT_EQ(response.outputs().at("y").tensor_content().size(), 4);
  EXPECT_EQ(response.outputs().at("y").float_val_size(), 0);
}

TEST_F(GrpcServerTest, LongMessagesAreCut) {
  log_.on_run = [](const RunOptions&) { return absl::InternalError(std::string(5000, 'e')); };
  tfs::PredictResponse response;
  const grpc::Status status = Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), std::string(1024, 'e') + "...TRUNCATED");
}

TEST_F(GrpcServerTest, ClientsDeadlineReachesTheRun) {
  absl::Notification seen;
  log_.on_run = [&](const RunOptions& options) {
    // The wire rounds the client's 300 ms up, and the clocks of two ends differ a little.
    EXPECT_LT(options.timeout, absl::Milliseconds(400));
    EXPECT_NE(options.cancellation, nullptr);
    while (!options.cancellation->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    seen.Notify();
    return absl::CancelledError("cancelled");
  };
  tfs::PredictResponse response;
  const grpc::Status status =
      Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response, absl::Milliseconds(300));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  seen.WaitForNotification();
}

TEST_F(GrpcServerTest, SlowRequestHoldsUpNobody) {
  absl::Notification release;
  std::atomic<bool> slow{true};
  log_.on_run = [&](const RunOptions&) {
    if (slow.exchange(false)) release.WaitForNotification();
    return absl::OkStatus();
  };
  std::thread waiting([&] {
    tfs::PredictResponse response;
    EXPECT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
  });
  while (slow) absl::SleepFor(absl::Milliseconds(1));
  for (int i = 0; i < 5; ++i) {
    tfs::PredictResponse response;
    EXPECT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
  }
  release.Notify();
  waiting.join();
}

TEST_F(GrpcServerTest, ClassifyRegressAndMultiInference) {
  const std::string input = "input { example_list { examples {} examples {} } } ";
  grpc::ClientContext c1, c2, c3;
  tfs::ClassificationResponse classified;
  ASSERT_TRUE(predictions_
                  ->Classify(&c1,
                             Parse<tfs::ClassificationRequest>(
                                 "model_spec { name: 'm' signature_name: 'classify' } " + input),
                             &classified)
                  .ok());
  ExpectText(classified,
             "result { classifications { classes { label: 'c0' } classes { label: 'c1' score: 0.5 "
             "} } classifications { classes { label: 'c0' score: 1 } classes { label: 'c1' score: "
             "1.5 } } } "
             "model_spec { name: 'm' version { value: 2 } signature_name: 'classify' }");
  tfs::RegressionResponse regressed;
  ASSERT_TRUE(predictions_
                  ->Regress(&c2,
                            Parse<tfs::RegressionRequest>(
                                "model_spec { name: 'm' signature_name: 'regress' } " + input),
                            &regressed)
                  .ok());
  ExpectText(regressed,
             "result { regressions {} regressions { value: 10 } } "
             "model_spec { name: 'm' version { value: 2 } signature_name: 'regress' }");
  tfs::MultiInferenceResponse multi;
  ASSERT_TRUE(predictions_
                  ->MultiInference(
                      &c3,
                      Parse<tfs::MultiInferenceRequest>(
                          "tasks { model_spec { name: 'm' signature_name: 'regress' } method_name: "
                          "'tensorflow/serving/regress' } " +
                          input),
                      &multi)
                  .ok());
  ASSERT_EQ(multi.results_size(), 1);
  EXPECT_EQ(multi.results(0).regression_result().regressions(1).value(), 10);
  EXPECT_EQ(multi.results(0).model_spec().signature_name(), "regress");
  EXPECT_EQ(metrics_.FirstValue("/tensorflow/serving/request_example_count_total"), 2);
}

TEST_F(GrpcServerTest, ContextGoesInFrontOfEachExample) {
  tfs::Input input = Parse<tfs::Input>(
      "example_list_with_context { context { features { feature { key: 'c' value { int64_list { "
      "value: 1 } } } } } examples { features { feature { key: 'x' value { float_list { value: 2 } "
      "} } } } }");
  // Merged on the way in: see ExamplesFromInput().
  grpc::ClientContext context;
  tfs::RegressionRequest request;
  request.mutable_model_spec()->set_name("m");
  request.mutable_model_spec()->set_signature_name("regress");
  *request.mutable_input() = input;
  tfs::RegressionResponse response;
  ASSERT_TRUE(predictions_->Regress(&context, request, &response).ok());
  EXPECT_EQ(response.result().regressions_size(), 1);
}

TEST_F(GrpcServerTest, MetadataShowsSignatures) {
  grpc::ClientContext c1, c2;
  tfs::GetModelMetadataResponse response;
  ASSERT_TRUE(predictions_
                  ->GetModelMetadata(&c1,
                                     Parse<tfs::GetModelMetadataRequest>(
                                         "model_spec { name: 'm' } metadata_field: "
                                         "'signature_def'"),
                                     &response)
                  .ok());
  EXPECT_EQ(response.model_spec().version().value(), 2);
  EXPECT_EQ(response.model_spec().signature_name(), "");
  tfs::SignatureDefMap map;
  ASSERT_TRUE(response.metadata().at("signature_def").UnpackTo(&map));
  EXPECT_EQ(map.signature_def().at("regress").method_name(), "tensorflow/serving/regress");
  ExpectError(predictions_->GetModelMetadata(
                  &c2, Parse<tfs::GetModelMetadataRequest>("model_spec { name: 'm' }"), &response),
              grpc::StatusCode::INVALID_ARGUMENT, "must specify at least one metadata_field");
}

TEST_F(GrpcServerTest, StatusListsVersionsHighestFirst) {
  grpc::ClientContext c1, c2;
  tfs::GetModelStatusResponse response;
  ASSERT_TRUE(model_service_
                  ->GetModelStatus(
                      &c1, Parse<tfs::GetModelStatusRequest>("model_spec { name: 'm' }"), &response)
                  .ok());
  ExpectText(response,
             "model_version_status { version: 2 state: AVAILABLE status {} } "
             "model_version_status { version: 1 state: AVAILABLE status {} }");
  ExpectError(
      model_service_->GetModelStatus(
          &c2, Parse<tfs::GetModelStatusRequest>("model_spec { name: 'm' version { value: 9 } }"),
          &response),
      grpc::StatusCode::NOT_FOUND, "Could not find version 9 of model m");
}

TEST_F(GrpcServerTest, ReloadAppliesAndTellsMetrics) {
  grpc::ClientContext c1, c2;
  tfs::ReloadConfigRequest request;
  *request.mutable_config() = Config("model_version_policy { specific { versions: 1 } }");
  request.add_metric_names("/tensorflow/unknown");
  request.add_metric_names("/tensorflow/serving/request_count");
  tfs::ReloadConfigResponse response;
  const grpc::Status status = model_service_->HandleReloadConfigRequest(&c1, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.metric_size(), 2);
  EXPECT_EQ(response.metric(0).name(), "/tensorflow/serving/request_count");
  ExpectError(model_service_->HandleReloadConfigRequest(&c2, {}, &response),
              grpc::StatusCode::INVALID_ARGUMENT, "Only ModelConfigList is currently supported");
}

TEST_F(GrpcServerTest, AbandonedReloadStopsWaiting) {
  grpc::ClientContext c1, c2;
  c1.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(100)));
  tfs::ReloadConfigRequest request;
  *request.mutable_config() = Config("");
  auto* absent = request.mutable_config()->mutable_model_config_list()->add_config();
  absent->set_name("absent");
  absent->set_base_path((root_ / "absent").string());
  absent->set_model_platform("tensorflow");
  tfs::ReloadConfigResponse response;
  EXPECT_EQ(model_service_->HandleReloadConfigRequest(&c1, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  *request.mutable_config() = Config("");
  c2.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
  EXPECT_TRUE(model_service_->HandleReloadConfigRequest(&c2, request, &response).ok());
}

TEST_F(GrpcServerTest, CountsRequestsByModelAndStatus) {
  tfs::PredictResponse response;
  EXPECT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
  EXPECT_FALSE(Predict("model_spec { name: 'zz' }", &response).ok());
  const std::string page = metrics_.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("request_count{model_name=\"m\",status=\"OK\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("request_count{model_name=\"zz\",status=\"NOT_FOUND\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("request_latency_count{model_name=\"m\",API=\"Predict\",entrypoint="
                              "\"GRPC\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("runtime_latency_count{model_name=\"m\",API=\"Predict\",runtime="
                              "\"TF1\"} 1\n"));
}

TEST_F(GrpcServerTest, ShutdownLetsRequestsUnderWayFinish) {
  absl::Notification running, release;
  log_.on_run = [&](const RunOptions&) {
    running.Notify();
    release.WaitForNotification();
    return absl::OkStatus();
  };
  std::thread client([&] {
    tfs::PredictResponse response;
    EXPECT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
  });
  running.WaitForNotification();
  const auto takes_requests = [&] {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    tfs::GetModelStatusResponse response;
    return model_service_
        ->GetModelStatus(&context, Parse<tfs::GetModelStatusRequest>("model_spec { name: 'm' }"),
                         &response)
        .ok();
  };
  std::thread releaser([&] {
    while (takes_requests()) absl::SleepFor(absl::Milliseconds(1));
    release.Notify();
  });
  server_->Shutdown(absl::Now() + absl::Seconds(20));
  client.join();
  releaser.join();
}

TEST_F(GrpcServerTest, SocketPathThatTheSystemCannotHoldIsRefused) {
  GrpcServer::Options options;
  options.socket_path = absl::StrCat("/tmp/", std::string(103, 's'));  // 108 bytes
  const auto server = GrpcServer::Start(options, handler_.get());
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()),
              HasSubstr("sss has 108 bytes; a Unix socket's path has at most 107"));
}

TEST_F(GrpcServerTest, SocketOfAServerThatRunsIsLeftToIt) {
  GrpcServer::Options options;
  options.socket_path = (root_ / "socket").string();
  const auto second = GrpcServer::Start(options, handler_.get());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another server has it"));
  EXPECT_TRUE(fs::exists(options.socket_path));
}

TEST_F(GrpcServerTest, SocketThatNobodyListensOnIsReplaced) {
  server_.reset();
  const std::string path = (root_ / "socket").string();
  sockaddr_un address = {.sun_family = AF_UNIX};
  path.copy(address.sun_path, path.size());
  const int crashed = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(crashed, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(crashed, 1), 0);
  close(crashed);  // leaves the file behind
  Start({});
  tfs::PredictResponse response;
  EXPECT_TRUE(Predict(absl::StrCat("model_spec { name: 'm' } ", kX), &response).ok());
}

TEST_F(GrpcServerTest, NothingToListenOnOrATakenPortIsRefused) {
  EXPECT_EQ(GrpcServer::Start({}, handler_.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
  GrpcServer::Options options;
  for (options.port = 20000; options.port < 20100; ++options.port) {
    auto first = GrpcServer::Start(options, handler_.get());
    if (!first.ok()) continue;
    const auto second = GrpcServer::Start(options, handler_.get());
    EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(second.status().message()),
                HasSubstr("Failed to BuildAndStart gRPC server"));
    return;
  }
  FAIL() << "no free port";
}

}  // namespace
}  // namespace tessera::serving
