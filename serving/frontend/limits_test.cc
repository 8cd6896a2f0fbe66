// How the limits of a model meet the requests of all protocols.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "inference/grpc_service.grpc.pb.h"
#include "runtime/host/pace.h"
#include "runtime/host/share.h"
#include "serving/admission/admission_control.h"
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
using ::testing::HasSubstr;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

constexpr char kX[] =
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 4 } }";
constexpr char kExamples[] = "input { example_list { examples { } } }";
constexpr char kWireInfer[] =
    "model_name: 'm' inputs { name: 'x' datatype: 'FP32' shape: [1, 1] "
    "contents { fp32_contents: 4 } }";
constexpr char kInfer[] =
    R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1], "data": [4]}]})";

void WaitUntil(const std::function<bool()>& is_so) {
  while (!is_so()) absl::SleepFor(absl::Milliseconds(1));
}

// A server of all protocols with the models `m`, whose runs a test may hold up, and `other`.
class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() {
    std::string pattern = "/tmp/limit_XXXXXX";  // the path of a Unix socket must be short
    root_ = mkdtemp(pattern.data());
    log_.on_run = [this](const RunOptions& options) { return Run(options); };
    ServedModels::Options options;
    options.source = {.poll_interval = absl::Milliseconds(5), .settle_time = absl::ZeroDuration()};
    options.platforms["tensorflow"] =
        [this](const ServableId& id,
               const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<LinearLoader>(directory, id.name == "m" ? &log_ : &other_log_);
    };
    models_ = std::make_unique<ServedModels>(options);
    std::string config = "model_config_list {";
    for (const char* name : {"m", "other"}) {
      fs::create_directories(root_ / name / "1");
      absl::StrAppend(&config, " config { name: '", name, "' base_path: '", (root_ / name).string(),
                      "' model_platform: 'tensorflow' }");
    }
    EXPECT_TRUE(models_->ApplyConfig(Parse<tfs::ModelServerConfig>(config + " }")).ok());
    handler_ = std::make_unique<RequestHandler>(models_.get(), &metrics_, &pacer_,
                                                /*tracer=*/nullptr, &admission_);
    repository_ = std::make_unique<ModelRepository>(ModelRepository::Options{}, handler_.get(),
                                                    models_.get());
    GrpcServer::Options grpc;
    grpc.socket_path = (root_ / "socket").string();
    grpc.max_threads = 2;
    grpc_ = *GrpcServer::Start(grpc, handler_.get(), repository_.get());
    rest_ = *RestServer::Start({.num_threads = 2}, handler_.get(), repository_.get());
    const auto channel =
        grpc::CreateChannel("unix:" + grpc.socket_path, grpc::InsecureChannelCredentials());
    stub_ = tfs::PredictionService::NewStub(channel);
    kserve_stub_ = inference::GRPCInferenceService::NewStub(channel);
  }
  ~LimitsTest() override {
    stub_.reset();
    kserve_stub_.reset();
    rest_.reset();
    grpc_.reset();
    repository_.reset();
    handler_.reset();
    models_.reset();
    fs::remove_all(root_);
  }

  void SetLimits(const std::string& text) {
    admission_.SetLimits({{"m", Parse<LimitsConfig>(text)}});
  }
  ModelAdmission& admission() { return *admission_.Find("m"); }

  grpc::Status Predict(const std::string& model, grpc::ClientContext* context = nullptr) {
    grpc::ClientContext own;
    tfs::PredictResponse response;
    return stub_->Predict(
        context == nullptr ? &own : context,
        Parse<tfs::PredictRequest>(absl::StrCat("model_spec { name: '", model, "' } ", kX)),
        &response);
  }
  HttpTestClient::Reply Post(const std::string& target, const std::string& body) {
    return HttpTestClient(rest_->port())
        .Ask("POST", target, body)
        .value_or(HttpTestClient::Reply());
  }
  // Asks `m` in each way that there is. Returns the statuses: gRPC's codes, and those of HTTP.
  std::map<std::string, int> AskInAllWays() {
    std::map<std::string, int> codes;
    const std::string spec = "model_spec { name: 'm' signature_name: 'classify' } ";
    const std::string regress_spec = "model_spec { name: 'm' signature_name: 'regress' } ";
    codes["Predict"] = Predict("m").error_code();
    {
      grpc::ClientContext context;
      tfs::ClassificationResponse response;
      codes["Classify"] =
          stub_->Classify(&context, Parse<tfs::ClassificationRequest>(spec + kExamples), &response)
              .error_code();
    }
    {
      grpc::ClientContext context;
      tfs::RegressionResponse response;
      codes["Regress"] =
          stub_
              ->Regress(&context, Parse<tfs::RegressionRequest>(regress_spec + kExamples),
                        &response)
              .error_code();
    }
    {
      grpc::ClientContext context;
      tfs::MultiInferenceResponse response;
      codes["MultiInference"] =
          stub_
              ->MultiInference(&context,
                               Parse<tfs::MultiInferenceRequest>(absl::StrCat(
                                   "tasks { ", spec,
                                   "method_name: 'tensorflow/serving/classify' } ", kExamples)),
                               &response)
              .error_code();
    }
    {
      grpc::ClientContext context;
      inference::ModelInferResponse response;
      codes["ModelInfer"] =
          kserve_stub_
              ->ModelInfer(&context, Parse<inference::ModelInferRequest>(kWireInfer), &response)
              .error_code();
    }
    codes["rest predict"] = Post("/v1/models/m:predict", R"({"instances": [4]})").status;
    codes["rest classify"] =
        Post("/v1/models/m:classify", R"({"signature_name": "classify", "examples": [{}]})").status;
    codes["rest regress"] =
        Post("/v1/models/m:regress", R"({"signature_name": "regress", "examples": [{}]})").status;
    codes["rest infer"] = Post("/v2/models/m/infer", kInfer).status;
    return codes;
  }
  // Asks `m` in a stream. Returns the error, which is a message of the stream; empty for an answer.
  std::string StreamError() {
    grpc::ClientContext context;
    const auto stream = kserve_stub_->ModelStreamInfer(&context);
    EXPECT_TRUE(stream->Write(Parse<inference::ModelInferRequest>(kWireInfer)));
    inference::ModelStreamInferResponse response;
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_TRUE(stream->WritesDone());
    EXPECT_TRUE(stream->Finish().ok());
    return response.error_message();
  }
  static bool IsGrpc(const std::string& way) { return way[0] < 'a'; }
  int64_t Counted(const std::string& reason) {
    return static_cast<int64_t>(
        metrics_.AddCounter("/tessera/serving/limited_requests", {"model_name", "reason"})
            ->Get({"m", reason})
            .Value());
  }

  // What runs of `m` do: they wait while `hold_` is set, as long as they may.
  absl::Status Run(const RunOptions& options) {
    ++running_;
    const absl::Time deadline = absl::Now() + options.timeout;
    absl::Status status;
    while (hold_ && status.ok()) {
      absl::SleepFor(absl::Milliseconds(1));
      if (absl::Now() >= deadline) status = absl::Status(late_code_, "the run took too long");
    }
    --running_;
    return status;
  }

  fs::path root_;
  LinearSessionLog log_, other_log_;
  std::atomic<bool> hold_{false};
  std::atomic<absl::StatusCode> late_code_{absl::StatusCode::kDeadlineExceeded};
  std::atomic<int> running_{0};
  MetricsRegistry metrics_;
  Pacer pacer_;
  Shares shares_;
  AdmissionControl admission_{&shares_, &metrics_};
  std::unique_ptr<ServedModels> models_;
  std::unique_ptr<RequestHandler> handler_;
  std::unique_ptr<ModelRepository> repository_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<RestServer> rest_;
  std::unique_ptr<tfs::PredictionService::Stub> stub_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> kserve_stub_;
};

