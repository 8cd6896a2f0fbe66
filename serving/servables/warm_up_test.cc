#include "serving/servables/warm_up.h"

#include <cstring>
#include <filesystem>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_system.h"
#include "serving/servables/saved_model/testing/linear_session.h"
#include "tensorflow_serving/apis/prediction_log.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using tensorflow::serving::PredictionLog;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string Checksum(absl::string_view data) {
  const uint32_t masked = MaskCrc32c(Crc32c(data));
  return std::string(reinterpret_cast<const char*>(&masked), sizeof(masked));
}

std::string Record(const std::string& data) {
  const uint64_t size = data.size();
  const std::string length(reinterpret_cast<const char*>(&size), sizeof(size));
  return length + Checksum(length) + data + Checksum(data);
}

class WarmUpTest : public ::testing::Test {
 protected:
  WarmUpTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "warm_up_XXXXXX");
    directory_ = mkdtemp(pattern.data());
    fs::create_directories(fs::path(directory_) / "assets.extra");
  }
  ~WarmUpTest() override { fs::remove_all(directory_); }

  absl::Status Run(const std::string& file, int iterations = 1) {
    path_ = JoinPath(directory_, WarmUp::kFile);
    EXPECT_TRUE(WriteFileAtomically(path_, file).ok());
    return WarmUp(iterations, &metrics_).Run(directory_, *servable_, {}, {});
  }
  static PredictionLog Predict(float x, const std::string& input = "x") {
    PredictionLog log;
    auto* request = log.mutable_predict_log()->mutable_request();
    request->mutable_model_spec()->set_name("recorded");
    auto& tensor = (*request->mutable_inputs())[input];
    tensor.set_dtype(tensorflow::DT_FLOAT);
    tensor.mutable_tensor_shape()->add_dim()->set_size(1);
    tensor.add_float_val(x);
    return log;
  }

  std::string directory_, path_;
  MetricsRegistry metrics_;
  LinearSessionLog log_;
  std::unique_ptr<SavedModelServable> servable_ =
      *SavedModelServable::Create(MakeLinearBundle(&log_), {});
};

// Notes the first feed of each run, as text.
class NotingCallable : public Callable {
 public:
  NotingCallable(std::shared_ptr<const Callable> callable, std::vector<std::string>* feeds)
      : callable_(std::move(callable)), feeds_(feeds) {}
  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override {
    feeds_->push_back(feeds[0].ToString());
    return callable_->Run(options, feeds, fetches, metadata);
  }
  const RunSignature& signature() const override { return callable_->signature(); }

 private:
  const std::shared_ptr<const Callable> callable_;
  std::vector<std::string>* const feeds_;
};

std::unique_ptr<SavedModelServable> MakeServable(SavedModelBundle bundle,
                                                 std::vector<std::string>* feeds) {
  return *SavedModelServable::Create(
      std::move(bundle),
      {.wrap_run = [feeds](std::shared_ptr<const Callable> callable,
                           RunRows) -> absl::StatusOr<std::shared_ptr<const Callable>> {
        return std::make_shared<NotingCallable>(std::move(callable), feeds);
      }});
}

void Ask(const SavedModelServable& servable, std::initializer_list<float> values,
         absl::string_view output) {
  const absl::string_view name = "x";
  const auto input = [&](size_t) -> absl::StatusOr<Tensor> {
    return Tensor::Vector<float>(values);
  };
  PredictResult result;
  const PredictRequest request{.signature_name = "serving_default",
                               .input_names = absl::MakeConstSpan(&name, 1),
                               .input = input,
                               .output_filter = absl::MakeConstSpan(&output, 1)};
  EXPECT_TRUE(servable.Predict(request, {}, &result).ok());
}

// The runs of the linear model's signatures: two are the same run as serving_default, and two have
// a tensor that no request can name.
size_t NumRuns(const SavedModelServable& servable) { return servable.info().signatures.size() - 4; }

