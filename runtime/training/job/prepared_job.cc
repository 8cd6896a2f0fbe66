#include "runtime/training/job/prepared_job.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/job_devices.h"
#include "runtime/training/job/model_export.h"
#include "runtime/training/job/writable_folder.h"

namespace tessera {
namespace {

constexpr char kDefaultFolder[] = "run";

// Failures to open the data have a code of their own, mistakes in the job's file do not.
absl::Status DataStatus(const absl::Status& status, absl::string_view key) {
  const absl::Status annotated = Annotate(status, absl::StrCat(key, ": "));
  return absl::IsInvalidArgument(status) ? annotated : WithFailure(annotated, RunFailure::kData);
}

absl::StatusOr<std::unique_ptr<BatchSource>> OpenData(const training::PipelineSpec& spec,
                                                      absl::string_view key, int64_t seed,
                                                      const PreparedJob& prepared,
                                                      const SessionOptions& session) {
  auto source = BatchSource::Make(spec, {.batch_size = prepared.job.batch(),
                                         .seed = seed,
                                         .base_folder = prepared.base_folder,
                                         .session = session});
  if (!source.ok()) return DataStatus(source.status(), key);
  return source;
}

// Whether the graph takes batches with any number of rows.
bool TakesAnyRows(const std::vector<BatchInput>& inputs) {
  for (const BatchInput& input : inputs) {
    if (input.shape.IsFullyDefined()) return false;
  }
  return true;
}

}  // namespace

std::string PreparedJob::Resolve(const std::string& path) const {
  return !path.empty() && path[0] == '/' ? path : JoinPath(base_folder, path);
}

std::string PreparedJob::RunPath() const {
  return Resolve(job.folder().empty() ? kDefaultFolder : job.folder());
}

absl::StatusOr<PreparedJob> PrepareJob(const training::TrainingJob& job,
                                       const std::string& base_folder) {
  PreparedJob prepared{.job = job, .base_folder = base_folder};
  SessionOptions session;
  session.host =
      std::make_shared<Host>(Host::Options{.intra_op_threads = static_cast<int>(job.threads()),
                                           .inter_op_threads = static_cast<int>(job.threads())});
  // Pipelines work on records and strings, which no accelerator has kernels for.
  session.devices = DataDevices();
  ProgramOptions options{.steps = job.steps(),
                         .precision = job.precision(),
                         .accumulate = std::max<int64_t>(job.accumulate(), 1),
                         .scales_loss = job.has_loss_scale() || job.precision() == "float16",
                         .base_folder = base_folder,
                         .session = session};
  ASSIGN_OR_RETURN(options.session.devices, TrainingDevices(job.device()));
  if (job.has_seed()) options.seed = job.seed();
  const training::LossScaleSpec& scale = job.loss_scale();
  if (scale.initial() > 0) options.first_loss_scale = scale.initial();
  if (scale.growth_steps() > 0) options.loss_scale_growth_steps = scale.growth_steps();
  if (scale.fixed()) options.loss_scale_growth_steps = 0;
  auto program = MakeTrainingProgram(job.graph(), options);
  if (!program.ok()) return Annotate(program.status(), "graph: ");
  prepared.program = std::make_unique<TrainingProgram>(*std::move(program));
  RETURN_IF_ERROR(CheckTrainingDevice(job.device(), *prepared.program->session));

  const int64_t seed = job.has_seed() ? job.seed() : std::random_device()();
  std::vector<BatchField> fields;
  if (job.data().has_train()) {
    ASSIGN_OR_RETURN(prepared.source,
                     OpenData(job.data().train(), "data.train", seed, prepared, session));
    fields = prepared.source->fields();
  }
  auto step = TrainingStep::Make(*prepared.program, fields, prepared.tracer.get());
  if (!step.ok()) return Annotate(step.status(), "graph and data.train: ");
  prepared.step = *std::move(step);
  RETURN_IF_ERROR(WithFailure(Annotate(CheckWritableFolder(prepared.RunPath()), "folder: "),
                              RunFailure::kWrite));
  if (job.has_export_()) RETURN_IF_ERROR(CheckExport(prepared));
  if (!job.data().has_eval()) return prepared;

  training::PipelineSpec eval = job.data().eval();
  // An evaluation leaves no example out.
  if (TakesAnyRows(prepared.program->eval_inputs)) eval.set_keep_remainder(true);
  ASSIGN_OR_RETURN(auto source, OpenData(eval, "data.eval", seed, prepared, session));
  auto evaluator = Evaluator::Make(job.eval(), *prepared.program, std::move(source));
  if (!evaluator.ok()) return Annotate(evaluator.status(), "eval: ");
  prepared.evaluator = *std::move(evaluator);
  return prepared;
}

}  // namespace tessera
