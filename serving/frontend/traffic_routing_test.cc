// How requests of both protocols reach a TrafficRouter, and what it is told of their answers.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "inference/grpc_service.grpc.pb.h"
#include "runtime/host/pace.h"
#include "serving/frontend/grpc/grpc_server.h"
#include "serving/frontend/http/testing/http_client.h"
#include "serving/frontend/kserve/model_repository.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_server.h"
#include "serving/servables/saved_model/testing/linear_session.h"
#include "serving/servables/served_models.h"
#include "tensorflow_serving/apis/prediction_service.grpc.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
namespace tfs = tensorflow::serving;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// Sends clients whose entry "user" is "eager" to version 2 of model `m`, and all others to 1. Keeps
// what it is told.
class TestRouter : public TrafficRouter {
 public:
  std::optional<int64_t> Choose(absl::string_view model, RoutingKeys keys) const override {
    if (model != "m") return std::nullopt;
    ++drawn;
    return keys("User") == "eager" ? eager_version.load() : 1;
  }
  std::optional<int64_t> FallbackFor(const ServableId& failed) const override {
    EXPECT_EQ(failed.name, "m");
    const int64_t version = fallback;
    return failed.version == stable || version == 0 ? std::nullopt
                                                    : std::optional<int64_t>(version);
  }
  std::optional<int64_t> VersionOfLabel(absl::string_view, absl::string_view label) const override {
    ++labelled;
    if (label == kStableLabel) return 1;
    return label == kCanaryLabel ? std::optional<int64_t>(2) : std::nullopt;
  }
  Interest InterestIn(const ServableId&) const override { return interest; }
  void Observe(const Answer& answer) override {
    EXPECT_GT(answer.latency, absl::ZeroDuration());
    const bool is_predict = answer.method == RequestMethod::kPredict;
    EXPECT_TRUE(answer.inputs.empty() ||
                answer.inputs.size() == (is_predict ? answer.input_names.size() : 1));
    std::string line = absl::StrCat(answer.id.version, " ", answer.signature_name, " ",
                                    absl::StatusCodeToString(answer.status.code()));
    for (size_t i = 0; i < answer.inputs.size(); ++i) {
      if (is_predict) {
        absl::StrAppend(&line, " ", answer.input_names[i], "=", answer.inputs[i].flat<float>()[0]);
      } else {
        absl::StrAppend(&line, " ", answer.inputs[i].num_elements(), " examples");
      }
    }
    absl::StrAppend(&line, " ->");
    for (const NamedOutput& output : answer.outputs) absl::StrAppend(&line, " ", output.name);
    absl::MutexLock lock(&mu);
    told.push_back(line);
  }

  // Set by tests while the server's threads may read them.
  std::atomic<int64_t> eager_version = 2;
  std::atomic<int64_t> stable = 1;    // the version for which there is no fallback
  std::atomic<int64_t> fallback = 0;  // 0: there is none
  std::atomic<Interest> interest = Interest::kNone;
  // How often a version was looked for, by Choose() and by VersionOfLabel().
  mutable std::atomic<int> drawn = 0, labelled = 0;
  absl::Mutex mu;
  std::vector<std::string> told;
};

