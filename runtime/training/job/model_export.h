// Exports what a run has trained, as a version that a server takes.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/training/job/hook.h"
#include "runtime/training/job/prepared_job.h"
#include "runtime/training/job/run_folder.h"

namespace tessera {

struct ExportResult {
  std::string path;     // the version's folder; empty if nothing was exported
  std::string refusal;  // why nothing was exported; empty otherwise
};

// Writes a version to the base path of the job's export: a SavedModel, or the weights alone. It
// appears under its number by a rename, complete and on the disk. assets.extra/training.json in it
// says from which run and step it comes, and the metrics of `evaluation`; a later export with
// `beats_served` compares itself with these. Nothing is exported if the metric does not reach what
// the job asks for, or if the highest version is this step of this run already.
//
// Errors (RunFailure::kWrite for those of the file system):
// INVALID_ARGUMENT for inputs and outputs that the graph does not have; ALREADY_EXISTS for a
// version number that is taken.
absl::StatusOr<ExportResult> ExportModel(const PreparedJob& prepared, const RunFolder& folder,
                                         const Evaluation& evaluation);

// Checks before a run what would keep ExportModel() from writing: names of inputs and outputs,
// assets that cannot be read, a version number that another run has taken, and a base path that is
// no folder or cannot be written to. Errors: INVALID_ARGUMENT; ALREADY_EXISTS; those of ReadFile()
// and CheckWritableFolder().
absl::Status CheckExport(const PreparedJob& prepared);

}  // namespace tessera
