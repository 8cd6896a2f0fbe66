#include "runtime/training/job/training_run.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/data/pipeline_control.h"
#include "runtime/graph/graph_export.h"
#include "runtime/session/queue_threads.h"
#include "runtime/training/job/background_save.h"
#include "runtime/training/job/batch_feeds.h"
#include "runtime/training/job/checkpoint_hook.h"
#include "runtime/training/job/early_stopping_hook.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/hook.h"
#include "runtime/training/job/hyper_parameters.h"
#include "runtime/training/job/logging_hook.h"
#include "runtime/training/job/model_export.h"
#include "runtime/training/job/nan_hook.h"
#include "runtime/training/job/nan_locator.h"
#include "runtime/training/job/profiler_hook.h"
#include "runtime/training/job/run_end.h"
#include "runtime/training/job/run_folder.h"
#include "runtime/training/job/run_state.h"
#include "runtime/training/job/stop_hook.h"
#include "runtime/training/job/summary_hook.h"
#include "runtime/training/job/watchdog.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

constexpr int kDefaultMaxToKeep = 5;
constexpr double kDefaultStepTimeout = 600;  // seconds

class TrainingRun {
 public:
  TrainingRun(PreparedJob prepared, RunObserver* observer, RunControl* control)
      : prepared_(std::move(prepared)),
        job_(prepared_.job),
        observer_(observer),
        control_(control),
        step_timeout_(absl::Seconds(job_.hooks().stop().step_timeout_seconds() > 0
                                        ? job_.hooks().stop().step_timeout_seconds()
                                        : kDefaultStepTimeout)),
        is_uploaded_(prepared_.source != nullptr && prepared_.step->UploadsBatches()),
        data_watchdog_(step_timeout_, [control] { control->data_waits.Cancel(); }) {}

  ~TrainingRun() {
    if (stops_pipelines_) control_->data_waits.Deregister(pipeline_token_);
  }

  absl::Status Run() {
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(OpenFolder());
    if (is_uploaded_) UploadAhead();
    RETURN_IF_ERROR(InitOrResume());
    const TrainingProgram& program = *prepared_.program;
    if (prepared_.source == nullptr) ControlPipelines(program.session->resources());
    if (!program.queue_runners.empty()) {
      ASSIGN_OR_RETURN(queue_threads_, QueueThreads::Start(program.queue_runners, *program.session,
                                                           &control_->data_waits));
    }
    RETURN_IF_ERROR(AddHooks());
    if (position_.must_evaluate) RETURN_IF_ERROR(Evaluate());
    if (const absl::Status status = Steps(); !status.ok()) {
      // A checkpoint that is being written stays; why the run ended is what is told.
      FinishSave(/*wait=*/true).IgnoreError();
      return status;
    }
    if (control_->is_stopping) end_.Ask("asked to stop", /*complete=*/false);
    const bool is_complete = !end_.is_asked() || end_.is_complete();
    if (is_complete) RETURN_IF_ERROR(Evaluate());
    for (const auto& hook : hooks_) RETURN_IF_ERROR(hook->End(position_.step));
    // A signal may have ended the evaluation.
    if (is_complete && !control_->is_stopping && job_.has_export_()) RETURN_IF_ERROR(Export());
    if (end_.is_asked()) {
      RETURN_IF_ERROR(log_->Write(
          {.event = "stop", .step = position_.step, .texts = {{"reason", end_.reason()}}}));
    }
    return log_->Write({.event = "end",
                        .step = position_.step,
                        .numbers = {{"seconds", absl::ToDoubleSeconds(absl::Now() - start)}}});
  }

 private:
  absl::Status OpenFolder() {
    const std::string path = prepared_.RunPath();
    auto folder = RunFolder::Open(path);
    if (!folder.ok()) return WithFailure(folder.status(), RunFailure::kWrite);
    folder_ = *std::move(folder);
    if (job_.has_resume() && !job_.resume()) {
      RETURN_IF_ERROR(WithFailure(folder_->SetAside(), RunFailure::kWrite));
    }
    ASSIGN_OR_RETURN(log_, RunLog::Open(folder_->log(), observer_));
    control_->total_steps = job_.steps();
    return log_->Write(
        {.event = "start", .counts = {{"steps", job_.steps()}}, .texts = {{"path", path}}});
  }

