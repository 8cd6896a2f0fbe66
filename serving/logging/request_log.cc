#include "serving/logging/request_log.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/tf_record.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/core/random_position.h"
#include "serving/servables/serving_proto.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::LogMetadata;
using tensorflow::serving::PredictionLog;

constexpr char kSuffix[] = "tfrecord";

void NameRequest(const ServableId& id, absl::string_view signature_name,
                 tensorflow::serving::ModelSpec* spec) {
  spec->set_name(id.name);
  spec->set_signature_name(std::string(signature_name));
}

}  // namespace

PredictionLog ModelRequestLog::NewLog(const ServableId& id,
                                      absl::string_view signature_name) const {
  PredictionLog log;
  LogMetadata& metadata = *log.mutable_log_metadata();
  metadata = metadata_;
  FillModelSpec(id, signature_name, metadata.mutable_model_spec());
  metadata.set_timestamp_secs(absl::ToUnixSeconds(absl::Now()));
  return log;
}

void ModelRequestLog::Add(const PredictionLog& log) const {
  std::string message, record;
  // A message beyond protobuf's limit of 2 GiB has no bytes, and counts as one without room.
  if (!log.SerializeToString(&message)) return writer_->Drop();
  AppendTfRecord(message, &record);
  writer_->Add(std::move(record));
}

void ModelRequestLog::AddPredict(const ServableId& id, const PredictRequest& request,
                                 absl::Span<const Tensor> inputs,
                                 const PredictResult& result) const {
  PredictionLog log = NewLog(id, result.signature_name);
  auto& asked = *log.mutable_predict_log()->mutable_request();
  auto& answered = *log.mutable_predict_log()->mutable_response();
  NameRequest(id, request.signature_name, asked.mutable_model_spec());
  for (const absl::string_view name : request.output_filter) {
    asked.add_output_filter(std::string(name));
  }
  FillModelSpec(id, result.signature_name, answered.mutable_model_spec());
  bool is_whole = true;  // false for elements that have no serialised form
  const auto put = [&](absl::string_view name, const Tensor& tensor, auto* tensors) {
    is_whole &=
        TensorToProto(tensor, TensorProtoForm::kTensorContent, &(*tensors)[std::string(name)]).ok();
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    put(request.input_names[i], inputs[i], asked.mutable_inputs());
  }
  for (const NamedOutput& output : result.outputs) {
    put(output.name, output.tensor, answered.mutable_outputs());
  }
  is_whole ? Add(log) : writer_->Drop();
}

void ModelRequestLog::AddClassify(const ServableId& id, absl::string_view signature_name,
                                  const Tensor& examples, const ClassifyResult& result) const {
  PredictionLog log = NewLog(id, result.signature_name);
  auto& call = *log.mutable_classify_log();
  NameRequest(id, signature_name, call.mutable_request()->mutable_model_spec());
  FillInput(examples, call.mutable_request()->mutable_input());
  FillModelSpec(id, result.signature_name, call.mutable_response()->mutable_model_spec());
  FillClassification(result, call.mutable_response()->mutable_result());
  Add(log);
}

void ModelRequestLog::AddRegress(const ServableId& id, absl::string_view signature_name,
                                 const Tensor& examples, const RegressResult& result) const {
  PredictionLog log = NewLog(id, result.signature_name);
  auto& call = *log.mutable_regress_log();
  NameRequest(id, signature_name, call.mutable_request()->mutable_model_spec());
  FillInput(examples, call.mutable_request()->mutable_input());
  FillModelSpec(id, result.signature_name, call.mutable_response()->mutable_model_spec());
  FillRegression(result, call.mutable_response()->mutable_result());
  Add(log);
}

void ModelRequestLog::AddMultiInference(const ServableId& id, absl::Span<const InferenceTask> tasks,
                                        const Tensor& examples,
                                        absl::Span<const InferenceResult> results) const {
  PredictionLog log = NewLog(id, /*signature_name=*/"");
  auto& call = *log.mutable_multi_inference_log();
  for (const InferenceTask& task : tasks) {
    auto& asked = *call.mutable_request()->add_tasks();
    NameRequest(id, task.model.signature_name, asked.mutable_model_spec());
    asked.set_method_name(std::string(task.method_name));
  }
  FillInput(examples, call.mutable_request()->mutable_input());
  FillMultiInference(id, results, call.mutable_response());
  Add(log);
}

RequestLog::RequestLog(const Options& options)
    : options_(options),
      counts_(options.metrics->AddCounter("/tensorflow/serving/request_log_count",
                                          {"model_name", "status_code"})) {}

RequestLog::~RequestLog() = default;

std::shared_ptr<LogWriter> RequestLog::MakeWriter(const std::string& model,
                                                  const std::string& prefix) const {
  LogWriter::Options options;
  options.name = absl::StrCat("the request log of model '", model, "'");
  options.max_queued_bytes = options_.max_queued_bytes;
  options.max_written_bytes = std::min(options.max_written_bytes, options_.rotation.max_file_bytes);
  options.count = [counts = counts_, model](absl::StatusCode code, int64_t num_records) {
    counts->Get({model, absl::StatusCodeToString(code)})
        .Increment(static_cast<double>(num_records));
  };
  return std::make_shared<LogWriter>(
      std::move(options), std::make_unique<RotatedFiles>(prefix, kSuffix, options_.rotation));
}

void RequestLog::Apply(const tensorflow::serving::ModelServerConfig& config) {
  auto logs = std::make_unique<Logs>();
  std::map<std::string, NamedWriter> writers;
  for (const auto& model : config.model_config_list().config()) {
    if (!model.has_logging_config()) continue;
    const auto& logging = model.logging_config();
    const std::string& prefix = logging.log_collector_config().filename_prefix();
    NamedWriter& now = writers[model.name()];
    const auto before = writers_.find(model.name());
    if (before != writers_.end() && before->second.prefix == prefix) {
      now = before->second;
    } else {
      now = {prefix, MakeWriter(model.name(), prefix)};
    }
    if (logging.sampling_config().attributes() != 0) {
      LOG(WARNING) << "logging_config of model " << model.name()
                   << ": sampling_config.attributes has no effect";
    }
    LogMetadata metadata;
    *metadata.mutable_sampling_config() = logging.sampling_config();
    for (const std::string& tag : options_.saved_model_tags) metadata.add_saved_model_tags(tag);
    (*logs)[model.name()] =
        std::make_shared<const ModelRequestLog>(std::move(metadata), now.writer);
  }
  const bool has_logs = !logs->empty();
  logs_.Publish(std::move(logs));
  has_logs_.store(has_logs, std::memory_order_release);
  writers_.swap(writers);
  for (const auto& [name, old] : writers) {
    const auto now = writers_.find(name);
    // Not by the destructor, which may run where the last request to this log ends.
    if (now == writers_.end() || now->second.writer != old.writer) old.writer->Close();
  }
}

std::shared_ptr<const ModelRequestLog> RequestLog::DrawFromLogs(absl::string_view model) const {
  return logs_.Read([&](const Logs* logs) -> std::shared_ptr<const ModelRequestLog> {
    const auto log = logs->find(model);
    if (log == logs->end() || RandomPosition() >= log->second->sampling_rate()) return nullptr;
    LogWriter& writer = log->second->writer();
    if (writer.HasRoom()) return log->second;
    writer.Drop();
    return nullptr;
  });
}

}  // namespace tessera::serving
