// Trains a graph, and says how long each step took and what its loss was:
//
//   train_runner SAVED_MODEL [--threads=N]
//   train_runner RECORDED OPTIMIZER [--threads=N]
//
// The first runs the signature train_step of a SavedModel, fed with its files batch_K.pb; the
// second a graph of tests/conformance/training_case.h. Every line of the standard input is a number
// of steps; the answer to it is one line, the nanoseconds and the loss of each. The batches of a
// SavedModel take turns. A recorded graph is fed with feed_0.pb and does not fetch its loss, which
// is given as 0.
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model.h"
#include "runtime/session/session.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow_serving/apis/predict.pb.h"
#include "tests/conformance/read_message.h"

namespace tessera {
namespace {

using Batch = std::map<std::string, Tensor>;

absl::StatusOr<Batch> ReadBatch(const std::string& path) {
  ASSIGN_OR_RETURN(const auto request, ReadMessage<tensorflow::serving::PredictRequest>(path));
  Batch batch;
  for (const auto& [name, proto] : request.inputs()) {
    ASSIGN_OR_RETURN(batch[name], TensorFromProto(proto));
  }
  return batch;
}

// A graph whose steps can be run.
struct Training {
  std::unique_ptr<Session> session;
  std::shared_ptr<const Callable> step;
  std::vector<std::vector<Tensor>> batches;
};

absl::StatusOr<Training> LoadTrainedModel(const std::string& directory,
                                          const SessionOptions& options) {
  ASSIGN_OR_RETURN(SavedModelBundle bundle, LoadSavedModel(directory, {"serve"}, options));
  const auto found = bundle.signatures.find("train_step");
  if (found == bundle.signatures.end()) return absl::NotFoundError("no signature 'train_step'");
  RunSignature signature;
  for (const auto& [alias, input] : found->second.inputs) {
    signature.feeds.push_back(input.tensor_name);
  }
  for (const auto& [alias, output] : found->second.outputs) {
    signature.fetches.push_back(output.tensor_name);
  }
  Training training;
  for (int k = 0; FileExists(JoinPath(directory, absl::StrCat("batch_", k, ".pb"))); ++k) {
    ASSIGN_OR_RETURN(const Batch batch,
                     ReadBatch(JoinPath(directory, absl::StrCat("batch_", k, ".pb"))));
    std::vector<Tensor>& feeds = training.batches.emplace_back();
    for (const auto& [alias, input] : found->second.inputs) feeds.push_back(batch.at(alias));
  }
  if (training.batches.empty()) return absl::NotFoundError("no batch_0.pb");
  training.session = std::move(bundle.session);
  ASSIGN_OR_RETURN(training.step, training.session->MakeCallable(signature));
  return training;
}

absl::StatusOr<Training> LoadRecordedGraph(const std::string& directory,
                                           const std::string& optimizer,
                                           const SessionOptions& options) {
  ASSIGN_OR_RETURN(const auto meta, ReadMessage<tensorflow::MetaGraphDef>(JoinPath(
                                        directory, absl::StrCat("train_", optimizer, ".meta"))));
  ASSIGN_OR_RETURN(const Batch batch, ReadBatch(JoinPath(directory, "feed_0.pb")));
  Training training;
  ASSIGN_OR_RETURN(training.session, Session::Create(options));
  RETURN_IF_ERROR(training.session->Extend(meta.graph_def()));
  RETURN_IF_ERROR(training.session->Run({}, {}, {"init"}, nullptr));
  RunSignature signature;
  std::vector<Tensor>& feeds = training.batches.emplace_back();
  for (const auto& [name, tensor] : batch) {
    signature.feeds.push_back(name);
    feeds.push_back(tensor);
  }
  signature.targets = {"train_op"};
  ASSIGN_OR_RETURN(training.step, training.session->MakeCallable(signature));
  return training;
}

absl::Status AnswerLines(const Training& training) {
  size_t done = 0;
  for (std::string line; std::getline(std::cin, line);) {
    int count = 0;
    if (!absl::SimpleAtoi(line, &count)) {
      return absl::InvalidArgumentError(absl::StrCat("'", line, "' is no number of steps"));
    }
    for (int i = 0; i < count; ++i, ++done) {
      std::vector<Tensor> outputs;
      const auto start = std::chrono::steady_clock::now();
      RETURN_IF_ERROR(
          training.step->Run({}, training.batches[done % training.batches.size()], &outputs));
      const auto time = std::chrono::steady_clock::now() - start;
      const float loss = outputs.empty() ? 0 : outputs[0].scalar<float>();
      std::cout << std::chrono::nanoseconds(time).count() << " " << absl::StrCat(loss) << " ";
    }
    std::cout << std::endl;
  }
  return absl::OkStatus();
}

absl::Status Main(const std::vector<std::string>& arguments, int threads) {
  SessionOptions options;
  options.intra_op_threads = options.inter_op_threads = threads;
  ASSIGN_OR_RETURN(const Training training,
                   arguments.size() == 1 ? LoadTrainedModel(arguments[0], options)
                                         : LoadRecordedGraph(arguments[0], arguments[1], options));
  return AnswerLines(training);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  int threads = 1;
  std::vector<std::string> arguments;
  bool valid = true;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--threads=")) {
      valid = valid && absl::SimpleAtoi(argument, &threads);
    } else {
      arguments.emplace_back(argument);
    }
  }
  if (!valid || arguments.empty() || arguments.size() > 2) {
    std::cerr << "usage: train_runner SAVED_MODEL|RECORDED [OPTIMIZER] [--threads=N]\n";
    return 2;
  }
  const absl::Status status = tessera::Main(arguments, threads);
  if (status.ok()) return 0;
  std::cerr << "train_runner: " << status << "\n";
  return 1;
}
