// Finds the record of a pipeline's files from which an error comes.
#pragma once

#include "absl/status/status.h"
#include "runtime/session/session.h"
#include "runtime/training/pipeline/pipeline_plan.h"

namespace tessera {

// Reads the files from the beginning, record by record, until one fails. Returns its error with the
// file and the number of the record in it, counted from 0, and a remedy if the file seems to have
// another format; or `error` if all can be read.
// Examples are shuffled and parsed many at a time, so that the pipeline itself does not know.
// Errors: CANCELLED.
absl::Status LocateError(const absl::Status& error, const PipelinePlan& plan,
                         const SessionOptions& session_options, CancellationManager* cancellation);

}  // namespace tessera