TEST_F(LimitsTest, EveryWayToAskIsRefusedWhileTheModelIsFull) {
  for (const auto& [way, code] : AskInAllWays()) {
    EXPECT_EQ(code, IsGrpc(way) ? grpc::StatusCode::OK : 200) << way;
  }
  SetLimits("max_concurrent_requests: 1 max_queue: 0");
  AdmissionTicket only;
  ASSERT_TRUE(admission().Admit({.arrived = absl::Now()}, &only, nullptr).value());
  const auto codes = AskInAllWays();
  for (const auto& [way, code] : codes) {
    EXPECT_EQ(code, IsGrpc(way) ? grpc::StatusCode::RESOURCE_EXHAUSTED : 429) << way;
  }
  EXPECT_EQ(Counted("queue_full"), static_cast<int64_t>(codes.size()));
  EXPECT_THAT(Predict("m").error_message(),
              HasSubstr("model 'm' answers 1 requests at a time (max_concurrent_requests)"));
  EXPECT_THAT(Post("/v2/models/m/infer", kInfer).body, HasSubstr("max_concurrent_requests"));
  EXPECT_TRUE(Predict("other").ok());
  only = AdmissionTicket();
  for (const auto& [way, code] : AskInAllWays()) {
    EXPECT_EQ(code, IsGrpc(way) ? grpc::StatusCode::OK : 200) << way;
  }
  EXPECT_EQ(admission().num_running(), 0);
}

