// RunControl: how other threads watch and end a training run.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/cancellation.h"

namespace tessera {

// Thread-safe.
struct RunControl {
  // Ends the run after the step that runs now, with a checkpoint. A wait for data ends at once,
  // and so does a step that waits for a queue which queue runners fill, or for an iterator.
  void Stop() {
    is_stopping.store(true, std::memory_order_release);
    data_waits.Cancel();
  }

  std::atomic<bool> is_stopping{false};
  // Cancels waits for batches and for iterators of the graph, and the threads that fill queues.
  CancellationManager data_waits;

  // How far the run has come.
  std::atomic<int64_t> step{0};
  std::atomic<int64_t> first_step{0};   // that of the checkpoint from which the run goes on
  std::atomic<int64_t> rows{0};         // of all batches since the start of the process
  std::atomic<int64_t> total_steps{0};  // 0: not known
  std::atomic<double> loss{0};
  std::atomic<bool> is_evaluating{false};
};

}  // namespace tessera
