#include "serving/logging/request_log.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/servables/saved_model/testing/linear_session.h"
#include "serving/servables/warm_up.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using tensorflow::serving::PredictionLog;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class RequestLogTest : public ::testing::Test {
 protected:
  RequestLogTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "request_log_XXXXXX");
    folder_ = mkdtemp(pattern.data());
    log_ = std::make_unique<RequestLog>(
        RequestLog::Options{.saved_model_tags = {"serve"}, .metrics = &metrics_});
  }
  ~RequestLogTest() override { fs::remove_all(folder_); }

  // Logs a share of the requests to each of some models, and of no others.
  void Apply(const std::map<std::string, double>& rates) {
    tensorflow::serving::ModelServerConfig config;
    for (const auto& [model, rate] : rates) {
      auto& entry = *config.mutable_model_config_list()->add_config();
      entry.set_name(model);
      auto& logging = *entry.mutable_logging_config();
      logging.mutable_log_collector_config()->set_filename_prefix(JoinPath(folder_, model));
      logging.mutable_sampling_config()->set_sampling_rate(rate);
    }
    log_->Apply(config);
  }
  void AddPredict(const std::string& model, float x) {
    const auto log = log_->Draw(model);
    if (log == nullptr) return;
    const absl::string_view name = "x";
    const Tensor input = Tensor::Vector<float>({x});
    auto decode = [&](size_t) -> absl::StatusOr<Tensor> { return input; };
    const PredictRequest request{
        .signature_name = "", .input_names = {&name, 1}, .input = decode, .output_filter = {}};
    PredictResult result{.signature_name = kDefaultSignature,
                         .outputs = {{"y", Tensor::Vector<float>({x / 2 + 2})}}};
    log->AddPredict({model, 7}, request, {&input, 1}, result);
    log->writer().Flush();
  }
  // Returns what the files of a model hold.
  std::vector<PredictionLog> Records(const std::string& model) {
    std::vector<PredictionLog> records;
    for (const std::string& path : RotatedFiles(JoinPath(folder_, model), "tfrecord", {}).Paths()) {
      EXPECT_TRUE(ForEachRecord(path, [&](absl::string_view record) {
                    EXPECT_TRUE(records.emplace_back().ParseFromArray(
                        record.data(), static_cast<int>(record.size())));
                    return absl::OkStatus();
                  }).ok());
    }
    return records;
  }
  double Count(absl::string_view model, absl::string_view status) {
    return metrics_
        .AddCounter("/tensorflow/serving/request_log_count", {"model_name", "status_code"})
        ->Get({model, status})
        .Value();
  }

  std::string folder_;
  MetricsRegistry metrics_;
  std::unique_ptr<RequestLog> log_;
};

TEST_F(RequestLogTest, ARecordHoldsTheRequestTheAnswerAndWhereItCameFrom) {
  Apply({{"m", 1}});
  const int64_t before = absl::ToUnixSeconds(absl::Now());
  AddPredict("m", 4);
  std::vector<PredictionLog> records = Records("m");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_THAT(records[0].log_metadata().timestamp_secs(),
              AllOf(Ge(before), Le(absl::ToUnixSeconds(absl::Now()))));
  records[0].mutable_log_metadata()->clear_timestamp_secs();
  PredictionLog expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(log_metadata {
           model_spec { name: 'm' version { value: 7 } signature_name: 'serving_default' }
           sampling_config { sampling_rate: 1 }
           saved_model_tags: 'serve'
         }
         predict_log {
           request {
             model_spec { name: 'm' }
             inputs {
               key: 'x'
               value {
                 dtype: DT_FLOAT
                 tensor_shape { dim { size: 1 } }
                 tensor_content: '\000\000\200@'
               }
             }
           }
           response {
             model_spec { name: 'm' version { value: 7 } signature_name: 'serving_default' }
             outputs {
               key: 'y'
               value {
                 dtype: DT_FLOAT
                 tensor_shape { dim { size: 1 } }
                 tensor_content: '\000\000\200@'
               }
             }
           }
         })",
      &expected));
  EXPECT_EQ(records[0].DebugString(), expected.DebugString());
  EXPECT_EQ(Count("m", "OK"), 1);
}

