// RequestLog: a sample of the requests to models, with their answers, as TFRecord files of
// tensorflow.serving.PredictionLog. Such a file warms a version up, see warm_up.h.
//
//   RequestLog log({.metrics = &metrics});
//   log.Apply(config);                                    // of which models, and how many requests
//   if (auto draw = log.Draw("resnet")) [[unlikely]] {    // this request is one of the sample
//     ... ask the model, and keep the inputs ...
//     draw->AddPredict(id, request, inputs, result);
//   }
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"
#include "serving/core/metrics.h"
#include "serving/core/rcu.h"
#include "serving/core/servable_id.h"
#include "serving/logging/log_writer.h"
#include "serving/logging/rotated_files.h"
#include "serving/servables/inference_request.h"
#include "tensorflow_serving/apis/prediction_log.pb.h"
#include "tensorflow_serving/config/logging_config.pb.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {

// The log of one model. A request is added once it was answered, as a message with the model's
// names and the tensors' raw bytes, whatever protocol it came by; its model_spec has no version,
// that of the answer has the one that answered. Thread-safe. No call waits for the file.
class ModelRequestLog {
 public:
  // `metadata` is what the records have in common.
  ModelRequestLog(tensorflow::serving::LogMetadata metadata, std::shared_ptr<LogWriter> writer)
      : metadata_(std::move(metadata)), writer_(std::move(writer)) {}

  // `inputs` are in the order of the request's names.
  void AddPredict(const ServableId& id, const PredictRequest& request,
                  absl::Span<const Tensor> inputs, const PredictResult& result) const;
  // `examples` is what ExamplesRequest::examples() returned.
  void AddClassify(const ServableId& id, absl::string_view signature_name, const Tensor& examples,
                   const ClassifyResult& result) const;
  void AddRegress(const ServableId& id, absl::string_view signature_name, const Tensor& examples,
                  const RegressResult& result) const;
  void AddMultiInference(const ServableId& id, absl::Span<const InferenceTask> tasks,
                         const Tensor& examples, absl::Span<const InferenceResult> results) const;

  double sampling_rate() const { return metadata_.sampling_config().sampling_rate(); }
  LogWriter& writer() const { return *writer_; }

 private:
  // Returns a log with its metadata.
  tensorflow::serving::PredictionLog NewLog(const ServableId& id,
                                            absl::string_view signature_name) const;
  void Add(const tensorflow::serving::PredictionLog& log) const;

  const tensorflow::serving::LogMetadata metadata_;
  const std::shared_ptr<LogWriter> writer_;
};

// Counts the records of each model in request_log_count by what became of them: see
// LogWriter::Options::count. Thread-safe. Draw() takes no lock; while no model is logged it is one
// read.
class RequestLog {
 public:
  struct Options {
    RotationOptions rotation;
    // The most bytes of records of one model that wait for the disk.
    int64_t max_queued_bytes = int64_t{64} << 20;
    // Told in the metadata of each record.
    std::vector<std::string> saved_model_tags;
    // Must outlive the log.
    MetricsRegistry* metrics;
  };
  explicit RequestLog(const Options& options);
  // Writes what waits.
  ~RequestLog();

  // Logs the models that the configuration says, from now on, and no others. Requires that
  // CheckModelServerConfig() accepted it. What waits of a log that ends, or of one whose files get
  // another prefix, is written before this returns. One thread at a time may call it.
  void Apply(const tensorflow::serving::ModelServerConfig& config);

  // Decides whether a request to this model is logged. Returns the log to add it to, or null.
  std::shared_ptr<const ModelRequestLog> Draw(absl::string_view model) const {
    if (!has_logs_.load(std::memory_order_acquire)) [[likely]]
      return nullptr;
    return DrawFromLogs(model);
  }

 private:
  using Logs = absl::flat_hash_map<std::string, std::shared_ptr<const ModelRequestLog>>;
  struct NamedWriter {
    std::string prefix;
    std::shared_ptr<LogWriter> writer;
  };

  std::shared_ptr<const ModelRequestLog> DrawFromLogs(absl::string_view model) const;
  std::shared_ptr<LogWriter> MakeWriter(const std::string& model, const std::string& prefix) const;

  const Options options_;
  CounterFamily* const counts_;
  std::map<std::string, NamedWriter> writers_;  // by model; of the thread that applies
  std::atomic<bool> has_logs_{false};
  RcuPointer<Logs> logs_;
};

}  // namespace tessera::serving
