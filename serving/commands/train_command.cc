#include "serving/commands/train_command.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/training/job/prepared_job.h"
#include "runtime/training/job/run_control.h"
#include "runtime/training/job/training_run.h"
#include "serving/commands/check_config.h"
#include "serving/commands/digits/digits_job.h"
#include "serving/commands/train_exit_code.h"
#include "serving/commands/train_job_file.h"
#include "serving/commands/train_progress.h"

namespace tessera::serving {
namespace {

struct Options {
  std::vector<std::string> settings;
  bool dry_run = false;
  bool json = false;
  std::string init;
};

// While it lives, SIGTERM, SIGINT and SIGHUP stop a run, which then writes a checkpoint. A second
// signal ends the process at once. SIGHUP stays ignored where nohup had it so. The run is stopped
// by a thread and not by a signal handler, since it takes locks.
class SignalsStop {
 public:
  // Must be made before other threads start, because it blocks the signals in all later threads.
  // `control` must outlive the object.
  explicit SignalsStop(RunControl* control) : control_(control) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    struct sigaction hang_up;
    if (::sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) {
      sigaddset(&signals_, SIGHUP);
    }
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { Watch(); });
  }
  ~SignalsStop() {
    is_over_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  void Watch() {
    for (bool is_first = true;; is_first = false) {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (is_over_) return;
      if (!is_first) _exit(128 + signal);
      control_->Stop();
    }
  }

  RunControl* const control_;
  sigset_t signals_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

void PrintReport(const ConfigReport& report, const Options& options, FILE* file) {
  const std::string text = options.json ? ReportJson(report) : ReportText(report);
  std::fwrite(text.data(), 1, text.size(), file);  // zero bytes of a user's files, too
}

absl::Status Train(const std::string& path, const Options& options) {
  // Files that grow beyond a limit fail to be written like those on a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);  // TrainProgress stops the run then
  RunControl control;
  const SignalsStop signals(&control);
  training::TrainingJob job;
  ConfigReport report;
  ReadTrainingJob(path, options.settings, &job, &report);
  if (!report.FirstError().ok()) {
    PrintReport(report, options, options.dry_run ? stdout : stderr);
    return WithExitCode(absl::InvalidArgumentError("the job is wrong"), kTrainBadJob);
  }
  const auto refuse = [&](absl::Span<const absl::Status> errors) {
    const absl::Status& status = errors.front();
    const int code = TrainExitCodeOf(status);
    for (const absl::Status& each : errors) AddJobError(path, options.settings, each, &report);
    PrintReport(report, options, options.dry_run ? stdout : stderr);
    return WithExitCode(absl::Status(status.code(), "the job is wrong"),
                        code == kTrainFailed ? kTrainBadJob : code);
  };
  std::vector<absl::Status> errors;
  absl::StatusOr<PreparedJob> prepared = PrepareJob(job, FolderOf(path), &errors);
  if (!prepared.ok()) return refuse(errors);
  if (options.dry_run) {
    const absl::StatusOr<std::string> plan = DescribePlan(*prepared);
    if (!plan.ok()) return refuse({plan.status()});
    std::fputs(plan->c_str(), stdout);
    return absl::OkStatus();
  }
  TrainProgress progress(&control);
  const absl::Status status = RunTraining(*std::move(prepared), &progress, &control);
  return WithExitCode(status, TrainExitCodeOf(status));
}

absl::Status Init(const std::string& folder, const std::string& sample) {
  if (sample != "digits") {
    return UsageError(absl::StrCat("there is no sample '", sample, "'; there is: digits"));
  }
  RETURN_IF_ERROR(WriteDigitsJob(folder));
  std::printf("wrote %s; run it by: tessera train %s\n", folder.c_str(),
              JoinPath(folder, "job.yaml").c_str());
  return absl::OkStatus();
}

}  // namespace

Command TrainCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "train",
      .summary = "train a graph by a job's file",
      .arguments = "[JOB.yaml]",
      .description =
          "Runs the job that JOB.yaml describes: its graph, its data, how long, what is evaluated, "
          "saved and exported. A run that was interrupted is resumed from its last checkpoint. "
          "docs/training.md tells all; config/train.yaml is a sample with every block.\n\n"
          "SIGTERM and Ctrl-C end the run with a checkpoint, as do a terminal that closes and an "
          "output that nobody reads any more; a second signal ends it at once. On a "
          "terminal there is a progress bar, otherwise each line of output is JSON.\n\n"
          "The exit code is 0 if the run ended or was stopped, 3 if the job is wrong, 4 if its "
          "folder is in use, 5 if the loss is not finite, 6 for damaged data, 7 for a checkpoint "
          "that does not fit, 8 if a file could not be written, 9 if a step took too long, and 1 "
          "for other failures.",
      .examples = {{"tessera train --init digits",
                    "Writes a job with its graph and data, which runs as it stands."},
                   {"tessera train job.yaml --dry-run", "Checks everything and prints the plan."},
                   {"tessera train job.yaml --set steps=500 --set hooks.checkpoint.every_steps=50",
                    "Settings over those of the file."}},
  };
  command.flags.Add("set", &options->settings, "setting over that of the file", "KEY=VALUE");
  command.flags.Add("dry_run", &options->dry_run,
                    "check the job, its graph and its data, print the plan, and run nothing");
  command.flags.Add("json", &options->json, "print what is wrong with the job's file as JSON");
  command.flags.Add(
      "init", &options->init,
      "write a sample job to the folder that stands in the place of JOB.yaml, or else to one "
      "of the sample's name",
      "digits");
  command.run = [options](absl::Span<const std::string> arguments) {
    if (!options->init.empty()) {
      return Init(arguments.empty() ? options->init : arguments[0], options->init);
    }
    if (arguments.empty()) return UsageError("JOB.yaml is missing");
    return Train(arguments[0], *options);
  };
  return command;
}

}  // namespace tessera::serving
