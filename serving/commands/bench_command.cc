#include "serving/commands/bench_command.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/commands/bench/bench_report.h"
#include "serving/commands/bench/interruptible_load.h"
#include "serving/commands/bench/load_progress.h"
#include "serving/commands/bench/model_target.h"
#include "serving/commands/bench/random_inputs.h"
#include "serving/commands/client/model_client.h"
#include "serving/commands/load/load_run.h"
#include "serving/commands/local_model.h"
#include "serving/commands/signature_inputs.h"

namespace tessera::serving {
namespace {

constexpr int kMaxConcurrency = 10000;
constexpr double kMaxSeconds = 86400;

struct Options {
  std::string model;
  ServerFlags server;  // its signature is that of a model in this process, too
  LocalModelFlags local;
  InputFlags inputs;
  int32_t batch_size = 1;
  int32_t concurrency = 1;
  float rate = 0;
  float seconds = 10;
  float warmup = 1;
  bool json = false;
};

absl::Status CheckOptions(absl::Span<const std::string> arguments, const Options& options) {
  if (arguments.empty() == options.model.empty()) {
    return UsageError("name one of DIR, a SavedModel to run here, and --model, one on a server");
  }
  ServerFlags no_server;
  no_server.signature = options.server.signature;
  if (options.model.empty() && options.server != no_server) {
    return UsageError("flags that name a server or a version on it need --model instead of DIR");
  }
  if (!options.model.empty() && options.local != LocalModelFlags()) {
    return UsageError(
        "--tags, --numerics, --op_library and --threads need DIR: a server has its own");
  }
  if (options.batch_size < 1) return UsageError("--batch_size must be at least 1");
  if (options.batch_size > 1 && !options.inputs.inputs.empty()) {
    return UsageError("--batch_size is for random inputs: inputs that are given have their own");
  }
  if (options.concurrency < 1 || options.concurrency > kMaxConcurrency) {
    return UsageError(absl::StrCat("--concurrency must be from 1 to ", kMaxConcurrency));
  }
  if (!(options.rate >= 0 && options.rate <= 1e6)) {
    return UsageError("--rate must be from 0 to 1000000");
  }
  if (!(options.seconds > 0 && options.seconds <= kMaxSeconds)) {
    return UsageError(absl::StrCat("--seconds must be more than 0 and at most ", kMaxSeconds));
  }
  if (!(options.warmup >= 0 && options.warmup <= kMaxSeconds)) {
    return UsageError(absl::StrCat("--warmup must be from 0 to ", kMaxSeconds));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Tensor>> Inputs(const SignatureInputs& signature,
                                                     const Options& options) {
  if (options.inputs.inputs.empty()) return RandomInputs(signature, options.batch_size);
  return ReadInputs(options.inputs, signature);
}

// Puts load on the target and adds to the report what was measured. Prints the report.
absl::Status Measure(const Options& options, RequestTarget* target, BenchReport report) {
  report.signature = options.server.signature;
  report.concurrency = options.concurrency;
  report.rate = options.rate;
  const absl::Duration duration = absl::Seconds(options.warmup + options.seconds);
  LoadLog log;
  log.OpenWindow("", absl::ZeroDuration());
  log.OpenWindow("run", absl::Seconds(options.warmup));
  LoadRun run({.rate = options.rate, .in_flight = options.concurrency, .duration = duration},
              target, nullptr, &log);
  {
    const InterruptibleLoad interruptible(&run);
    const LoadProgress progress(&run, &log, duration);
    run.Run();
  }
  report.summary = log.Summaries().at(0);
  report.failures = log.failures();
  const WindowSummary& summary = report.summary;
  if (summary.right + summary.lost == 0) {
    return absl::DeadlineExceededError(absl::StrCat(
        "no request was sent in the ", options.seconds, " s that were measured, since ",
        options.rate > 0 ? "none was due at this --rate, or those before took longer"
                         : "those before took longer",
        ": raise --seconds"));
  }
  std::fputs((options.json ? BenchJson(report) : BenchText(report)).c_str(), stdout);
  if (summary.lost == 0) return absl::OkStatus();
  const auto most =
      std::max_element(summary.lost_by_code.begin(), summary.lost_by_code.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return absl::Status(most->first,
                      absl::StrCat(summary.lost, " of ", summary.right + summary.lost,
                                   " requests failed; the first one ", report.failures.at(0)));
}

absl::Status MeasureLocal(const std::string& directory, const Options& options) {
  ASSIGN_OR_RETURN(const LocalModel model,
                   LoadLocalModel(directory, options.server.signature, options.local));
  using Values = std::map<std::string, Tensor>;
  ASSIGN_OR_RETURN(const Values inputs, Inputs(model.signature, options));
  ModelTarget target(model.servable, options.server.signature, inputs, options.concurrency);
  // Compiles the program, and tells what is wrong with the inputs before anything is measured.
  RETURN_IF_ERROR(target.Run());
  return Measure(options, &target, {.subject = directory, .inputs = inputs});
}

absl::Status MeasureServer(const Options& options) {
  ASSIGN_OR_RETURN(const ModelClient client, ModelClient::Create(options.server, options.model));
  ASSIGN_OR_RETURN(const RemoteSignature signature, client.Signature());
  using Values = std::map<std::string, Tensor>;
  ASSIGN_OR_RETURN(const Values inputs, Inputs(signature.inputs, options));
  RETURN_IF_ERROR(client.Predict(inputs, signature).status());
  ASSIGN_OR_RETURN(const EncodedRequest request, client.EncodePredict(inputs));
  RequestTarget::Options target_options = client.TargetOptions(request.url);
  target_options.wants_answers = false;
  target_options.max_connections = std::max(target_options.max_connections, options.concurrency);
  ASSIGN_OR_RETURN(const auto target, MakeRequestTarget(target_options, {request.bytes}));
  return Measure(options, target.get(), {.subject = client.Description(), .inputs = inputs});
}

}  // namespace

Command BenchCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "bench",
      .summary = "measure latency and throughput of a model, here or on a server",
      .arguments = "[DIR]",
      .description =
          "Runs the SavedModel in DIR, or asks --model of a running server, again and again, and "
          "prints throughput, quantiles of the latency, and a histogram. Inputs are random unless "
          "they are given.\n\n"
          "Without --rate, --concurrency requests are under way at any time, and the next one goes "
          "when an answer comes. With --rate, requests come at random times, as those of many "
          "clients do, whether earlier ones are answered or not; then latency includes the time "
          "that a request waits because the model or server is behind.\n\n"
          "Ctrl-C ends the load early. The exit code is 1 if a request failed.",
      .examples = {{"tessera bench /models/resnet/3 --concurrency 2",
                    "A model in this process, two requests at a time."},
                   {"tessera bench --model resnet --server localhost:8500 --rate 200 --json",
                    "A server at 200 requests a second, for a program to read."}},
  };
  FlagParser& flags = command.flags;
  flags.Add("model", &options->model, "model on a server to ask", "NAME");
  flags.Add("seconds", &options->seconds, "how long to measure");
  flags.Add("warmup", &options->warmup, "seconds of load before that");
  flags.Add("concurrency", &options->concurrency,
            "requests under way at a time; a model in this process has a thread for each");
  flags.Add("rate", &options->rate,
            "requests a second to send at random times; 0: the next one when an answer comes");
  flags.Add("batch_size", &options->batch_size, "rows of a random request");
  flags.Add("json", &options->json, "print JSON");
  options->inputs.AddTo(&flags);
  options->server.AddTo(&flags);
  options->local.AddTo(&flags);
  command.run = [options](absl::Span<const std::string> arguments) -> absl::Status {
    RETURN_IF_ERROR(CheckOptions(arguments, *options));
    return arguments.empty() ? MeasureServer(*options) : MeasureLocal(arguments[0], *options);
  };
  return command;
}

}  // namespace tessera::serving