  absl::Status InitOrResume() {
    const TrainingProgram& program = *prepared_.program;
    if (!program.init.empty()) {
      RETURN_IF_ERROR(
          Annotate(program.session->Run({}, {}, program.init, nullptr), "graph: init: "));
    }
    const auto& spec = job_.hooks().checkpoint();
    CheckpointSaver::Options options{.name = "step"};
    options.max_to_keep = spec.has_max_to_keep()
                              ? static_cast<int>(std::min<int64_t>(spec.max_to_keep(),
                                                                   std::numeric_limits<int>::max()))
                              : kDefaultMaxToKeep;
    options.keep_every_hours = spec.keep_every_hours();
    auto saver = CheckpointSaver::Open(folder_->checkpoints(), options);
    if (!saver.ok()) return WithFailure(saver.status(), RunFailure::kWrite);
    // Early stopping has state in checkpoints, so it comes first.
    if (job_.hooks().has_early_stopping()) {
      training::EarlyStoppingHook spec = job_.hooks().early_stopping();
      if (!spec.has_higher_is_better()) {
        spec.set_higher_is_better(prepared_.evaluator->HigherIsBetter(spec.metric()));
      }
      hooks_.push_back(MakeEarlyStoppingHook(spec, &end_));
    }
    DataPosition* const evaluation =
        prepared_.evaluator == nullptr ? nullptr : prepared_.evaluator->position();
    state_ = std::make_unique<RunState>(prepared_.program.get(), prepared_.source.get(), evaluation,
                                        &hooks_, *std::move(saver));
    ASSIGN_OR_RETURN(const std::optional<RunState::Restored> restored, state_->Restore());
    state_->Begin();
    if (!restored) return absl::OkStatus();
    position_ = restored->position;
    saved_epoch_ = position_.epoch;
    control_->first_step = control_->step = position_.step;
    RunRecord record{.event = "resume", .step = position_.step};
    record.texts.emplace_back("path", restored->prefix);
    if (!restored->data_note.empty()) {
      record.texts.emplace_back("data_begin_anew", restored->data_note);
    }
    return log_->Write(record);
  }

  // Lets a stop end the waits of steps for elements of the graph's own pipelines.
  void ControlPipelines(ResourceManager& resources) {
    pipelines_ = PipelineControl::MakeIn(resources);
    stops_pipelines_ = control_->data_waits.Register(
        [pipelines = pipelines_.get()] { pipelines->Stop(); }, &pipeline_token_);
    if (!stops_pipelines_) pipelines_->Stop();
  }

  absl::Status AddHooks() {
    const auto& specs = job_.hooks();
    AddNanHooks();
    hooks_.push_back(MakeLoggingHook(specs.logging(), log_.get()));
    if (specs.has_summary()) {
      ASSIGN_OR_RETURN(auto hook, MakeSummaryHook(specs.summary(), folder_->events(), Sources()));
      hooks_.push_back(std::move(hook));
    }
    if (specs.has_profiler()) {
      hooks_.push_back(MakeProfilerHook(specs.profiler(), folder_->profile(),
                                        prepared_.tracer.get(), log_.get()));
    }
    if (specs.stop().after_seconds() > 0) {
      hooks_.push_back(MakeStopHook(absl::Seconds(specs.stop().after_seconds()), &end_));
    }
    hooks_.push_back(MakeCheckpointHook(
        specs.checkpoint(), {.save = [this](int64_t step) { return Save(step); },
                             .have_data_moved = [this] { return position_.epoch != saved_epoch_; },
                             .finish = [this](bool wait) { return FinishSave(wait); }}));
    for (const auto& hook : hooks_) RETURN_IF_ERROR(hook->Begin(position_.step));
    return absl::OkStatus();
  }