class TrafficRoutingTest : public ::testing::Test {
 protected:
  TrafficRoutingTest() {
    std::string pattern = "/tmp/route_XXXXXX";  // the path of a Unix socket must be short
    root_ = mkdtemp(pattern.data());
    for (const char* version : {"1", "2", "3"}) fs::create_directories(root_ / "m" / version);
    ServedModels::Options options;
    options.source = {.poll_interval = absl::Milliseconds(5), .settle_time = absl::ZeroDuration()};
    options.platforms["tensorflow"] =
        [this](const ServableId&,
               const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<LinearLoader>(directory,
                                            absl::EndsWith(directory, "2") ? &eager_log_ : &log_);
    };
    options.router = &router_;
    eager_log_.impure_signature = "with_default";
    models_ = std::make_unique<ServedModels>(options);
    tfs::ModelServerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model_config_list { config { name: 'm' base_path: '", (root_ / "m").string(),
                     "' model_platform: 'tensorflow' model_version_policy { all {} } } }"),
        &config));
    EXPECT_TRUE(models_->ApplyConfig(config).ok());
    for (const int64_t version : {1, 2, 3}) {
      while (!models_->Acquire({.name = "m", .version = version}).ok()) {
        absl::SleepFor(absl::Milliseconds(1));
      }
    }
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_);
    repository_ = std::make_unique<ModelRepository>(ModelRepository::Options{}, handler_.get(),
                                                    models_.get());
    GrpcServer::Options grpc;
    grpc.socket_path = (root_ / "socket").string();
    grpc_ = *GrpcServer::Start(grpc, handler_.get(), repository_.get());
    rest_ = *RestServer::Start({}, handler_.get(), repository_.get());
    channel_ = grpc::CreateChannel("unix:" + grpc.socket_path, grpc::InsecureChannelCredentials());
    stub_ = tfs::PredictionService::NewStub(channel_);
  }
  ~TrafficRoutingTest() override {
    stub_.reset();
    channel_.reset();
    rest_.reset();
    grpc_.reset();
    repository_.reset();
    handler_.reset();
    models_.reset();
    fs::remove_all(root_);
  }

  // Predicts by gRPC. Returns the version that answered; 0 after an error.
  int64_t Predict(const std::string& spec, const std::string& user = "", float x = 4) {
    tfs::PredictRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("model_spec { name: 'm' ", spec,
                     " } inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 1 } }"
                     " float_val: ",
                     x, " } }"),
        &request));
    grpc::ClientContext context;
    if (!user.empty()) context.AddMetadata("user", user);
    tfs::PredictResponse response;
    return stub_->Predict(&context, request, &response).ok()
               ? response.model_spec().version().value()
               : 0;
  }
  HttpTestClient::Reply Post(const std::string& target, const std::string& body,
                             const std::string& headers = "") {
    HttpTestClient client(rest_->port());
    return client.Ask("POST", target, body, headers).value_or(HttpTestClient::Reply());
  }
  // Makes all runs of version 2 fail. Version 1 is asked instead.
  void BreakVersion2() {
    eager_log_.on_run = [](const RunOptions&) { return absl::InternalError("broken"); };
    router_.fallback = 1;
    router_.interest = TrafficRouter::Interest::kAnswers;
  }
  int64_t Retried() {
    const std::string page = metrics_.RenderMetrics();
    constexpr char kLine[] = ":tessera:serving:rollout_retried_requests{model_name=\"m\"} ";
    const size_t start = page.find(kLine);
    return start == std::string::npos ? 0 : std::stoll(page.substr(start + sizeof(kLine) - 1));
  }
  // The lines since the last call.
  std::vector<std::string> Told() {
    absl::MutexLock lock(&router_.mu);
    return std::exchange(router_.told, {});
  }

  fs::path root_;
  LinearSessionLog log_;
  LinearSessionLog eager_log_;  // of version 2
  TestRouter router_;
  MetricsRegistry metrics_;
  Pacer pacer_;
  std::unique_ptr<ServedModels> models_;
  std::unique_ptr<RequestHandler> handler_;
  std::unique_ptr<ModelRepository> repository_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<RestServer> rest_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<tfs::PredictionService::Stub> stub_;
};

TEST_F(TrafficRoutingTest, RequestsWithoutAVersionGoWhereTheRouterSends) {
  EXPECT_EQ(Predict(""), 1) << "version 3 is the highest";
  EXPECT_EQ(Predict("", "somebody"), 1);
  EXPECT_EQ(Predict("", "eager"), 2);
  EXPECT_EQ(Predict("version { value: 3 }", "eager"), 3);
  EXPECT_EQ(Predict("version_label: 'stable'", "eager"), 1);
  EXPECT_EQ(Predict("version_label: 'canary'"), 2);
  EXPECT_EQ(Predict("version_label: 'other'"), 0);
}

TEST_F(TrafficRoutingTest, AVersionThatHasGoneIsAnsweredByTheStableOne) {
  router_.eager_version = 9;
  EXPECT_EQ(Predict("", "eager"), 1);
}

TEST_F(TrafficRoutingTest, MetadataAreThoseOfTheStableVersion) {
  tfs::GetModelMetadataRequest request;
  request.mutable_model_spec()->set_name("m");
  request.add_metadata_field("signature_def");
  grpc::ClientContext context;
  context.AddMetadata("user", "eager");
  tfs::GetModelMetadataResponse response;
  ASSERT_TRUE(stub_->GetModelMetadata(&context, request, &response).ok());
  EXPECT_EQ(response.model_spec().version().value(), 1);
}