TEST_F(WarmUpTest, WithoutAFileEachSignatureIsAskedWithZeros) {
  std::vector<std::string> feeds;
  const auto servable = MakeServable(MakeLinearBundle(&log_), &feeds);
  EXPECT_TRUE(WarmUp(1, &metrics_).Run(directory_, *servable, {}, {}).ok());
  EXPECT_EQ(feeds.size(), NumRuns(*servable));
  EXPECT_THAT(feeds, Contains("float[1,1] [[0]]"));
  EXPECT_THAT(feeds, Contains("string[1] [\"\"]"));
  // What nobody asked is not what a later version should expect.
  EXPECT_THAT(servable->SampleRequests(), IsEmpty());
  EXPECT_THAT(metrics_.RenderMetrics(), Not(HasSubstr("model_warmup_latency_count")));
}

TEST_F(WarmUpTest, SignaturesThatChangeTheModelAreNotAsked) {
  SavedModelBundle bundle = MakeLinearBundle(&log_);
  for (auto& [name, signature] : bundle.signatures) signature.is_pure = name == "regress";
  std::vector<std::string> feeds;
  const auto servable = MakeServable(std::move(bundle), &feeds);
  EXPECT_TRUE(WarmUp(1, &metrics_).Run(directory_, *servable, {}, {}).ok());
  EXPECT_THAT(feeds, ElementsAre("string[1] [\"\"]"));
}

TEST_F(WarmUpTest, WithoutAFileTheLiveVersionsRequestsAreAsked) {
  Ask(*servable_, {4, 5, 6}, "y");
  Ask(*servable_, {7, 8, 9}, "y");
  Ask(*servable_, {1}, "z");
  std::vector<std::string> feeds;
  const auto next = MakeServable(MakeLinearBundle(&log_), &feeds);
  EXPECT_TRUE(WarmUp(1, &metrics_).Run(directory_, *next, servable_->SampleRequests(), {}).ok());
  // One of each shape, and nothing made up.
  EXPECT_THAT(feeds, UnorderedElementsAre("float[3] [4 5 6]", "float[1] [1]"));
  // And so on from version to version.
  EXPECT_EQ(next->SampleRequests().size(), 2);
}

TEST_F(WarmUpTest, WithoutRequestsBatchesAreMadeUpAtEachSizeInUse) {
  std::vector<std::string> feeds;
  const auto servable = MakeServable(MakeLinearBundle(&log_), &feeds);
  EXPECT_TRUE(WarmUp(1, &metrics_).Run(directory_, *servable, {}, {2, 3}).ok());
  EXPECT_EQ(feeds.size(), 2 * NumRuns(*servable));
  EXPECT_THAT(feeds, Contains("float[2,1] [[0] [0]]"));
  EXPECT_THAT(feeds, Contains("string[3] [\"\" \"\" \"\"]"));
  EXPECT_THAT(feeds, Not(Contains("float[1,1] [[0]]"))) << "no run has one row";
  EXPECT_THAT(servable->SampleRequests(), IsEmpty());
}

TEST_F(WarmUpTest, TheLiveVersionsRequestsAreAskedAsTheyCameAndAtEachSizeInUse) {
  Ask(*servable_, {4, 5, 6}, "y");
  std::vector<std::string> feeds;
  const auto next = MakeServable(MakeLinearBundle(&log_), &feeds);
  EXPECT_TRUE(
      WarmUp(1, &metrics_).Run(directory_, *next, servable_->SampleRequests(), {2, 3, 4}).ok());
  EXPECT_THAT(feeds, ElementsAre("float[3] [4 5 6]", "float[2] [4 5]", "float[4] [4 5 6 4]"));
  // What a version after that is asked does not grow by what nobody asked.
  EXPECT_EQ(next->SampleRequests().size(), 1);
}

