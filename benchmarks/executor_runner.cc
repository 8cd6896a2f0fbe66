// Runs a GraphDef again and again on one thread, and says how long each run took:
//
//   executor_runner --graph=FILE --feed=x:0=0 --fetch=y:0 --target=done [--executor=dataflow]
//                   [--optimize]
//
// Feeds are float scalars. Every line of the standard input is a number of runs; the answer to it
// is one line, the nanoseconds of each. A line "result" is answered with the last run's first
// fetch, and a line "nodes" with how many kernels a run calls.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/runner_loop.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera {
namespace {

struct Flags {
  std::string graph;
  RunSignature signature;
  std::vector<Tensor> feeds;
  SessionOptions session;
};

absl::Status AddFeed(const std::string& value, Flags* flags) {
  const size_t equals = value.find('=');
  float number = 0;
  if (equals == std::string::npos || !absl::SimpleAtof(value.substr(equals + 1), &number)) {
    return absl::InvalidArgumentError(absl::StrCat("--feed takes NAME=NUMBER, not ", value));
  }
  flags->signature.feeds.push_back(value.substr(0, equals));
  flags->feeds.push_back(Tensor::Scalar<float>(number));
  return absl::OkStatus();
}

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  flags.session.optimize = false;
  flags.session.intra_op_threads = 1;
  flags.session.inter_op_threads = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : arg.substr(equals + 1);
    if (name == "--graph") {
      flags.graph = value;
    } else if (name == "--feed") {
      RETURN_IF_ERROR(AddFeed(value, &flags));
    } else if (name == "--fetch") {
      flags.signature.fetches.push_back(value);
    } else if (name == "--target") {
      flags.signature.targets.push_back(value);
    } else if (arg == "--executor=dataflow") {
      flags.session.executor = ExecutorKind::kDataflow;
    } else if (arg == "--optimize") {
      flags.session.optimize = true;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", arg));
    }
  }
  return flags;
}

// How many kernels a run calls: nodes that are resolved at compile time are not among them.
absl::StatusOr<int> CountKernels(const Callable& callable, const std::vector<Tensor>& feeds) {
  RunOptions options;
  options.collect_stats = true;
  tensorflow::RunMetadata metadata;
  std::vector<Tensor> fetches;
  RETURN_IF_ERROR(callable.Run(options, feeds, &fetches, &metadata));
  int count = 0;
  for (const auto& device : metadata.step_stats().dev_stats()) count += device.node_stats_size();
  return count;
}

absl::Status Serve(const Flags& flags) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.graph));
  tensorflow::GraphDef graph;
  if (!graph.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(flags.graph, " is not a GraphDef"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(flags.session));
  RETURN_IF_ERROR(session->Extend(graph));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Callable> callable,
                   session->MakeCallable(flags.signature));
  std::vector<Tensor> fetches;
  return AnswerLines([&](const std::string& line) -> absl::StatusOr<std::string> {
    if (line == "result") return fetches.empty() ? "none" : fetches[0].ToString();
    if (line == "nodes") {
      ASSIGN_OR_RETURN(const int nodes, CountKernels(*callable, flags.feeds));
      return absl::StrCat(nodes);
    }
    return TimeRuns(line, [&] { return callable->Run(RunOptions(), flags.feeds, &fetches); });
  });
}

int Main(int argc, char** argv) {
  absl::StatusOr<Flags> flags = ParseFlags(argc, argv);
  const absl::Status status = flags.ok() ? Serve(*flags) : flags.status();
  if (status.ok()) return 0;
  std::cerr << "executor_runner: " << status.ToString() << std::endl;
  return 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