TEST_F(TrafficRoutingTest, ARequestFindsItsModelOnce) {
  using Call = std::function<bool()>;
  // Sends a request of one of the services.
  const auto by_grpc = [](auto* stub, auto method, auto request, auto response) -> Call {
    return [=]() mutable {
      grpc::ClientContext context;
      return (stub->*method)(&context, request, &response).ok();
    };
  };
  const auto by_rest = [this](const std::string& method, const std::string& target,
                              const std::string& body) -> Call {
    return [=, this] {
      HttpTestClient client(rest_->port());
      return client.Ask(method, target, body).value_or(HttpTestClient::Reply()).status == 200;
    };
  };
  using Stub = tfs::PredictionService::Stub;
  const auto kserve = inference::GRPCInferenceService::NewStub(channel_);
  using KServeStub = inference::GRPCInferenceService::Stub;
  const std::string task =
      "tasks { model_spec { name: 'm' signature_name: 'classify' } method_name: "
      "'tensorflow/serving/classify' } ";
  const std::string examples = " input { example_list { examples {} } }";
  const std::string rest_examples = R"("examples": [{}]})";
  const std::map<std::string, Call> answered = {
      {"Predict", [this] { return Predict("") == 1; }},
      {"Classify", by_grpc(stub_.get(), &Stub::Classify,
                           Parse<tfs::ClassificationRequest>(
                               "model_spec { name: 'm' signature_name: 'classify' }" + examples),
                           tfs::ClassificationResponse())},
      {"Regress", by_grpc(stub_.get(), &Stub::Regress,
                          Parse<tfs::RegressionRequest>(
                              "model_spec { name: 'm' signature_name: 'regress' }" + examples),
                          tfs::RegressionResponse())},
      {"MultiInference",
       by_grpc(stub_.get(), &Stub::MultiInference,
               Parse<tfs::MultiInferenceRequest>(
                   task +
                   "tasks { model_spec { name: 'm' signature_name: 'regress' } method_name: "
                   "'tensorflow/serving/regress' }" +
                   examples),
               tfs::MultiInferenceResponse())},
      {"ModelInfer",
       by_grpc(kserve.get(), &KServeStub::ModelInfer,
               Parse<inference::ModelInferRequest>(
                   "model_name: 'm' inputs { name: 'x' datatype: 'FP32' shape: [1, 1] "
                   "contents { fp32_contents: 4 } }"),
               inference::ModelInferResponse())},
      {"rest predict", by_rest("POST", "/v1/models/m:predict", R"({"instances": [4]})")},
      {"rest classify", by_rest("POST", "/v1/models/m:classify",
                                R"({"signature_name": "classify", )" + rest_examples)},
      {"rest regress", by_rest("POST", "/v1/models/m:regress",
                               R"({"signature_name": "regress", )" + rest_examples)},
      {"rest infer",
       by_rest("POST", "/v2/models/m/infer",
               R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1], "data": [4]}]})")},
  };
  for (const auto& [name, ask] : answered) {
    router_.drawn = router_.labelled = 0;
    EXPECT_TRUE(ask()) << name;
    EXPECT_EQ(router_.drawn, 1) << name;
    EXPECT_EQ(router_.labelled, 0) << name;
  }
  const std::map<std::string, Call> described = {
      {"GetModelMetadata", by_grpc(stub_.get(), &Stub::GetModelMetadata,
                                   Parse<tfs::GetModelMetadataRequest>(
                                       "model_spec { name: 'm' } metadata_field: 'signature_def'"),
                                   tfs::GetModelMetadataResponse())},
      {"ModelMetadata", by_grpc(kserve.get(), &KServeStub::ModelMetadata,
                                Parse<inference::ModelMetadataRequest>("name: 'm'"),
                                inference::ModelMetadataResponse())},
      {"ModelConfig", by_grpc(kserve.get(), &KServeStub::ModelConfig,
                              Parse<inference::ModelConfigRequest>("name: 'm'"),
                              inference::ModelConfigResponse())},
      {"rest metadata", by_rest("GET", "/v1/models/m/metadata", "")},
      {"rest v2 metadata", by_rest("GET", "/v2/models/m", "")},
  };
  for (const auto& [name, ask] : described) {
    router_.drawn = router_.labelled = 0;
    EXPECT_TRUE(ask()) << name;
    EXPECT_EQ(router_.drawn, 0) << name;
    EXPECT_EQ(router_.labelled, 1) << name;
  }
}

