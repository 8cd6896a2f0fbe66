// PooledBatcher: batches with the rules and the threads of TensorFlow Serving.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "serving/batching/batcher.h"

namespace tessera::serving {

// Batches run on a pool of threads. A batch runs when it is full, or when its first request has
// waited for the timeout, and a thread is free. While all threads are busy, batches grow.
//
// The destructor requires that all requests have ended.
class PooledBatcher : public Batcher {
 public:
  struct Options {
    std::string name = "batch_threads";  // shown by top -H, cut at 15 characters
    int num_threads = 1;                 // the number of batches that run at once
  };
  explicit PooledBatcher(const Options& options);
  ~PooledBatcher() override;

  absl::Status Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                   absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) override;
  // Always true: a request waits at least for another thread.
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