TEST_F(WarmUpTest, BatchesThatWouldTakeTooLongAreLeftOut) {
  Ask(*servable_, {1}, "y");
  std::vector<std::string> feeds;
  const auto next = MakeServable(MakeLinearBundle(&log_), &feeds);
  log_.on_run = [](const RunOptions&) {
    absl::SleepFor(absl::Milliseconds(1));
    return absl::OkStatus();
  };
  // At a millisecond a row or more, these would take 100 seconds.
  EXPECT_TRUE(
      WarmUp(1, &metrics_).Run(directory_, *next, servable_->SampleRequests(), {1, 100'000}).ok());
  EXPECT_THAT(feeds, ElementsAre("float[1] [1]"));
}

// Waits until the run is cancelled or its deadline has passed.
absl::Status RunUntilEnded(const RunOptions& options) {
  const absl::Time deadline = absl::Now() + options.timeout;
  while (options.cancellation == nullptr || !options.cancellation->IsCancelled()) {
    if (absl::Now() > deadline) return absl::DeadlineExceededError("late");
    absl::SleepFor(absl::Milliseconds(1));
  }
  return absl::CancelledError("cancelled");
}

TEST_F(WarmUpTest, ASlowRequestLeavesTimeToTheOthers) {
  Ask(*servable_, {1, 2}, "y");
  Ask(*servable_, {3}, "y");
  std::vector<std::string> feeds;
  const auto next = MakeServable(MakeLinearBundle(&log_), &feeds);
  log_.on_run = [&](const RunOptions& options) {
    return feeds.size() == 1 ? RunUntilEnded(options) : absl::OkStatus();
  };
  const WarmUp warm_up(1, &metrics_, /*max_time=*/absl::Seconds(2));
  EXPECT_TRUE(warm_up.Run(directory_, *next, servable_->SampleRequests(), {}).ok());
  EXPECT_THAT(feeds, UnorderedElementsAre("float[2] [1 2]", "float[1] [3]"));
}

TEST_F(WarmUpTest, StopEndsIt) {
  Ask(*servable_, {1, 2}, "y");
  Ask(*servable_, {3}, "y");
  for (const bool file : {false, true}) {
    std::vector<std::string> feeds;
    const auto next = MakeServable(MakeLinearBundle(&log_), &feeds);
    // Without an end but Stop().
    WarmUp warm_up(1, &metrics_, /*max_time=*/absl::InfiniteDuration());
    log_.on_run = [&](const RunOptions& options) {
      warm_up.Stop();
      return RunUntilEnded(options);
    };
    if (file) {
      const std::string record = Record(Predict(1).SerializeAsString());
      EXPECT_TRUE(WriteFileAtomically(JoinPath(directory_, WarmUp::kFile), record + record).ok());
    }
    const absl::Status status = warm_up.Run(directory_, *next, servable_->SampleRequests(), {});
    EXPECT_EQ(status.code(), file ? absl::StatusCode::kCancelled : absl::StatusCode::kOk);
    EXPECT_EQ(feeds.size(), 1);
  }
}

TEST_F(WarmUpTest, WithAFileItAloneIsReplayed) {
  EXPECT_TRUE(WriteFileAtomically(JoinPath(directory_, WarmUp::kFile), "").ok());
  EXPECT_TRUE(WarmUp(1, &metrics_).Run(directory_, *servable_, {}, {1, 2}).ok());
  EXPECT_EQ(log_.runs, 0);
}

TEST_F(WarmUpTest, RequestsThatWereNotRecordedMayFail) {
  log_.on_run = [](const RunOptions&) { return absl::InternalError("cannot"); };
  testing::internal::CaptureStderr();
  EXPECT_TRUE(WarmUp(1, &metrics_).Run(directory_, *servable_, {}, {}).ok());
  EXPECT_GT(log_.runs, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "a request that is made up is no fault";
}

TEST_F(WarmUpTest, TheLogSaysHowManyRequestsRanAndHowLong) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(WarmUp(1, &metrics_).Run(directory_, *servable_, {}, {}).ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              ContainsRegex("warmed up .* with [0-9]+ requests of our own in [0-9.]+m?s\n"));
}

TEST_F(WarmUpTest, EveryKindOfRequestRuns) {
  PredictionLog classify, regress, multi, none;
  auto example = [](tensorflow::serving::Input* input) {
    input->mutable_example_list()->add_examples();
  };
  auto* classify_request = classify.mutable_classify_log()->mutable_request();
  classify_request->mutable_model_spec()->set_signature_name("classify");
  example(classify_request->mutable_input());
  auto* regress_request = regress.mutable_regress_log()->mutable_request();
  regress_request->mutable_model_spec()->set_signature_name("regress");
  example(regress_request->mutable_input());
  auto* multi_request = multi.mutable_multi_inference_log()->mutable_request();
  auto* task = multi_request->add_tasks();
  task->mutable_model_spec()->set_signature_name("regress");
  task->set_method_name("tensorflow/serving/regress");
  example(multi_request->mutable_input());
  std::string file;
  for (const auto& log : {Predict(1), classify, regress, multi, none}) {
    file += Record(log.SerializeAsString());
  }
  EXPECT_TRUE(Run(file).ok());
  EXPECT_EQ(log_.runs, 4);
  const std::string page = metrics_.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("model_warmup_latency_count{model_path=\"" + directory_ +
                              "\",status=\"OK\"} 1"));
  EXPECT_THAT(page, HasSubstr("runtime_latency_count{model_name=\"recorded\",API=\"Predict\","
                              "runtime=\"TF1\"} 1"));
}

TEST_F(WarmUpTest, RecordsRunAsOftenAsAsked) {
  EXPECT_TRUE(Run(Record(Predict(1).SerializeAsString()), 3).ok());
  EXPECT_EQ(log_.runs, 3);
  EXPECT_TRUE(Run(Record(Predict(1).SerializeAsString()), -1).ok());
  EXPECT_EQ(log_.runs, 4);
}

TEST_F(WarmUpTest, ErrorOfARequestIsTheErrorOfTheLoad) {
  const absl::Status status =
      Run(Record(Predict(1).SerializeAsString()) + Record(Predict(1, "w").SerializeAsString()));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Signature input alias: x"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(warmup record number 2 from " + path_ + ")"));
}