TEST_F(TrafficRoutingTest, TheRouterIsToldOfAnswersOnlyIfItWants) {
  EXPECT_EQ(Predict(""), 1);
  EXPECT_THAT(Told(), IsEmpty());
  router_.interest = TrafficRouter::Interest::kAnswers;
  EXPECT_EQ(Predict("", "eager"), 2);
  EXPECT_THAT(Told(), ElementsAre("2  OK -> y z"));
  router_.interest = TrafficRouter::Interest::kAnswersAndInputs;
  EXPECT_EQ(Predict("signature_name: 'serving_default'", "", 7), 1);
  EXPECT_THAT(Told(), ElementsAre("1 serving_default OK x=7 -> y z"));
  EXPECT_EQ(Predict("signature_name: 'absent'"), 0);
  EXPECT_THAT(Told(), ElementsAre("1 absent FAILED_PRECONDITION ->"));
}

TEST_F(TrafficRoutingTest, HeadersOfRestRequestsAreKeysToo) {
  router_.interest = TrafficRouter::Interest::kAnswersAndInputs;
  const std::string body = R"({"instances": [4]})";
  EXPECT_EQ(Post("/v1/models/m:predict", body).status, 200);
  EXPECT_EQ(Post("/v1/models/m:predict", body, "uSER: eager\r\n").status, 200);
  EXPECT_EQ(Post("/v1/models/m/labels/canary:predict", body).status, 200);
  EXPECT_EQ(Post("/v1/models/m:classify", R"({"signature_name": "classify", "examples": [{}]})",
                 "user: eager\r\n")
                .status,
            200);
  EXPECT_EQ(
      Post("/v1/models/m:regress", R"({"signature_name": "regress", "examples": [{}]})").status,
      200);
  EXPECT_THAT(Told(), ElementsAre("1  OK x=4 -> y z", "2  OK x=4 -> y z", "2  OK x=4 -> y z",
                                  "2 classify OK 1 examples -> classes scores",
                                  "1 regress OK 1 examples -> outputs"));
}

TEST_F(TrafficRoutingTest, RequestsThatDoNotFitTheModelCountAsAnswered) {
  router_.interest = TrafficRouter::Interest::kAnswers;
  EXPECT_EQ(Post("/v1/models/m:predict", R"({"instances": ["text"]})").status, 400);
  EXPECT_EQ(Post("/v1/models/m:predict", R"({"inputs": {"z": 4}})").status, 400);
  EXPECT_THAT(Told(), ElementsAre("1  INVALID_ARGUMENT ->", "1  INVALID_ARGUMENT ->"));
  EXPECT_EQ(Post("/v1/models/m:predict", "no JSON").status, 400);
  EXPECT_THAT(Told(), IsEmpty()) << "no model was asked for it";
}

TEST_F(TrafficRoutingTest, WhatACandidateFailsTheStableVersionIsAsked) {
  BreakVersion2();
  EXPECT_EQ(Predict("", "eager"), 1);
  EXPECT_THAT(Told(), ElementsAre("2  INTERNAL ->")) << "the fallback is no part of the measures";
  EXPECT_EQ(Predict("signature_name: 'absent'", "eager"), 0) << "no version has it";
  EXPECT_THAT(Told(), ElementsAre("2 absent FAILED_PRECONDITION ->"));
  EXPECT_EQ(Retried(), 2);

  // The client's request counts once, and for both versions.
  const ModelHandle stable = *models_->Acquire({.name = "m", .version = 1});
  const ModelHandle candidate = *models_->Acquire({.name = "m", .version = 2});
  const RequestCell& answered =
      stable->request_stats().Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
  const RequestCell& failed =
      candidate->request_stats().Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
  EXPECT_EQ(answered.ended(absl::StatusCode::kOk), 1);
  EXPECT_EQ(failed.ended(absl::StatusCode::kInternal), 1);
  EXPECT_EQ(failed.in_flight(), 1) << "that of this test";
  const std::string page = metrics_.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("request_count{model_name=\"m\",status=\"OK\"} 1\n"));
  EXPECT_THAT(page, Not(HasSubstr("status=\"INTERNAL\"")));
}