  void AddNanHooks() {
    const auto& spec = job_.hooks().nan();
    if (spec.off()) return;
    if (!spec.debug()) return hooks_.push_back(MakeNanHook(nullptr));
    std::vector<BatchField> fields;
    if (prepared_.source != nullptr) fields = prepared_.source->fields();
    auto locator = std::make_unique<NanLocator>(prepared_.program.get(), std::move(fields));
    hooks_.push_back(MakeNanHook([locator = locator.get()](const StepResult& result) {
      return locator->Locate(*result.batch);
    }));
    hooks_.push_back(std::move(locator));
  }

  SummarySources Sources() const {
    const TrainingProgram* program = prepared_.program.get();
    SummarySources sources;
    sources.job = job_.DebugString();
    sources.hyper_parameters = HyperParametersOf(job_);
    if (job_.hooks().summary().graph() && program->graph != nullptr) {
      tensorflow::GraphDef graph;
      ExportGraph(*program->graph, &graph);
      sources.graph = graph.SerializeAsString();
    }
    if (!program->learning_rate.empty()) {
      sources.learning_rate = [program]() -> absl::StatusOr<double> {
        std::vector<Tensor> rate;
        RETURN_IF_ERROR(program->session->Run({}, {program->learning_rate}, {}, &rate));
        return LossValue(rate[0]);
      };
    }
    sources.variables = [program]() -> absl::StatusOr<std::vector<std::pair<std::string, Tensor>>> {
      std::vector<std::string> reads;
      std::vector<std::pair<std::string, Tensor>> named;
      for (const StateVariable& variable : program->variables) {
        if (!variable.trainable) continue;
        reads.push_back(variable.read);
        named.emplace_back(variable.name, Tensor());
      }
      std::vector<Tensor> values;
      RETURN_IF_ERROR(program->session->Run({}, reads, {}, &values));
      for (size_t i = 0; i < values.size(); ++i) named[i].second = std::move(values[i]);
      return named;
    };
    return sources;
  }

  absl::Status Save(int64_t step) {
    RETURN_IF_ERROR(FinishSave(/*wait=*/true));
    position_.step = step;
    saved_epoch_ = position_.epoch;
    // A stop cancels the batch that is ahead, too.
    position_.is_data_interrupted = is_uploaded_ && control_->is_stopping;
    // The position of the data waits for the batch that is ahead.
    if (is_uploaded_) data_watchdog_.Arm();
    absl::StatusOr<RunState::Snapshot> taken = state_->TakeSnapshot(position_);
    if (is_uploaded_ && data_watchdog_.Disarm()) return TimeoutError("no batch came");
    ASSIGN_OR_RETURN(RunState::Snapshot snapshot, std::move(taken));
    if (data_note_.empty()) untold_data_note_ = data_note_ = snapshot.data_note;
    if (!job_.hooks().checkpoint().async()) return LogSave({step, state_->Write(snapshot)});
    // Shared, since a std::function is copied with what it holds.
    auto shared = std::make_shared<const RunState::Snapshot>(std::move(snapshot));
    save_.Start(step, [this, shared = std::move(shared)] { return state_->Write(*shared); });
    return absl::OkStatus();
  }

  absl::Status FinishSave(bool wait) {
    const std::optional<BackgroundSave::Result> result = save_.Finish(wait);
    return result ? LogSave(*result) : absl::OkStatus();
  }

  absl::Status LogSave(const BackgroundSave::Result& save) {
    RETURN_IF_ERROR(save.prefix.status());
    RunRecord record{.event = "checkpoint", .step = save.step, .texts = {{"path", *save.prefix}}};
    if (!untold_data_note_.empty()) {
      record.texts.emplace_back("data_begin_anew", std::exchange(untold_data_note_, ""));
    }
    return log_->Write(record);
  }

  bool IsOver() const {
    return control_->is_stopping || end_.is_asked() ||
           (job_.steps() > 0 && position_.step >= job_.steps()) ||
           (job_.epochs() > 0 && position_.epoch >= job_.epochs());
  }

