// PooledBatcher: batching as TensorFlow Serving does it.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "serving/batching/batcher.h"

namespace tessera::serving {

// Batches run on threads of their own. A batch runs when it is full or its first request has waited
// for the timeout, and a thread is free; while all are busy, requests gather.
//
// The destructor requires that all requests have ended.
class PooledBatcher : public Batcher {
 public:
  struct Options {
    std::string name = "batch_threads";  // shown by top -H, cut at 15 characters
    int num_threads = 1;                 // batches that run at once
  };
  explicit PooledBatcher(const Options& options);
  ~PooledBatcher() override;

  absl::Status Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                   absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) override;
  // Always: whoever runs a request here waits for another thread at least.
  bool MayWait() const override { return true; }
  void Drain(BatchLane& lane) override;
  void DrainAll() override;

 protected:
  void BatchQueued() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunGivenBatch(BatchLane& lane, Batch batch) override;

 private:
  void RunThread(const std::string& name);

  absl::CondVar work_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera::serving
