#include "serving/server/server_batching.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/batching/adaptive_batcher.h"
#include "serving/batching/measured_batcher.h"
#include "serving/batching/model_batching.h"
#include "serving/batching/pooled_batcher.h"
#include "serving/server/text_proto_file.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::BatchingParameters;

int NumThreads(const BatchingParameters& parameters) {
  if (parameters.has_num_batch_threads()) {
    return static_cast<int>(parameters.num_batch_threads().value());
  }
  return AvailableCores();
}

std::unique_ptr<Batcher> MakeBatcher(const BatchingSettings& settings) {
  const int threads = NumThreads(settings.parameters);
  if (settings.mode == BatchingMode::kAdaptive) return std::make_unique<AdaptiveBatcher>(threads);
  if (settings.mode == BatchingMode::kMeasured) return std::make_unique<MeasuredBatcher>(threads);
  PooledBatcher::Options options{.num_threads = threads};
  if (settings.parameters.has_thread_pool_name()) {
    options.name = settings.parameters.thread_pool_name().value();
  }
  return std::make_unique<PooledBatcher>(options);
}

}  // namespace

absl::StatusOr<BatchingMode> ParseBatchingMode(absl::string_view name) {
  if (name == "upstream") return BatchingMode::kUpstream;
  if (name == "adaptive") return BatchingMode::kAdaptive;
  if (name == "measured") return BatchingMode::kMeasured;
  return absl::InvalidArgumentError(
      absl::StrCat("batching_mode must be upstream, adaptive or measured; was ", name));
}

absl::Status BatchingSettings::Validate() const {
  if (!parameters.has_num_batch_threads()) return absl::OkStatus();
  const int64_t threads = parameters.num_batch_threads().value();
  if (threads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_batch_threads must be positive; was ", threads));
  }
  if (threads > kMaxThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_batch_threads must be at most ", kMaxThreads, "; was ", threads));
  }
  return absl::OkStatus();
}

BatchingOptions MakeBatchingOptions(const BatchingParameters& parameters) {
  BatchingOptions options;
  if (parameters.has_max_batch_size()) {
    options.max_batch_size = parameters.max_batch_size().value();
  }
  if (parameters.has_batch_timeout_micros()) {
    options.batch_timeout = absl::Microseconds(parameters.batch_timeout_micros().value());
  }
  if (parameters.has_max_enqueued_batches()) {
    options.max_enqueued_batches = parameters.max_enqueued_batches().value();
  }
  options.enable_large_batch_splitting = parameters.enable_large_batch_splitting().value();
  if (parameters.has_max_execution_batch_size()) {
    options.max_execution_batch_size = parameters.max_execution_batch_size().value();
  }
  options.allowed_batch_sizes = {parameters.allowed_batch_sizes().begin(),
                                 parameters.allowed_batch_sizes().end()};
  options.pad_variable_length_inputs = parameters.pad_variable_length_inputs();
  return options;
}

ServerBatching::ServerBatching(const BatchingSettings& settings, BatchMetrics* metrics)
    : settings_(settings), metrics_(metrics), batcher_(MakeBatcher(settings)) {}

absl::StatusOr<std::shared_ptr<RunWrapper>> ServerBatching::Wrap(const ServableId& id,
                                                                 const std::string& directory) {
  BatchingParameters parameters = settings_.parameters;
  if (settings_.per_model_parameters) {
    const std::string path = JoinPath(directory, kPerModelFile);
    if (!FileExists(path)) return std::shared_ptr<RunWrapper>();
    parameters.Clear();
    RETURN_IF_ERROR(ReadTextProto(path, &parameters));
  }
  BatchingOptions options = MakeBatchingOptions(parameters);
  RETURN_IF_ERROR(options.Validate());
  BatchingRules rules = BatchingRules::kStrict;
  if (settings_.mode != BatchingMode::kUpstream) {
    rules = BatchingRules::kLenient;
    // No request waits for a timeout, and one that is too large for a batch runs by itself.
    options.batch_timeout = absl::ZeroDuration();
    options.enable_large_batch_splitting = false;
    options.measures_cost = settings_.mode == BatchingMode::kMeasured;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<ModelBatching> batching,
                   ModelBatching::Create(id, options, rules, batcher_.get(), metrics_));
  return std::shared_ptr<RunWrapper>(std::move(batching));
}

}  // namespace tessera::serving