  absl::Status Steps() {
    std::vector<Tensor> batch;
    while (!IsOver()) {
      if (prepared_.source != nullptr) {
        ASSIGN_OR_RETURN(const bool has_batch, NextBatch(&batch));
        if (!has_batch) continue;
      }
      RETURN_IF_ERROR(Step(batch));
    }
    return absl::OkStatus();
  }

  // Has each batch brought to the devices that read it while the step before it runs.
  void UploadAhead() {
    prepared_.source->PrepareAhead(
        [step = prepared_.step.get()](const std::vector<Tensor>& batch) {
          return step->Upload(batch);
        },
        &control_->data_waits);
  }

  // Returns false at the end of an epoch, and when the run is to stop.
  absl::StatusOr<bool> NextBatch(std::vector<Tensor>* batch) {
    while (state_->data().must_drop()) {
      ASSIGN_OR_RETURN(const std::optional<bool> dropped, TakeBatch(batch));
      if (!dropped) return false;
    }
    ASSIGN_OR_RETURN(const std::optional<bool> has_batch, TakeBatch(batch));
    if (has_batch == false) ++position_.epoch;
    return has_batch.value_or(false);
  }

  // Returns what BatchSource::Next() returns, and nullopt when the run is to stop.
  absl::StatusOr<std::optional<bool>> TakeBatch(std::vector<Tensor>* batch) {
    data_watchdog_.Arm();
    const absl::StatusOr<bool> has_batch = state_->data().Next(&control_->data_waits, batch);
    const bool is_timeout = data_watchdog_.Disarm();
    if (has_batch.ok()) return *has_batch;
    if (control_->is_stopping) return std::nullopt;
    if (is_timeout) return TimeoutError("no batch came");
    return WithFailure(Annotate(has_batch.status(),
                                absl::StrCat("data.train, before step ", position_.step + 1, ": ")),
                       RunFailure::kData);
  }

  absl::Status Step(const std::vector<Tensor>& batch) {
    const int64_t step = position_.step + 1;
    for (const auto& hook : hooks_) RETURN_IF_ERROR(hook->BeforeStep(step));
    const absl::StatusOr<double> loss =
        is_uploaded_ ? prepared_.step->RunUploaded(prepared_.source->prepared(), step_timeout_)
                     : prepared_.step->Run(batch, step_timeout_);
    if (absl::IsDeadlineExceeded(loss.status())) return TimeoutError("the step did not end");
    if (pipelines_ && !loss.ok()) return EndOfOwnData(loss.status(), step);
    if (!loss.ok()) return StepError(loss.status(), step);
    state_->NoteStep();
    position_.step = step;
    const StepResult result{.step = step, .loss = *loss, .rows = RowsOf(batch), .batch = &batch};
    control_->step.store(step, std::memory_order_relaxed);
    control_->loss.store(*loss, std::memory_order_relaxed);
    control_->rows.fetch_add(result.rows, std::memory_order_relaxed);
    if (prepared_.step->was_skipped()) {
      RETURN_IF_ERROR(log_->Write({.event = "skip",
                                   .step = step,
                                   .numbers = {{"loss_scale", prepared_.step->loss_scale()}}}));
    }
    const int64_t every = job_.eval().every_steps();
    // The checkpoint is the last hook, and comes after the evaluation.
    for (const auto& hook : hooks_) {
      if (&hook == &hooks_.back() && every > 0 && step % every == 0) RETURN_IF_ERROR(Evaluate());
      RETURN_IF_ERROR(hook->AfterStep(result));
    }
    return absl::OkStatus();
  }

  // A kernel that refuses its arguments refuses what the batch holds, such as a label out of range.
  absl::Status StepError(const absl::Status& error, int64_t step) const {
    const absl::Status annotated = Annotate(error, absl::StrCat("step ", step, ": "));
    const bool is_of_data =
        absl::IsDataLoss(error) || (prepared_.source != nullptr &&
                                    (absl::IsInvalidArgument(error) || absl::IsOutOfRange(error)));
    return is_of_data ? WithFailure(annotated, RunFailure::kData) : annotated;
  }

