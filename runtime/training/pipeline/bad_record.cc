#include "runtime/training/pipeline/bad_record.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/training/pipeline/running_pipeline.h"

namespace tessera {
namespace {

// The same records, one after the other.
PipelinePlan OneByOne(const PipelinePlan& plan) {
  PipelinePlan single = plan;
  single.shuffle = single.skip = single.take = 0;
  single.cache = false;
  single.keep_remainder = true;
  single.parallelism = single.prefetch = 1;
  return single;
}

// Returns what to check where not even the first record of a file can be read.
std::string HowFilesAreRead(const PipelinePlan& plan) {
  return absl::StrCat(
      ". The file is read as ", plan.format == RecordFormat::kTfRecord ? "TFRecord" : "one",
      plan.compression.empty()
          ? " without compression"
          : absl::StrCat(" compressed by ", absl::AsciiStrToLower(plan.compression)),
      "; set `format` and `compression` if it is something else");
}

bool IsOver(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

absl::Status LocateError(const absl::Status& error, const PipelinePlan& plan,
                         const SessionOptions& session_options, CancellationManager* cancellation) {
  PipelinePlan single = OneByOne(plan);
  int64_t index = 0;  // of all records
  std::vector<Tensor> batch;
  for (const std::string& file : plan.files) {
    single.files = {file};
    ASSIGN_OR_RETURN(const RunningPipeline pipeline,
                     RunningPipeline::Start(single, 1, 0, session_options));
    for (int64_t record = 0; plan.take == 0 || index < plan.skip + plan.take; ++record, ++index) {
      const absl::Status status = pipeline.Next(cancellation, &batch);
      if (IsOver(status)) return status;
      if (status.ok() && batch[0].dim(0) == 0) break;
      // Records that are skipped are not parsed either, but a file must be readable up to the last.
      if (status.ok() || (index < plan.skip && !absl::IsDataLoss(status))) continue;
      const absl::Status located =
          Annotate(status, absl::StrCat("file '", file, "', record ", record, ": "));
      if (record > 0 || !absl::IsDataLoss(status)) return located;
      return absl::DataLossError(absl::StrCat(located.message(), HowFilesAreRead(plan)));
    }
  }
  return error;
}

}  // namespace tessera
