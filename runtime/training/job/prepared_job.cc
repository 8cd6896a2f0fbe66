#include "runtime/training/job/prepared_job.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

absl::Status OpenData(const training::PipelineSpec& spec, absl::string_view key, int64_t seed,
                      const SessionOptions& session, const PreparedJob& prepared,
                      std::unique_ptr<BatchSource>* opened) {
  auto source = BatchSource::Make(spec, {.batch_size = prepared.job.batch(),
                                         .seed = seed,
                                         .base_folder = prepared.base_folder,
                                         .session = session});
  if (!source.ok()) return DataStatus(source.status(), key);
  *opened = *std::move(source);
  return absl::OkStatus();
}

// Whether the graph takes batches with any number of rows.
bool TakesAnyRows(const std::vector<BatchInput>& inputs) {
  for (const BatchInput& input : inputs) {
    if (input.shape.IsFullyDefined()) return false;
  }
  return true;
}

// Makes the program from the job's graph, unless there are errors in what is to be added to it.
// `session` has the host and the CPU.
absl::Status MakeProgram(const SessionOptions& session, PreparedJob* prepared,
                         std::vector<absl::Status>* errors) {
  const training::TrainingJob& job = prepared->job;
  ProgramOptions options{.steps = job.steps(),
                         .precision = job.precision(),
                         .accumulate = std::max<int64_t>(job.accumulate(), 1),
                         .scales_loss = job.has_loss_scale() || job.precision() == "float16",
                         .base_folder = prepared->base_folder,
                         .session = session};
  ASSIGN_OR_RETURN(options.session.devices, TrainingDevices(job.device()));
  if (job.has_seed()) options.seed = job.seed();
  const training::LossScaleSpec& scale = job.loss_scale();
  if (scale.initial() > 0) options.first_loss_scale = scale.initial();
  if (scale.growth_steps() > 0) options.loss_scale_growth_steps = scale.growth_steps();
  if (scale.fixed()) options.loss_scale_growth_steps = 0;
  if (!job.graph().has_saved_model()) {
    for (const absl::Status& error : CheckAddedTraining(job.graph(), options)) {
      errors->push_back(Annotate(error, "graph: "));
    }
    if (!errors->empty()) return absl::OkStatus();
  }
  auto program = MakeTrainingProgram(job.graph(), options);
  if (!program.ok()) return Annotate(program.status(), "graph: ");
  prepared->program = std::make_unique<TrainingProgram>(*std::move(program));
  return CheckTrainingDevice(job.device(), *prepared->program->session);
}

// Errors: INVALID_ARGUMENT if evaluations lack the value that `key` names.
absl::Status CheckMetric(const std::vector<std::string>& names, absl::string_view key,
                         const std::string& name) {
  if (std::ranges::count(names, name) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(key, ": evaluations have no '", name, "'; they have ",
                   names.empty() ? "nothing" : absl::StrJoin(names, ", "), ": see eval.metrics"));
}

// Checks the metrics that the job names elsewhere: whether there is a loss, only the graph tells.
absl::Status CheckMetrics(const PreparedJob& prepared) {
  const training::TrainingJob& job = prepared.job;
  const std::vector<std::string> names = prepared.evaluator->MetricNames();
  if (job.hooks().has_early_stopping()) {
    const std::string& metric = job.hooks().early_stopping().metric();
    RETURN_IF_ERROR(
        CheckMetric(names, "hooks.early_stopping.metric", metric.empty() ? "loss" : metric));
  }
  if (job.export_().metric().empty()) return absl::OkStatus();
  return CheckMetric(names, "export.metric", job.export_().metric());
}

// Makes what needs both the program and the data. `eval_source` is null if there is none.
absl::Status FitTogether(std::unique_ptr<BatchSource> eval_source, PreparedJob* prepared) {
  const training::TrainingJob& job = prepared->job;
  std::vector<BatchField> fields;
  if (prepared->source != nullptr) fields = prepared->source->fields();
  auto step = TrainingStep::Make(*prepared->program, fields, prepared->tracer.get());
  if (!step.ok()) return Annotate(step.status(), "graph and data.train: ");
  prepared->step = *std::move(step);
  if (job.has_export_()) RETURN_IF_ERROR(CheckExport(*prepared));
  if (eval_source == nullptr) return absl::OkStatus();
  auto evaluator = Evaluator::Make(job.eval(), *prepared->program, std::move(eval_source));
  if (!evaluator.ok()) return Annotate(evaluator.status(), "eval: ");
  prepared->evaluator = *std::move(evaluator);
  return CheckMetrics(*prepared);
}

}  // namespace

std::string PreparedJob::Resolve(const std::string& path) const {
  return !path.empty() && path[0] == '/' ? path : JoinPath(base_folder, path);
}

std::string PreparedJob::RunPath() const {
  return Resolve(job.folder().empty() ? kDefaultFolder : job.folder());
}

absl::StatusOr<PreparedJob> PrepareJob(const training::TrainingJob& job,
                                       const std::string& base_folder,
                                       std::vector<absl::Status>* errors) {
  PreparedJob prepared{.job = job, .base_folder = base_folder};
  SessionOptions session;
  session.host =
      std::make_shared<Host>(Host::Options{.intra_op_threads = static_cast<int>(job.threads()),
                                           .inter_op_threads = static_cast<int>(job.threads())});
  // Pipelines work on records and strings, which no accelerator has kernels for.
  session.devices = DataDevices();
  const int64_t seed = job.has_seed() ? job.seed() : std::random_device()();

  const auto check = [errors](const absl::Status& status) {
    if (!status.ok()) errors->push_back(status);
  };
  check(MakeProgram(session, &prepared, errors));
  if (job.data().has_train()) {
    check(OpenData(job.data().train(), "data.train", seed, session, prepared, &prepared.source));
  }
  std::unique_ptr<BatchSource> eval_source;
  if (job.data().has_eval()) {
    training::PipelineSpec eval = job.data().eval();
    // An evaluation leaves no example out.
    if (prepared.program != nullptr && TakesAnyRows(prepared.program->eval_inputs)) {
      eval.set_keep_remainder(true);
    }
    check(OpenData(eval, "data.eval", seed, session, prepared, &eval_source));
  }
  check(WithFailure(Annotate(CheckWritableFolder(prepared.RunPath()), "folder: "),
                    RunFailure::kWrite));
  if (errors->empty()) check(FitTogether(std::move(eval_source), &prepared));
  if (!errors->empty()) return errors->front();
  return prepared;
}

}  // namespace tessera
