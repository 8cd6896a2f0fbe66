// load_generator: asks a server as many clients would, and says how long each answer took.
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "benchmarks/load/answer_check.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/commands/connection_flags.h"
#include "serving/commands/load/load_run.h"
#include "serving/commands/load/request_target.h"
#include "serving/server/flag_parser.h"

namespace tessera::benchmarks {
namespace {

using serving::LoadLog;
using serving::LoadRun;
using serving::RequestTarget;

constexpr char kExplanation[] = R"(
load_generator FLAGS REQUEST[=ANSWER,ANSWER...] ...

REQUEST is a file with a serialized PredictRequest (grpc://) or the body of a request (rest://);
several are sent in turn. Each ANSWER is a file with what may be answered to it: a serialized
PredictResponse, which stands for one version if its model_spec names one, or JSON. Floats may be
1e-5 off. Without ANSWER whatever comes is right.

Latency runs from when a request was to be sent, not from when it was sent. The summary goes to the
standard output as JSON: of each window its length, requests, wrong and lost ones, and the
latencies of answers in microseconds. The exit code is 1 if a request was wrong or lost.

With --control the standard input says what to do: a line `window NAME` opens a window, `window`
alone ends it, the end of the input ends the load. Otherwise there is one window, `run`.

)";

struct Flags {
  RequestTarget::Options target;
  serving::ConnectionFlags connection;
  float rate = 0;
  int32_t in_flight = 1;
  float duration = 0;
  float warmup = 0;
  float timeout = 30;
  int64_t seed = 1;
  bool control = false;
  std::string csv;

  serving::FlagParser Parser() {
    serving::FlagParser flags;
    flags.Add("target", &target.url, "grpc://HOST:PORT, or rest://HOST:PORT/v1/models/m:predict");
    flags.Add("rate", &rate, "requests a second of an open loop (Poisson); 0: closed loop");
    flags.Add("in_flight", &in_flight, "requests under way in the closed loop");
    flags.Add("duration", &duration, "seconds of load, warm-up included");
    flags.Add("warmup", &warmup, "seconds before the first window");
    flags.Add("timeout", &timeout, "seconds after which a request is lost");
    flags.Add("seed", &seed, "of the times between requests");
    flags.Add("control", &control, "windows and end come by the standard input");
    flags.Add("csv", &csv, "file to write every request to, with its time");
    flags.Add("channels", &target.channels, "connections of gRPC, used in turn");
    flags.Add("max_connections", &target.max_connections, "most connections of REST");
    connection.AddTo(&flags);
    return flags;
  }
};

// What a run asks and what may be answered.
struct Cases {
  std::vector<std::string> requests;
  std::vector<std::vector<std::string>> answers;
};

absl::StatusOr<Cases> ReadCases(const std::vector<std::string>& args) {
  Cases cases;
  for (const std::string& arg : args) {
    if (absl::StartsWith(arg, "-")) {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", arg));
    }
    const std::pair<std::string, std::string> files = absl::StrSplit(arg, absl::MaxSplits('=', 1));
    ASSIGN_OR_RETURN(cases.requests.emplace_back(), ReadFile(files.first));
    std::vector<std::string>& answers = cases.answers.emplace_back();
    for (const absl::string_view file : absl::StrSplit(files.second, ',', absl::SkipEmpty())) {
      ASSIGN_OR_RETURN(answers.emplace_back(), ReadFile(std::string(file)));
    }
  }
  if (cases.requests.empty()) return absl::InvalidArgumentError("no request given; see --help");
  return cases;
}

void FollowControl(LoadRun* run, LoadLog* log) {
  std::string line;
  while (std::getline(std::cin, line)) {
    absl::string_view name = line;
    if (!absl::ConsumePrefix(&name, "window")) {
      std::cerr << "load_generator: no such command: " << line << "\n";
      continue;
    }
    log->OpenWindow(absl::StripAsciiWhitespace(name), run->Elapsed());
  }
  run->Stop();
}

absl::StatusOr<bool> GenerateLoad(const Flags& flags, const std::vector<std::string>& args) {
  if (flags.control == (flags.duration > 0)) {
    return absl::InvalidArgumentError("one of --duration and --control must say when to end");
  }
  ASSIGN_OR_RETURN(Cases cases, ReadCases(args));
  RequestTarget::Options target_options = flags.target;
  target_options.timeout = absl::Seconds(flags.timeout);
  target_options.wants_answers = absl::c_any_of(
      cases.answers, [](const std::vector<std::string>& right) { return !right.empty(); });
  ASSIGN_OR_RETURN(const serving::ConnectionSecurity security, flags.connection.Read());
  target_options.tls = security.tls;
  if (!security.authorization.empty()) {
    target_options.headers.emplace_back("authorization", security.authorization);
  }
  ASSIGN_OR_RETURN(const auto target, MakeRequestTarget(target_options, cases.requests));
  const bool is_grpc = absl::StartsWith(flags.target.url, "grpc:");
  AnswerCheck check(is_grpc ? ComparePredictResponses : CompareJson, std::move(cases.answers));

  LoadLog log;
  LoadRun run(
      {.rate = flags.rate,
       .in_flight = flags.in_flight,
       .duration = flags.duration > 0 ? absl::Seconds(flags.duration) : absl::InfiniteDuration(),
       .num_requests = cases.requests.size(),
       .seed = static_cast<uint64_t>(flags.seed)},
      target.get(),
      [&](size_t request, absl::string_view answer) { return check.Difference(request, answer); },
      &log);
  std::thread control;
  if (flags.control) {
    control = std::thread([&] { FollowControl(&run, &log); });
  } else {
    log.OpenWindow("run", absl::Seconds(flags.warmup));
  }
  run.Run();
  if (control.joinable()) control.join();

  if (!flags.csv.empty()) RETURN_IF_ERROR(log.WriteCsv(flags.csv, run.start()));
  std::cout << SummaryJson(log) << std::endl;
  return log.failures().empty();
}

int Main(const std::vector<std::string>& args) {
  Flags flags;
  serving::FlagParser parser = flags.Parser();
  if (absl::Status status = parser.Parse(args); !status.ok()) {
    if (!absl::IsCancelled(status)) std::cerr << status.message() << "\n";
    std::cout << kExplanation << parser.Usage("load_generator");
    return absl::IsCancelled(status) ? 0 : 2;
  }
  const absl::StatusOr<bool> all_right = GenerateLoad(flags, parser.unknown());
  if (!all_right.ok()) {
    std::cerr << "load_generator: " << all_right.status().message() << "\n";
    return 2;
  }
  return *all_right ? 0 : 1;
}

}  // namespace
}  // namespace tessera::benchmarks

int main(int argc, char** argv) {
  // As in the server's main(): a third of what gRPC costs a small request.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return tessera::benchmarks::Main(std::vector<std::string>(argv + 1, argv + argc));
}