TEST_F(TrafficRoutingTest, OnlyWhatTheRouterChoseIsAskedAgain) {
  BreakVersion2();
  EXPECT_EQ(Predict("version { value: 2 }"), 0);
  EXPECT_EQ(Predict("version_label: 'canary'"), 0);
  EXPECT_EQ(Predict("signature_name: 'with_default'", "eager"), 0) << "its runs leave a trace";
  EXPECT_EQ(Post("/v1/models/m/versions/2:predict", R"({"instances": [4]})").status, 500);
  router_.fallback = 0;
  EXPECT_EQ(Predict("", "eager"), 0);
  EXPECT_EQ(Retried(), 0);
}

TEST_F(TrafficRoutingTest, AStableVersionThatFailsAsWellIsNotAskedTwice) {
  BreakVersion2();
  log_.on_run = [](const RunOptions&) { return absl::UnavailableError("overloaded"); };
  EXPECT_EQ(Predict("", "eager"), 0);
  EXPECT_EQ(log_.runs, 1);
  EXPECT_EQ(eager_log_.runs, 1);
}

TEST_F(TrafficRoutingTest, OtherMethodsFallBackAsWell) {
  BreakVersion2();
  tfs::ClassificationRequest request;
  request.mutable_model_spec()->set_name("m");
  request.mutable_model_spec()->set_signature_name("classify");
  request.mutable_input()->mutable_example_list()->add_examples();
  const auto eager = [](grpc::ClientContext& context) -> grpc::ClientContext* {
    context.AddMetadata("user", "eager");
    return &context;
  };
  grpc::ClientContext contexts[3];
  tfs::ClassificationResponse classified;
  EXPECT_TRUE(stub_->Classify(eager(contexts[0]), request, &classified).ok());
  EXPECT_EQ(classified.model_spec().version().value(), 1);
  tfs::RegressionRequest values;
  *values.mutable_model_spec() = request.model_spec();
  values.mutable_model_spec()->set_signature_name("regress");
  *values.mutable_input() = request.input();
  tfs::RegressionResponse regressed;
  EXPECT_TRUE(stub_->Regress(eager(contexts[1]), values, &regressed).ok());
  EXPECT_EQ(regressed.model_spec().version().value(), 1);
  tfs::MultiInferenceRequest both;
  auto* task = both.add_tasks();
  *task->mutable_model_spec() = request.model_spec();
  task->set_method_name(std::string(kClassifyMethod));
  *both.mutable_input() = request.input();
  tfs::MultiInferenceResponse results;
  EXPECT_TRUE(stub_->MultiInference(eager(contexts[2]), both, &results).ok());
  EXPECT_EQ(results.results(0).model_spec().version().value(), 1);
  EXPECT_EQ(Retried(), 3);
}

TEST_F(TrafficRoutingTest, RestFallsBackFromWhatDoesNotFitAndFromRuns) {
  BreakVersion2();
  const std::string eager = "user: eager\r\n";
  const auto reply = Post("/v1/models/m:predict", R"({"instances": [4, 6]})", eager);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"y\": 4.0"));
  EXPECT_THAT(Told(), ElementsAre("2  INTERNAL ->"));
  EXPECT_EQ(
      Post("/v1/models/m:regress", R"({"signature_name": "regress", "examples": [{}]})", eager)
          .status,
      200);
  EXPECT_EQ(Retried(), 2);
  // Neither version takes this. Both are asked, and one error is told.
  Told();
  EXPECT_EQ(Post("/v1/models/m:predict", R"({"instances": ["text"]})", eager).status, 400);
  EXPECT_THAT(Told(), ElementsAre("2  INVALID_ARGUMENT ->"));
  EXPECT_EQ(Retried(), 3);
}

TEST_F(TrafficRoutingTest, ARestRequestWhoseBodyIsGoneKeepsItsError) {
  // While the stable version runs, another one is promoted.
  log_.on_run = [this](const RunOptions&) {
    router_.stable = router_.fallback = 2;
    return absl::InternalError("of its own");
  };
  EXPECT_THAT(Post("/v1/models/m:predict", R"({"instances": [4]})").body, HasSubstr("of its own"));
  router_.stable = 1;
  router_.fallback = 0;
  const std::string infer =
      R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1], "data": [4]}]})";
  EXPECT_THAT(Post("/v2/models/m/infer", infer).body, HasSubstr("of its own"));
  EXPECT_EQ(Retried(), 0);
}

}  // namespace
}  // namespace tessera::serving
