// PreparedJob: a job whose graph and data are ready to run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/host/host.h"
#include "runtime/profile/tracer.h"
#include "runtime/training/job/evaluator.h"
#include "runtime/training/job/training_step.h"
#include "runtime/training/pipeline/batch_source.h"
#include "runtime/training/program/training_program.h"
#include "tessera/training/job.pb.h"

namespace tessera {

struct PreparedJob {
  training::TrainingJob job;
  std::string base_folder;  // relative paths of the job start here
  std::unique_ptr<Tracer> tracer = std::make_unique<Tracer>();
  // On the heap: the step and the evaluator point to it.
  std::unique_ptr<TrainingProgram> program;
  std::unique_ptr<BatchSource> source;  // null: the graph reads its own data
  std::unique_ptr<TrainingStep> step;
  std::unique_ptr<Evaluator> evaluator;  // null: there is no data to evaluate on

  // Returns `path`, or a path in the base folder if it is relative.
  std::string Resolve(const std::string& path) const;
  // The folder of the run.
  std::string RunPath() const;
};

// Makes the graph, opens the data, and checks that they fit each other. Writes nothing.
// Errors: those of MakeTrainingProgram(), BatchSource::Make(), Evaluator::Make() and CheckExport(),
// with the block of the job before them: "graph: ..."; those of TrainingDevices() and
// CheckTrainingDevice(). All that are found are added to `errors`, which is empty before: one of
// the graph, of each of the data and of the folder. The first of them is returned.
absl::StatusOr<PreparedJob> PrepareJob(const training::TrainingJob& job,
                                       const std::string& base_folder,
                                       std::vector<absl::Status>* errors);

// Returns what the job will do, for people: a line each for graph, variables, devices, data,
// length, hooks, folder and export. Reads the first batch of all data. Errors: those of the data.
absl::StatusOr<std::string> DescribePlan(PreparedJob& prepared);

}  // namespace tessera
