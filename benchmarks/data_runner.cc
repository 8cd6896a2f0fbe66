// Takes batches from the input pipeline of a graph, and says how long they took:
//
//   data_runner GRAPH [--threads=N]
//
// GRAPH is a serialised GraphDef with the targets `init` and `next`. Every line of the standard
// input is a number of batches; the answer to it is one line, their nanoseconds.
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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
  for (std::string line; std::getline(std::cin, line);) {
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
    std::cout << std::chrono::nanoseconds(time).count() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  int threads = 1;
  absl::string_view last = argc == 3 ? argv[2] : "";
  const bool has_threads = absl::ConsumePrefix(&last, "--threads=");
  if (argc < 2 || argc > 3 || (argc == 3 && !(has_threads && absl::SimpleAtoi(last, &threads)))) {
    std::cerr << "usage: data_runner GRAPH [--threads=N]\n";
    return 2;
  }
  const absl::Status status = tessera::Main(argv[1], threads);
  if (status.ok()) return 0;
  std::cerr << "data_runner: " << status << "\n";
  return 1;
}
