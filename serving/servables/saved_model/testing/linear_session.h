// A model for tests that needs no graph: y = x / 2 + 2.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/session/saved_model.h"
#include "serving/core/loader.h"
#include "serving/servables/saved_model/saved_model_servable.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {

// Counts the calls of the sessions of one test, and controls their runs. Thread-safe.
struct LinearSessionLog {
  std::atomic<int> callables_made{0};
  std::atomic<int> runs{0};
  // Called by every run before it answers; an error fails the run. May be null.
  std::function<absl::Status(const RunOptions&)> on_run;
  // A signature that says that its runs leave a trace. Read when a bundle is made.
  std::string impure_signature;
};

// A session with these tensors. Of floats "x:0" of any shape it computes "y:0" = x / 2 + 2 and
// "z:0" = x. Of N strings "examples:0" it computes "scores:0" float [N, 2], "classes:0" string [N,
// 2], "values:0" float [N, 1], "flat:0" float [N] and "wide:0" float [N, 3], where example i has
// score i and so on.
std::unique_ptr<Session> MakeLinearSession(LinearSessionLog* log);

// Returns a model with the signatures serving_default (x -> y, z), with_default (x with a default
// of 6 -> y), classify, classify_scores, regress, regress_flat, regress_wide, two_inputs (a, b ->
// y), sparse_input (x, which is no single tensor -> y), ragged_output (x -> r, which is none, y)
// and odd_method.
SavedModelBundle MakeLinearBundle(LinearSessionLog* log);

// Loads MakeLinearBundle(). The load of a directory whose name ends in "broken" fails with
// DATA_LOSS.
class LinearLoader : public Loader {
 public:
  LinearLoader(std::string directory, LinearSessionLog* log)
      : directory_(std::move(directory)), log_(log) {}
  absl::Status Load() override;
  void Unload() override { servable_.reset(); }
  AnyServable servable() override {
    return AnyServable(static_cast<const Servable*>(servable_.get()));
  }

 private:
  const std::string directory_;
  LinearSessionLog* const log_;
  std::unique_ptr<const SavedModelServable> servable_;
};

}  // namespace tessera::serving