  // A step fails when a queue or an iterator of the graph has no more for it: because of an error
  // of the threads that fill a queue, because the run is to stop, which closes all queues and ends
  // all waits for elements, or because the data have ended.
  absl::Status EndOfOwnData(const absl::Status& error, int64_t step) {
    const bool has_queues = queue_threads_ != nullptr;
    if (has_queues && !queue_threads_->status().ok()) {
      return WithFailure(Annotate(queue_threads_->status(),
                                  absl::StrCat("step ", step, ": the graph's own data: ")),
                         RunFailure::kData);
    }
    if (control_->is_stopping && absl::IsCancelled(error)) return absl::OkStatus();
    const bool is_end = absl::IsOutOfRange(error) && (has_queues || pipelines_->has_ended());
    if (!is_end) return StepError(error, step);
    if (control_->is_stopping) return absl::OkStatus();
    end_.Ask("the graph's own data have ended", /*complete=*/true);
    return absl::OkStatus();
  }

  absl::Status TimeoutError(absl::string_view what) const {
    return WithFailure(absl::DeadlineExceededError(absl::StrCat(
                           "step ", position_.step + 1, ": ", what, " within ",
                           absl::FormatDuration(step_timeout_),
                           " (hooks.stop.step_timeout_seconds). The data may never yield a batch")),
                       RunFailure::kStepTimeout);
  }

  // Does nothing if there is no data for it, or this step was evaluated before.
  absl::Status Evaluate() {
    if (prepared_.evaluator == nullptr || evaluation_.step == position_.step) {
      return absl::OkStatus();
    }
    control_->is_evaluating = true;
    absl::StatusOr<Evaluation> evaluation = prepared_.evaluator->Run(position_.step, control_);
    control_->is_evaluating = false;
    position_.must_evaluate = absl::IsCancelled(evaluation.status()) && control_->is_stopping;
    if (position_.must_evaluate) return absl::OkStatus();
    RETURN_IF_ERROR(evaluation.status());
    evaluation_ = *std::move(evaluation);
    state_->NoteStep();
    RETURN_IF_ERROR(
        log_->Write({.event = "eval",
                     .step = position_.step,
                     .numbers = {evaluation_.values.begin(), evaluation_.values.end()}}));
    for (const auto& hook : hooks_) RETURN_IF_ERROR(hook->AfterEvaluation(evaluation_));
    return absl::OkStatus();
  }

  absl::Status Export() {
    evaluation_.step = position_.step;
    ASSIGN_OR_RETURN(const ExportResult result, ExportModel(prepared_, *folder_, evaluation_));
    RunRecord record{.event = "export", .step = position_.step};
    record.texts.emplace_back(result.path.empty() ? "reason" : "path",
                              result.path.empty() ? result.refusal : result.path);
    return log_->Write(record);
  }

  PreparedJob prepared_;
  const training::TrainingJob& job_;
  RunObserver* const observer_;
  RunControl* const control_;
  const absl::Duration step_timeout_;
  const bool is_uploaded_;  // batches come to devices ahead of their steps
  Watchdog data_watchdog_;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<RunLog> log_;
  RunEnd end_;
  std::vector<std::unique_ptr<Hook>> hooks_;
  std::unique_ptr<RunState> state_;
  RunState::Position position_;
  int64_t saved_epoch_ = 0;  // of the last checkpoint
  // The first reason why the data begin anew behind a checkpoint, also until the log has it.
  std::string data_note_, untold_data_note_;
  Evaluation evaluation_{.step = -1};            // the last one
  BackgroundSave save_;                          // its thread uses state_
  std::unique_ptr<QueueThreads> queue_threads_;  // null: the graph has no queue runners
  IntrusivePtr<PipelineControl> pipelines_;      // null: the graph reads no data of its own
  CancellationManager::Token pipeline_token_ = 0;
  bool stops_pipelines_ = false;
};

}  // namespace

absl::Status RunTraining(PreparedJob prepared, RunObserver* observer, RunControl* control) {
  return TrainingRun(std::move(prepared), observer, control).Run();
}

}  // namespace tessera