TEST_F(LimitsTest, WhatWaitsHoldsNoThread) {
  SetLimits("max_concurrent_requests: 1 max_queue: 20");
  hold_ = true;
  std::vector<std::thread> clients;
  std::atomic<int> ok{0};
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      const bool answered =
          i % 2 == 0 ? Predict("m").ok()
                     : Post("/v1/models/m:predict", R"({"instances": [4]})").status == 200;
      if (answered) ++ok;
    });
  }
  WaitUntil([&] { return running_ == 1 && admission().num_waiting() == 15; });
  // There are two threads for each protocol, one of which the request that runs may have.
  EXPECT_TRUE(Predict("other").ok());
  EXPECT_EQ(Post("/v1/models/other:predict", R"({"instances": [4]})").status, 200);
  EXPECT_EQ(running_, 1);
  hold_ = false;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(ok, 16);
}

TEST_F(LimitsTest, TheTimeoutHoldsForWaitingAndForRunning) {
  SetLimits("max_concurrent_requests: 1 timeout_ms: 30");
  hold_ = true;
  for (const auto& [way, code] : AskInAllWays()) {
    EXPECT_EQ(code, IsGrpc(way) ? grpc::StatusCode::DEADLINE_EXCEEDED : 504) << way;
  }
  EXPECT_EQ(Counted("timeout_running"), 9);
  EXPECT_THAT(Predict("m").error_message(),
              HasSubstr("model 'm' has 30 ms for a request (timeout_ms), after which it was still "
                        "running"));
  AdmissionTicket only;
  ASSERT_TRUE(admission().Admit({.arrived = absl::Now()}, &only, nullptr).value());
  for (const auto& [way, code] : AskInAllWays()) {
    EXPECT_EQ(code, IsGrpc(way) ? grpc::StatusCode::DEADLINE_EXCEEDED : 504) << way;
  }
  EXPECT_EQ(Counted("timeout_waiting"), 9);
  EXPECT_THAT(Post("/v1/models/m:predict", R"({"instances": [4]})").body,
              HasSubstr("it was still waiting"));
}

// In the queue of a batch, TensorFlow Serving's code for being late is another one.
TEST_F(LimitsTest, TheTimeoutHoldsForWaitingForABatch) {
  SetLimits("timeout_ms: 30");
  hold_ = true;
  late_code_ = absl::StatusCode::kResourceExhausted;
  EXPECT_EQ(Predict("m").error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Counted("timeout_running"), 1);
}

TEST_F(LimitsTest, AClientsShorterDeadlineCounts) {
  SetLimits("max_concurrent_requests: 1 timeout_ms: 60000");
  hold_ = true;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(30)));
  EXPECT_EQ(Predict("m", &context).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  WaitUntil([&] { return admission().num_running() == 0; });
  EXPECT_EQ(Counted("timeout_running"), 0);
}

TEST_F(LimitsTest, AClientThatGoesLeavesTheQueue) {
  SetLimits("max_concurrent_requests: 1");
  AdmissionTicket only;
  ASSERT_TRUE(admission().Admit({.arrived = absl::Now()}, &only, nullptr).value());
  grpc::ClientContext context;
  std::thread client(
      [&] { EXPECT_EQ(Predict("m", &context).error_code(), grpc::StatusCode::CANCELLED); });
  WaitUntil([&] { return admission().num_waiting() == 1; });
  context.TryCancel();
  client.join();
  WaitUntil([&] { return admission().num_waiting() == 0; });
  EXPECT_EQ(log_.runs, 0);
}

