// ServerBatching: batching for all models of a server.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serving/batching/batch_metrics.h"
#include "serving/batching/batcher.h"
#include "serving/batching/batching_options.h"
#include "serving/batching/run_wrapper.h"
#include "serving/core/servable_id.h"
#include "tensorflow_serving/servables/tensorflow/session_bundle_config.pb.h"

namespace tessera::serving {

enum class BatchingMode {
  kUpstream,  // as tensorflow_model_server does, see PooledBatcher
  kAdaptive,  // see AdaptiveBatcher
  kMeasured,  // see MeasuredBatcher
};

// Parses "upstream", "adaptive" or "measured". Errors: INVALID_ARGUMENT for other values.
absl::StatusOr<BatchingMode> ParseBatchingMode(absl::string_view name);

struct BatchingSettings {
  // The largest num_batch_threads. A larger number is taken for a mistake.
  static constexpr int64_t kMaxThreads = 4096;

  tensorflow::serving::BatchingParameters parameters;
  BatchingMode mode = BatchingMode::kUpstream;
  // Whether each version has its parameters in its own file kPerModelFile. Then only the number of
  // threads and their name come from `parameters`, and versions without the file are not batched.
  bool per_model_parameters = false;

  // Errors: INVALID_ARGUMENT for impossible numbers of threads. The settings of a model's queues
  // are checked when the model loads.
  absl::Status Validate() const;
};

// Returns the sizes, limits and timeout in `parameters`. Absent ones have their defaults.
BatchingOptions MakeBatchingOptions(const tensorflow::serving::BatchingParameters& parameters);

// Holds the threads or slots that run batches, which all models share. Thread-safe. Must outlive
// the models.
class ServerBatching {
 public:
  static constexpr char kPerModelFile[] = "batching_params.pbtxt";

  // Requires valid settings. `metrics` must outlive this object.
  ServerBatching(const BatchingSettings& settings, BatchMetrics* metrics);

  // Returns the batching of the version `id` in this directory; null if it is not batched.
  // Errors: INVALID_ARGUMENT for wrong parameters; those of ReadTextProto().
  absl::StatusOr<std::shared_ptr<RunWrapper>> Wrap(const ServableId& id,
                                                   const std::string& directory);

  // Makes requests run without waiting for others to join them, from now on.
  void Drain() { batcher_->DrainAll(); }

 private:
  const BatchingSettings settings_;
  BatchMetrics* const metrics_;
  const std::unique_ptr<Batcher> batcher_;
};

}  // namespace tessera::serving