TEST_F(RequestLogTest, TheShareOfTheRequestsThatIsAskedForIsDrawn) {
  Apply({{"none", 0}, {"some", 0.25}, {"all", 1}});
  int none = 0, some = 0, all = 0;
  for (int i = 0; i < 10'000; ++i) {
    none += log_->Draw("none") != nullptr;
    some += log_->Draw("some") != nullptr;
    all += log_->Draw("all") != nullptr;
  }
  EXPECT_EQ(none, 0);
  EXPECT_THAT(some, AllOf(Ge(2000), Le(3000)));  // 11 standard deviations around 2500
  EXPECT_EQ(all, 10'000);
  EXPECT_EQ(log_->Draw("other"), nullptr);
}

TEST_F(RequestLogTest, AConfigurationTurnsLogsOnAndOff) {
  AddPredict("m", 1);
  Apply({{"m", 1}});
  AddPredict("m", 2);
  Apply({{"m", 0}});  // the file goes on
  AddPredict("m", 3);
  Apply({{"m", 1}, {"n", 1}});
  AddPredict("m", 4);
  AddPredict("n", 5);
  const auto late = log_->Draw("m");
  Apply({});
  AddPredict("m", 6);
  EXPECT_THAT(RotatedFiles(JoinPath(folder_, "m"), "tfrecord", {}).Paths(), SizeIs(1));
  EXPECT_THAT(Records("m"), SizeIs(2));
  EXPECT_THAT(Records("n"), SizeIs(1));
  // A request that was under way meanwhile loses its record, and nothing else.
  late->AddMultiInference({"m", 7}, {}, Tensor::Vector<std::string>({""}), {});
  EXPECT_THAT(Records("m"), SizeIs(2));
  EXPECT_EQ(Count("m", "RESOURCE_EXHAUSTED"), 1);
}

TEST_F(RequestLogTest, WhatDoesNotFitInTheQueueIsCounted) {
  log_ = std::make_unique<RequestLog>(
      RequestLog::Options{.max_queued_bytes = 10, .metrics = &metrics_});
  Apply({{"m", 1}});
  AddPredict("m", 1);
  EXPECT_THAT(Records("m"), IsEmpty());
  EXPECT_EQ(Count("m", "RESOURCE_EXHAUSTED"), 1);
  EXPECT_EQ(Count("m", "OK"), 0);
}

// Asks a model one request of each kind, as RequestHandler does, and replays the log.
TEST_F(RequestLogTest, EveryKindOfRequestReplaysAsWarmUp) {
  LinearSessionLog session_log;
  const auto servable = *SavedModelServable::Create(MakeLinearBundle(&session_log), {});
  const Servable& model = *servable;
  Apply({{"m", 1}});
  AddPredict("m", 4);
  const auto log = log_->Draw("m");
  const Tensor examples = Tensor::Vector<std::string>({"", ""});
  const auto decode = [&]() -> absl::StatusOr<Tensor> { return examples; };
  ClassifyResult classes;
  ASSERT_TRUE(model.Classify({"classify", decode}, {}, &classes).ok());
  log->AddClassify({"m", 7}, "classify", examples, classes);
  RegressResult values;
  ASSERT_TRUE(model.Regress({"regress", decode}, {}, &values).ok());
  log->AddRegress({"m", 7}, "regress", examples, values);
  const InferenceTask tasks[] = {{{.name = "m", .signature_name = "classify"}, kClassifyMethod},
                                 {{.name = "m", .signature_name = "regress"}, kRegressMethod}};
  std::vector<InferenceResult> results;
  ASSERT_TRUE(model.MultiInference(tasks, decode, {}, &results).ok());
  log->AddMultiInference({"m", 7}, tasks, examples, results);
  log->writer().Flush();

  const std::vector<PredictionLog> records = Records("m");
  ASSERT_THAT(records, SizeIs(4));
  EXPECT_EQ(records[1].classify_log().response().result().classifications_size(), 2);
  EXPECT_EQ(records[1].classify_log().response().model_spec().signature_name(), "classify");
  EXPECT_EQ(records[2].regress_log().response().result().regressions_size(), 2);
  EXPECT_EQ(records[3].multi_inference_log().response().results_size(), 2);
  EXPECT_EQ(records[3].multi_inference_log().request().tasks(1).method_name(), kRegressMethod);

  const fs::path version = fs::path(folder_) / "version";
  fs::create_directories(version / "assets.extra");
  fs::copy_file(RotatedFiles(JoinPath(folder_, "m"), "tfrecord", {}).Paths()[0],
                version / WarmUp::kFile);
  const int runs_before = session_log.runs;
  const absl::Status status = WarmUp(1, &metrics_).Run(version, model, {}, {});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(session_log.runs - runs_before, 4);
}

}  // namespace
}  // namespace tessera::serving