TEST_F(LimitsTest, AConnectionThatEndsLeavesTheQueue) {
  SetLimits("max_concurrent_requests: 1");
  AdmissionTicket only;
  ASSERT_TRUE(admission().Admit({.arrived = absl::Now()}, &only, nullptr).value());
  const std::pair<std::string, std::string> kRequests[] = {
      {"/v1/models/m:predict", R"({"instances": [4]})"}, {"/v2/models/m/infer", kInfer}};
  for (const auto& [target, body] : kRequests) {
    {
      HttpTestClient client(rest_->port());
      ASSERT_TRUE(client.Send("POST", target, body));
      WaitUntil([&] { return admission().num_waiting() == 1; });
    }
    WaitUntil([&] { return admission().num_waiting() == 0; });
  }
  // A client that sends its next request has not gone.
  HttpTestClient client(rest_->port());
  ASSERT_TRUE(client.Send("POST", kRequests[0].first, kRequests[0].second));
  WaitUntil([&] { return admission().num_waiting() == 1; });
  ASSERT_TRUE(client.Send("POST", kRequests[1].first, kRequests[1].second));
  only = AdmissionTicket();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(client.Read().value_or(HttpTestClient::Reply()).status, 200);
  EXPECT_EQ(log_.runs, 2);
}

TEST_F(LimitsTest, LimitsThatAreLiftedLetWhatWaitsRun) {
  SetLimits("max_concurrent_requests: 1");
  AdmissionTicket only;
  ASSERT_TRUE(admission().Admit({.arrived = absl::Now()}, &only, nullptr).value());
  ModelAdmission& before = admission();
  std::thread client([&] { EXPECT_TRUE(Predict("m").ok()); });
  WaitUntil([&] { return before.num_waiting() == 1; });
  admission_.SetLimits({});
  client.join();
}

TEST_F(LimitsTest, InferencesOfAStreamMeetTheLimits) {
  EXPECT_EQ(StreamError(), "");
  SetLimits("max_request_bytes: 10");
  EXPECT_THAT(StreamError(), HasSubstr("at most 10 bytes (max_request_bytes)"));
  EXPECT_EQ(Counted("request_bytes"), 1);
  SetLimits("max_concurrent_requests: 1 max_queue: 0 timeout_ms: 30");
  hold_ = true;
  EXPECT_THAT(StreamError(), HasSubstr("(timeout_ms), after which it was still running"));
  EXPECT_EQ(Counted("timeout_running"), 1);
  hold_ = false;
  WaitUntil([&] { return admission().num_running() == 0; });
  AdmissionTicket only;
  ASSERT_TRUE(admission().Admit({.arrived = absl::Now()}, &only, nullptr).value());
  EXPECT_THAT(StreamError(), HasSubstr("answers 1 requests at a time (max_concurrent_requests)"));
  EXPECT_EQ(Counted("queue_full"), 1);
  SetLimits("max_concurrent_requests: 1 timeout_ms: 30");
  EXPECT_THAT(StreamError(), HasSubstr("(timeout_ms), after which it was still waiting"));
  EXPECT_EQ(Counted("timeout_waiting"), 1);
}

TEST_F(LimitsTest, LargeMessagesAreRefused) {
  SetLimits("max_request_bytes: 10");
  for (const auto& [way, code] : AskInAllWays()) {
    EXPECT_EQ(code, IsGrpc(way) ? grpc::StatusCode::RESOURCE_EXHAUSTED : 413) << way;
  }
  EXPECT_EQ(Counted("request_bytes"), 9);
  EXPECT_EQ(log_.runs, 0);
  EXPECT_THAT(Predict("m").error_message(),
              HasSubstr("model 'm' takes requests of at most 10 bytes (max_request_bytes)"));
  EXPECT_THAT(Post("/v1/models/m:predict", R"({"instances": [4]})").body,
              HasSubstr("at most 10 bytes (max_request_bytes)"));
  SetLimits("max_request_bytes: 100000");
  for (const auto& [way, code] : AskInAllWays()) {
    EXPECT_EQ(code, IsGrpc(way) ? grpc::StatusCode::OK : 200) << way;
  }
}

}  // namespace
}  // namespace tessera::serving
