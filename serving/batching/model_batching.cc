#include "serving/batching/model_batching.h"

#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/host/yielding.h"

namespace tessera::serving {
namespace {

BatchExecutor::LoneRuns LoneRunsOf(BatchingRules rules) {
  return rules == BatchingRules::kStrict ? BatchExecutor::LoneRuns::kLikeMerged
                                         : BatchExecutor::LoneRuns::kUnchanged;
}

// Returns the size of the first dimension, which must be that of all feeds.
absl::StatusOr<int64_t> CountRows(absl::Span<const Tensor> feeds) {
  for (const Tensor& feed : feeds) {
    if (feed.rank() == 0) {
      return absl::InvalidArgumentError(
          "Batching Run() input tensors must have at least one dimension");
    }
    if (feed.dim(0) != feeds[0].dim(0)) {
      return absl::InvalidArgumentError(
          "Batching Run() input tensors must have equal 0th-dimension size");
    }
  }
  return feeds[0].dim(0);
}

bool HaveElements(absl::Span<const Tensor> feeds) {
  for (const Tensor& feed : feeds) {
    if (feed.num_elements() == 0) return false;
  }
  return true;
}

}  // namespace

class ModelBatching::BatchedCallable : public Callable {
 public:
  BatchedCallable(std::shared_ptr<const Version> version, std::shared_ptr<const Callable> callable)
      : version_(std::move(version)),
        lane_(std::move(callable), &version_->options, LoneRunsOf(version_->rules),
              version_->metrics.get()) {}

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override {
    const Callable& callable = lane_.executor().callable();
    if (feeds.empty() || fetches == nullptr || options.collect_stats) {
      return callable.Run(options, feeds, fetches, metadata);
    }
    const bool strict = version_->rules == BatchingRules::kStrict;
    const absl::StatusOr<int64_t> rows = CountRows(feeds);
    if (!rows.ok() && strict) return rows.status();
    const bool may_be_batched =
        rows.ok() && HaveElements(feeds) && (strict || *rows <= version_->options.request_limit());
    if (!may_be_batched) return callable.Run(options, feeds, fetches, metadata);
    if (version_->serving.load(std::memory_order_relaxed) && !InBackground()) {
      return version_->batcher->Run(lane_, *rows, options, feeds, fetches);
    }
    return RunHere(*rows, options, feeds, fetches);
  }

  const RunSignature& signature() const override { return lane_.executor().callable().signature(); }

  void Drain() const { version_->batcher->Drain(lane_); }

 private:
  // Runs one request as a batch of its own.
  absl::Status RunHere(int64_t rows, const RunOptions& options, absl::Span<const Tensor> feeds,
                       std::vector<Tensor>* fetches) const {
    BatchTask task;
    task.feeds = feeds;
    task.rows = rows;
    task.queued = absl::Now();
    task.cancellation = options.cancellation;
    if (options.timeout != absl::InfiniteDuration()) task.deadline = task.queued + options.timeout;
    Batch batch;
    batch.rows = rows;
    batch.is_counted = false;  // no client's
    batch.parts.push_back({.task = &task, .begin = 0, .end = rows});
    lane_.executor().Execute(task.queued, &batch);
    *fetches = std::move(batch.parts[0].outputs);
    return batch.parts[0].status;
  }

  const std::shared_ptr<const Version> version_;
  mutable BatchLane lane_;  // thread-safe through the batcher
};

absl::StatusOr<std::shared_ptr<ModelBatching>> ModelBatching::Create(const ServableId& id,
                                                                     const BatchingOptions& options,
                                                                     BatchingRules rules,
                                                                     Batcher* batcher,
                                                                     BatchMetrics* metrics) {
  RETURN_IF_ERROR(options.Validate());
  auto version = std::make_shared<Version>();
  version->options = options;
  version->rules = rules;
  version->batcher = batcher;
  version->metrics = std::make_unique<VersionBatchMetrics>(id, metrics);
  return std::shared_ptr<ModelBatching>(new ModelBatching(std::move(version)));
}

absl::StatusOr<std::shared_ptr<const Callable>> ModelBatching::Wrap(
    std::shared_ptr<const Callable> callable, RunRows rows) {
  if (rows == RunRows::kFixed && version_->rules == BatchingRules::kLenient) return callable;
  const RunSignature& signature = callable->signature();
  std::pair<Tensors, Tensors> key = {signature.feeds, signature.fetches};
  absl::MutexLock lock(&mu_);
  const auto known = callables_.find(key);
  std::shared_ptr<const BatchedCallable> batched =
      known == callables_.end() ? nullptr : known->second.lock();
  if (batched == nullptr) {
    batched = std::make_shared<const BatchedCallable>(version_, std::move(callable));
    if (draining_) batched->Drain();
    // Clients may ask for ever other sets of outputs, of which only the latest are kept.
    std::erase_if(callables_, [](const auto& entry) { return entry.second.expired(); });
    callables_[std::move(key)] = batched;
  }
  return std::shared_ptr<const Callable>(std::move(batched));
}

void ModelBatching::BeginDraining() {
  absl::MutexLock lock(&mu_);
  draining_ = true;
  for (const auto& [signature, callable] : callables_) {
    if (std::shared_ptr<const BatchedCallable> batched = callable.lock()) batched->Drain();
  }
}

}  // namespace tessera::serving
