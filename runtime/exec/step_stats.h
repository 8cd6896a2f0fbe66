// Statistics of a step: which nodes ran, when, and for how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"

namespace tensorflow {
class StepStats;
}  // namespace tensorflow

namespace tessera {

// Gathers one record a node execution, and turns them into TensorFlow's StepStats, which its
// timeline viewers read.
//
//   StepStatsCollector stats;
//   RunArgs run{.args = args, .results = &results, .stats = &stats};
//   RETURN_IF_ERROR(executor.Run(step, run));
//   stats.WriteTo(metadata->mutable_step_stats());
//
// Thread-safe.
class StepStatsCollector {
 public:
  // Nanoseconds since the epoch.
  static int64_t Now();

  // `ready` is when the node's inputs were there, `start` and `end` bound its kernel.
  void Record(absl::string_view device, absl::string_view node, absl::string_view op, int64_t ready,
              int64_t start, int64_t end, absl::Span<const Value> outputs);
  // Adds to *proto, one DeviceStepStats a device.
  void WriteTo(tensorflow::StepStats* proto) const;

 private:
  struct Entry {
    std::string device, node, op;
    int64_t ready, start, end;
    int32_t thread;  // CurrentThreadId()
    struct Output {
      int slot;
      DType dtype;
      Shape shape;
      int64_t bytes;
    };
    std::vector<Output> outputs;
  };
  mutable absl::Mutex mu_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
