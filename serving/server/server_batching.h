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
#include "tensorflow_serving/servables/tensorflow/session_bundle_config.pb.h"

namespace tessera::serving {

enum class BatchingMode {
  kUpstream,  // as tensorflow_model_server: see PooledBatcher
  kAdaptive,  // see AdaptiveBatcher
};

// From "upstream" or "adaptive". Errors: INVALID_ARGUMENT.
absl::StatusOr<BatchingMode> ParseBatchingMode(absl::string_view name);

struct BatchingSettings {
  // Bounds num_batch_threads: what is more is a slip of the pen.
  static constexpr int64_t kMaxThreads = 4096;

  tensorflow::serving::BatchingParameters parameters;
  BatchingMode mode = BatchingMode::kUpstream;
  // Each version's file kPerModelFile instead of `parameters`, of which only the number of threads
  // and their name count then; versions without the file are not batched.
  bool per_model_parameters = false;

  // INVALID_ARGUMENT for numbers of threads that cannot be. What belongs to a model's queues is
  // checked when the model loads.
  absl::Status Validate() const;
};

// The sizes, limits and timeout in `parameters`, those that are absent with their defaults.
BatchingOptions MakeBatchingOptions(const tensorflow::serving::BatchingParameters& parameters);

// The threads or slots that run batches, shared by all models. Thread-safe; outlives the models.
class ServerBatching {
 public:
  static constexpr char kPerModelFile[] = "batching_params.pbtxt";

  // Requires valid settings. `metrics` must outlive this.
  ServerBatching(const BatchingSettings& settings, BatchMetrics* metrics);

  // What batches the requests of the version in this directory; null if they are not to be batched.
  // Errors: INVALID_ARGUMENT for parameters that are wrong, those of ReadTextProto().
  absl::StatusOr<std::shared_ptr<RunWrapper>> Wrap(const std::string& directory);

  // From now on no request waits for others to come.
  void Drain() { batcher_->DrainAll(); }

 private:
  const BatchingSettings settings_;
  BatchMetrics* const metrics_;
  const std::unique_ptr<Batcher> batcher_;
};

}  // namespace tessera::serving