TEST_F(WarmUpTest, StreamedPredictionsAndSessionRunsAreNotSupported) {
  PredictionLog streamed, session;
  streamed.mutable_predict_streamed_log();
  session.mutable_session_run_log();
  for (const auto& [log, text] : {std::pair(streamed, "7"), std::pair(session, "5")}) {
    const absl::Status status = Run(Record(log.SerializeAsString()));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(std::string("Unsupported log_type for warmup: ") + text));
  }
}

TEST_F(WarmUpTest, AThousandRecordsAndNoMore) {
  std::string file;
  for (int i = 0; i < 1000; ++i) file += Record("");
  EXPECT_TRUE(Run(file).ok());
  EXPECT_EQ(Run(file + Record("")),
            absl::InvalidArgumentError("Number of warmup records exceeds the maximum (1000) at " +
                                       path_));
}

TEST_F(WarmUpTest, FilesThatAreNoRecords) {
  EXPECT_TRUE(Run("").ok());
  EXPECT_TRUE(Run("too short").ok());
  const absl::Status text = Run("this is a text and no record file");
  EXPECT_EQ(text.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(text.message()),
              HasSubstr(". Please verify your warmup data is in TFRecord format."));
  const std::string record = Record(Predict(1).SerializeAsString());
  EXPECT_TRUE(absl::IsDataLoss(Run(record.substr(0, record.size() - 1))));
  std::string flipped = record;
  flipped[20] ^= 1;
  EXPECT_TRUE(absl::IsDataLoss(Run(flipped)));
  const absl::Status unparsable = Run(Record("\xff\xff\xff"));
  EXPECT_EQ(unparsable.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unparsable.message()), HasSubstr("Failed to parse warmup record: "));
}

}  // namespace
}  // namespace tessera::serving
