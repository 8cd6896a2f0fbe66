#include "serving/servables/warm_up.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/host/mapped_file.h"
#include "serving/servables/made_up_requests.h"
#include "serving/servables/sample_rows.h"
#include "serving/servables/serving_proto.h"
#include "tensorflow_serving/apis/prediction_log.pb.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::PredictionLog;

template <typename T>
T ReadLittleEndian(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

bool ChecksumIsRight(absl::string_view data, const char* stored) {
  return ChecksumMatches(UnmaskCrc32c(ReadLittleEndian<uint32_t>(stored)), Crc32c(data));
}

absl::Status ReplayPredict(tensorflow::serving::PredictRequest request, const Servable& servable,
                           const CallOptions& options) {
  const ProtoPredictRequest view(&request);
  auto input = [&](size_t i) { return view.DecodeInput(i); };
  PredictResult result;
  return servable.Predict(view.View(input), options, &result);
}

int64_t RowsOf(const SampleRequest& request) {
  int64_t rows = 1;
  for (const Tensor& input : request.inputs) {
    if (input.rank() > 0) rows = std::max(rows, input.dim(0));
  }
  return rows;
}

// The rows and the time of the last run of a signature.
struct LastRun {
  int64_t rows = 1;
  absl::Duration time;

  // Returns the expected time of a run with `more` rows; zero before the first run.
  absl::Duration TimeFor(int64_t more) const {
    return time * (static_cast<double>(more) / static_cast<double>(rows));
  }
};

absl::Status ReplayMultiInference(const tensorflow::serving::MultiInferenceRequest& request,
                                  const Servable& servable, const CallOptions& options) {
  std::vector<InferenceTask> tasks;
  for (const auto& task : request.tasks()) {
    tasks.push_back({ViewModelSpec(task.model_spec()), task.method_name()});
  }
  auto examples = [&] { return ExamplesFromInput(request.input()); };
  std::vector<InferenceResult> results;
  return servable.MultiInference(tasks, examples, options, &results);
}

}  // namespace

absl::Status ForEachRecord(const std::string& path,
                           absl::FunctionRef<absl::Status(absl::string_view)> visit) {
  constexpr size_t kChecksum = sizeof(uint32_t);
  constexpr size_t kLength = sizeof(uint64_t);
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::string_view text(file->data(), file->size());
  absl::string_view rest = text;
  while (rest.size() >= kLength + kChecksum) {
    const size_t offset = text.size() - rest.size();
    if (!ChecksumIsRight(rest.substr(0, kLength), rest.data() + kLength)) {
      return absl::DataLossError(absl::StrCat("corrupted record at ", offset, " of ", path));
    }
    const uint64_t length = ReadLittleEndian<uint64_t>(rest.data());
    rest.remove_prefix(kLength + kChecksum);
    if (rest.size() < kChecksum || rest.size() - kChecksum < length) {
      return absl::DataLossError(absl::StrCat("truncated record at ", offset, " of ", path));
    }
    const absl::string_view record = rest.substr(0, length);
    if (!ChecksumIsRight(record, rest.data() + length)) {
      return absl::DataLossError(absl::StrCat("corrupted record at ", offset, " of ", path));
    }
    RETURN_IF_ERROR(visit(record));
    rest.remove_prefix(length + kChecksum);
  }
  return absl::OkStatus();
}

WarmUp::WarmUp(int iterations, MetricsRegistry* metrics, absl::Duration max_time)
    : iterations_(std::max(1, iterations)),
      max_time_(max_time),
      warmup_latency_(metrics->AddPassingHistogram("/tensorflow/serving/model_warmup_latency",
                                                   {"model_path", "status"},
                                                   ExponentialBounds(10, 1.8, 33))),
      runtime_latency_(metrics->AddHistogram("/tensorflow/serving/runtime_latency",
                                             {"model_name", "API", "runtime"},
                                             ExponentialBounds(10, 1.8, 33))) {}

absl::Status WarmUp::Run(const std::string& directory, const Servable& servable,
                         const std::vector<SampleRequest>& samples,
                         absl::Span<const int64_t> likely_rows) const {
  const std::string path = JoinPath(directory, kFile);
  if (FileExists(path)) return ReplayFile(directory, path, servable);
  Ask(directory, servable, samples, likely_rows);
  return absl::OkStatus();
}

