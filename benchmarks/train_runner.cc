// Trains a recorded graph (see tests/conformance/training_case.h), and says how long each step
// took:
//
//   train_runner DIR OPTIMIZER [--threads=N]
//
// Every line of the standard input is a number of steps; the answer to it is one line, the
// nanoseconds of each. All steps are fed with feed_0.pb.
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tests/conformance/read_message.h"

namespace tessera {
namespace {

absl::Status Main(const std::string& directory, const std::string& optimizer, int threads) {
  ASSIGN_OR_RETURN(const auto meta, ReadMessage<tensorflow::MetaGraphDef>(JoinPath(
                                        directory, absl::StrCat("train_", optimizer, ".meta"))));
  ASSIGN_OR_RETURN(const auto request, ReadMessage<tensorflow::serving::PredictRequest>(
                                           JoinPath(directory, "feed_0.pb")));
  SessionOptions options;
  options.intra_op_threads = options.inter_op_threads = threads;
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(options));
  RETURN_IF_ERROR(session->Extend(meta.graph_def()));
  RETURN_IF_ERROR(session->Run({}, {}, {"init"}, nullptr));
  RunSignature signature;
  std::vector<Tensor> feeds;
  for (const auto& [name, proto] : request.inputs()) {
    signature.feeds.push_back(name);
    ASSIGN_OR_RETURN(feeds.emplace_back(), TensorFromProto(proto));
  }
  signature.targets = {"train_op"};
  ASSIGN_OR_RETURN(const auto step, session->MakeCallable(signature));
  for (std::string line; std::getline(std::cin, line);) {
    int count = 0;
    if (!absl::SimpleAtoi(line, &count)) {
      return absl::InvalidArgumentError(absl::StrCat("'", line, "' is no number of steps"));
    }
    for (int i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      std::vector<Tensor> none;
      RETURN_IF_ERROR(step->Run({}, feeds, &none));
      const auto time = std::chrono::steady_clock::now() - start;
      std::cout << std::chrono::nanoseconds(time).count() << " ";
    }
    std::cout << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  int threads = 1;
  absl::string_view last = argc == 4 ? argv[3] : "";
  const bool has_threads = absl::ConsumePrefix(&last, "--threads=");
  if (argc < 3 || argc > 4 || (argc == 4 && !(has_threads && absl::SimpleAtoi(last, &threads)))) {
    std::cerr << "usage: train_runner DIR OPTIMIZER [--threads=N]\n";
    return 2;
  }
  const absl::Status status = tessera::Main(argv[1], argv[2], threads);
  if (status.ok()) return 0;
  std::cerr << "train_runner: " << status << "\n";
  return 1;
}
