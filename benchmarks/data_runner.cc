// Takes batches from the input pipeline of a graph, and says how long they took:
//
//   data_runner GRAPH [--threads=N]
//
// GRAPH is a serialised GraphDef with the targets `init` and `next`. Every line of the standard
// input is a number of batches; the answer to it is one line, their nanoseconds.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/runner_loop.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tests/conformance/read_message.h"

namespace tessera {
namespace {

absl::Status Main(const std::string& path, int threads) {
  ASSIGN_OR_RETURN(const auto graph, ReadMessage<tensorflow::GraphDef>(path));
  SessionOptions options;
  options.intra_op_threads = options.inter_op_threads = threads;
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(options));
  RETURN_IF_ERROR(session->Extend(graph));
  RETURN_IF_ERROR(session->Run({}, {}, {"init"}, nullptr));
  ASSIGN_OR_RETURN(const auto next,
                   session->MakeCallable({.feeds = {}, .fetches = {}, .targets = {"next"}}));
  return AnswerLines([&](const std::string& line) -> absl::StatusOr<std::string> {
    int count = 0;
    if (!absl::SimpleAtoi(line, &count)) {
      return absl::InvalidArgumentError(absl::StrCat("'", line, "' is no number of batches"));
    }
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      std::vector<Tensor> none;
      RETURN_IF_ERROR(next->Run({}, {}, &none));
    }
    const auto time = std::chrono::steady_clock::now() - start;
    return absl::StrCat(std::chrono::nanoseconds(time).count());
  });
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::RunnerMain(argc, argv, "data_runner GRAPH [--threads=N]", tessera::Main);
}