void WarmUp::Ask(const std::string& directory, const Servable& servable,
                 const std::vector<SampleRequest>& samples,
                 absl::Span<const int64_t> likely_rows) const {
  const absl::Time start = absl::Now();
  const absl::Time deadline = start + max_time_;
  int num_answered = 0, num_left_out = 0;
  absl::Status failure;                      // of a request that a client has sent
  std::map<std::string, LastRun> last_runs;  // by signature
  const auto ask = [&](const SampleRequest& request, bool may_be_sampled) {
    const SignatureInfo* signature = servable.info().FindSignature(request.signature_name);
    if (signature == nullptr || !signature->is_pure || stopping_.IsCancelled()) return;
    LastRun& last = last_runs[request.signature_name];
    const int64_t rows = RowsOf(request);
    if (absl::Now() + last.TimeFor(rows) > deadline) {
      ++num_left_out;
      return;
    }
    for (int i = 0; i < iterations_; ++i) {
      const absl::Time run_start = absl::Now();
      const absl::Duration left = deadline - run_start;
      const CallOptions options{.deadline = may_be_sampled ? run_start + left / 2 : deadline,
                                .cancellation = &stopping_,
                                .may_be_sampled = may_be_sampled};
      PredictResult result;
      if (absl::Status status = AskSample(servable, request, options, &result); !status.ok()) {
        // One that is made up may be senseless to the model, which is no fault.
        if (may_be_sampled) failure = std::move(status);
        break;
      }
      last = {rows, absl::Now() - run_start};
      ++num_answered;
    }
  };
  // Requests that no client has sent do not become samples for the next version.
  const auto ask_unsampled = [&](const SampleRequest& request) { ask(request, false); };
  for (const SampleRequest& sample : samples) ask(sample, true);
  ForEachAtRows(samples, likely_rows, kMaxBatchBytes, ask_unsampled);
  if (num_answered == 0) {
    const int64_t one = 1;
    ForEachMadeUpRequest(servable.info().signatures,
                         likely_rows.empty() ? absl::MakeConstSpan(&one, 1) : likely_rows,
                         ask_unsampled);
  }
  if (num_answered == 0 && num_left_out == 0 && failure.ok()) return;
  LOG(INFO) << "warmed up " << directory << " with " << num_answered
            << (num_answered == 1 ? " request" : " requests") << " of our own in "
            << absl::FormatDuration(absl::Ceil(absl::Now() - start, absl::Milliseconds(1)))
            << (num_left_out == 0
                    ? ""
                    : absl::StrCat("; left out, as they would have taken longer: ", num_left_out))
            << (failure.ok() ? "" : "; a request that the version before was sent failed: ")
            << failure.message();
}

absl::Status WarmUp::ReplayFile(const std::string& directory, const std::string& path,
                                const Servable& servable) const {
  const absl::Time start = absl::Now();
  int num_records = 0;
  absl::Status of_request;
  const absl::Status status = ForEachRecord(path, [&](absl::string_view record) {
    if (++num_records > kMaxRecords) {
      of_request = absl::InvalidArgumentError(absl::StrCat(
          "Number of warmup records exceeds the maximum (", kMaxRecords, ") at ", path));
      return of_request;
    }
    PredictionLog log;
    if (!log.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
      of_request = absl::InvalidArgumentError(
          absl::StrCat("Failed to parse warmup record: number ", num_records, " from ", path));
      return of_request;
    }
    for (int i = 0; i < iterations_ && of_request.ok(); ++i) of_request = Replay(log, servable);
    if (!of_request.ok()) {
      of_request = absl::Status(of_request.code(),
                                absl::StrCat(of_request.message(), " (warmup record number ",
                                             num_records, " from ", path, ")"));
    }
    return of_request;
  });
  RETURN_IF_ERROR(of_request);
  if (absl::IsDataLoss(status)) {
    return absl::DataLossError(
        absl::StrCat(status.message(), ". Please verify your warmup data is in TFRecord format."));
  }
  RETURN_IF_ERROR(status);
  const absl::Duration time = absl::Now() - start;
  warmup_latency_->Record({directory, "OK"}, absl::ToDoubleMicroseconds(time));
  LOG(INFO) << "warmed up " << directory << " with " << num_records << " records in "
            << absl::FormatDuration(absl::Ceil(time, absl::Milliseconds(1)));
  return absl::OkStatus();
}

absl::Status WarmUp::Replay(const PredictionLog& log, const Servable& servable) const {
  absl::string_view model, api;
  const absl::Time start = absl::Now();
  const CallOptions options{.cancellation = &stopping_};
  if (stopping_.IsCancelled()) return absl::CancelledError("the server ends");
  switch (log.log_type_case()) {
    case PredictionLog::kPredictLog: {
      const auto& request = log.predict_log().request();
      model = request.model_spec().name();
      api = "Predict";
      RETURN_IF_ERROR(ReplayPredict(request, servable, options));
      break;
    }
    case PredictionLog::kClassifyLog: {
      const auto& request = log.classify_log().request();
      model = request.model_spec().name();
      api = "Classify";
      auto examples = [&] { return ExamplesFromInput(request.input()); };
      ClassifyResult result;
      RETURN_IF_ERROR(
          servable.Classify({request.model_spec().signature_name(), examples}, options, &result));
      break;
    }
    case PredictionLog::kRegressLog: {
      const auto& request = log.regress_log().request();
      model = request.model_spec().name();
      api = "Regress";
      auto examples = [&] { return ExamplesFromInput(request.input()); };
      RegressResult result;
      RETURN_IF_ERROR(
          servable.Regress({request.model_spec().signature_name(), examples}, options, &result));
      break;
    }
    case PredictionLog::kMultiInferenceLog:
      return ReplayMultiInference(log.multi_inference_log().request(), servable, options);
    case PredictionLog::LOG_TYPE_NOT_SET:
      return absl::OkStatus();
    case PredictionLog::kPredictStreamedLog:
    case PredictionLog::kSessionRunLog:
      return absl::UnimplementedError(
          absl::StrCat("Unsupported log_type for warmup: ", static_cast<int>(log.log_type_case())));
  }
  runtime_latency_->Get({model, api, "TF1"})
      .Record(absl::ToDoubleMicroseconds(absl::Now() - start));
  return absl::OkStatus();
}

}  // namespace tessera::serving
