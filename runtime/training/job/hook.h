// Hook: what a training run does beside its steps. One hook a file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

class CheckpointReader;

// A step that is over.
struct StepResult {
  int64_t step = 0;  // from 1: the number of steps that the variables have been through
  double loss = 0;   // of this step's batch, before the variables were changed
  int64_t rows = 0;  // of the batch; 0 if the graph reads its own data
  // The step's batch. Empty if the graph reads its own data.
  const std::vector<Tensor>* batch = nullptr;
};

// The metrics of an evaluation by name, among them "loss".
struct Evaluation {
  int64_t step = 0;
  std::map<std::string, double> values;
};

// Called by the run's thread. An error of a hook ends the run, without a checkpoint.
class Hook {
 public:
  virtual ~Hook() = default;

  // Called once, when variables have their values and before the first step.
  virtual absl::Status Begin(int64_t /*step*/) { return absl::OkStatus(); }
  // Called before the step that will have the number `step`.
  virtual absl::Status BeforeStep(int64_t /*step*/) { return absl::OkStatus(); }
  virtual absl::Status AfterStep(const StepResult& /*result*/) { return absl::OkStatus(); }
  virtual absl::Status AfterEvaluation(const Evaluation& /*evaluation*/) {
    return absl::OkStatus();
  }
  // Called once, after the last step, unless the run failed.
  virtual absl::Status End(int64_t /*step*/) { return absl::OkStatus(); }

  // Adds what a resumed run needs of this hook to a checkpoint, and takes it from there. Keys begin
  // with "_tessera/".
  virtual void Save(std::vector<SavedTensor>* /*values*/) const {}
  virtual absl::Status Restore(const CheckpointReader& /*reader*/) { return absl::OkStatus(); }
};

}  // namespace tessera
