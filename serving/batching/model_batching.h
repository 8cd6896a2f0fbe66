// ModelBatching: batching of one loaded version of a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "serving/batching/batch_metrics.h"
#include "serving/batching/batcher.h"
#include "serving/batching/batching_options.h"
#include "serving/batching/run_wrapper.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// The treatment of requests that cannot be batched.
enum class BatchingRules {
  // They are refused, as by TensorFlow Serving: requests with an input without a first dimension,
  // with first dimensions that differ, or with more rows than a batch.
  kStrict,
  // They run by themselves, as without batching. So do all requests for an input or output whose
  // number of rows is fixed: rows of several requests would change what such a run computes, or
  // could not be told apart.
  kLenient,
};

// Gives each compiled run of a version a lane through the server's Batcher. Two signatures with the
// same inputs and outputs share one lane.
//
// Requests without rows, or with an input without elements, run by themselves at once. So do all
// requests before StartServing(), and those of background work (runtime/host/background.h), such as
// mirrored ones. They run on their own threads, because warm-up and background work must not take
// the threads and the batches of clients' requests, and metrics do not count them, because no
// client asked them. Thread-safe.
class ModelBatching : public RunWrapper {
 public:
  // `batcher` and `metrics` must outlive all callables. Errors: those of
  // BatchingOptions::Validate().
  static absl::StatusOr<std::shared_ptr<ModelBatching>> Create(const ServableId& id,
                                                               const BatchingOptions& options,
                                                               BatchingRules rules,
                                                               Batcher* batcher,
                                                               BatchMetrics* metrics);

  absl::StatusOr<std::shared_ptr<const Callable>> Wrap(std::shared_ptr<const Callable> callable,
                                                       RunRows rows) override;
  bool MayWait() const override { return version_->batcher->MayWait(); }
  std::vector<int64_t> LikelyRows() const override { return version_->options.LikelyRows(); }
  void StartServing() override { version_->serving.store(true); }
  void BeginDraining() override;

 private:
  class BatchedCallable;
  // Shared by the callables, which may outlive this object.
  struct Version {
    BatchingOptions options;
    BatchingRules rules;
    Batcher* batcher;
    std::unique_ptr<VersionBatchMetrics> metrics;
    std::atomic<bool> serving{false};
  };
  using Tensors = std::vector<std::string>;

  explicit ModelBatching(std::shared_ptr<Version> version) : version_(std::move(version)) {}

  const std::shared_ptr<Version> version_;
  absl::Mutex mu_;
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  // The key is the feeds and fetches.
  std::map<std::pair<Tensors, Tensors>, std::weak_ptr<const BatchedCallable>> callables_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
