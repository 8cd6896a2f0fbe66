// Runs one small graph again and again, and says how long each run took:
//
//   op_runner DIR [--threads=N]
//
// DIR holds graph.pb, a GraphDef, and serialised TensorProtos: feed_K.pb is fed to the node feed_K
// by each run, initial_K.pb to the node initial_K by the one run of the target `init`, if the graph
// has it. Runs fetch the nodes timed_K. Commands come on the standard input, one a line:
//   N             runs N times                             -> nanoseconds of each, in a row
//   outputs       fetches the nodes output_K, and writes them to DIR/ours_K.pb        -> "ok"
//   nodes         runs once                                -> how many kernels that called
// An error ends the program with its message.
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "benchmarks/runner_loop.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/conformance/read_message.h"

namespace tessera {
namespace {

// The names PREFIX_0, PREFIX_1, ... of nodes that the graph has.
std::vector<std::string> NamesOf(const tensorflow::GraphDef& graph, absl::string_view prefix) {
  std::vector<std::string> names;
  while (true) {
    const std::string name = absl::StrCat(prefix, "_", names.size());
    bool found = false;
    for (const auto& node : graph.node()) found |= node.name() == name;
    if (!found) return names;
    names.push_back(name);
  }
}

absl::StatusOr<std::vector<Tensor>> ReadTensors(const std::string& directory,
                                                const std::vector<std::string>& names) {
  std::vector<Tensor> tensors;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(auto proto, ReadMessage<tensorflow::TensorProto>(
                                     absl::StrCat(directory, "/", name, ".pb")));
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(std::move(proto)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Makes tensors of the same contents share their memory: TensorFlow is fed one array for all copies
// of a kernel, too.
void ShareEqual(std::vector<Tensor>* tensors) {
  for (size_t i = 0; i < tensors->size(); ++i) {
    Tensor& tensor = (*tensors)[i];
    if (!IsTriviallyCopyable(tensor.dtype())) continue;
    for (size_t j = 0; j < i; ++j) {
      const Tensor& other = (*tensors)[j];
      if (other.dtype() == tensor.dtype() && other.shape() == tensor.shape() &&
          std::memcmp(other.raw(), tensor.raw(), tensor.size_bytes()) == 0) {
        tensor = other;
        break;
      }
    }
  }
}

std::vector<std::string> FirstOutputs(std::vector<std::string> nodes) {
  for (std::string& node : nodes) node += ":0";
  return nodes;
}

class Runner {
 public:
  static absl::StatusOr<std::unique_ptr<Runner>> Make(const std::string& directory, int threads) {
    auto runner = std::make_unique<Runner>();
    runner->directory_ = directory;
    ASSIGN_OR_RETURN(const auto graph,
                     ReadMessage<tensorflow::GraphDef>(absl::StrCat(directory, "/graph.pb")));
    SessionOptions options;
    options.intra_op_threads = options.inter_op_threads = threads;
    ASSIGN_OR_RETURN(runner->session_, Session::Create(options));
    RETURN_IF_ERROR(runner->session_->Extend(graph));

    const std::vector<std::string> initial = NamesOf(graph, "initial");
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, ReadTensors(directory, initial));
    for (const auto& node : graph.node()) {
      if (node.name() != "init") continue;
      ASSIGN_OR_RETURN(const auto init,
                       runner->session_->MakeCallable(
                           {.feeds = FirstOutputs(initial), .fetches = {}, .targets = {"init"}}));
      std::vector<Tensor> none;
      RETURN_IF_ERROR(init->Run({}, values, &none));
    }

    const std::vector<std::string> feeds = NamesOf(graph, "feed");
    ASSIGN_OR_RETURN(runner->feeds_, ReadTensors(directory, feeds));
    ShareEqual(&runner->feeds_);
    ASSIGN_OR_RETURN(runner->timed_, runner->session_->MakeCallable(
                                         {.feeds = FirstOutputs(feeds),
                                          .fetches = FirstOutputs(NamesOf(graph, "timed")),
                                          .targets = {}}));
    ASSIGN_OR_RETURN(runner->outputs_, runner->session_->MakeCallable(
                                           {.feeds = FirstOutputs(feeds),
                                            .fetches = FirstOutputs(NamesOf(graph, "output")),
                                            .targets = {}}));
    return runner;
  }

  absl::StatusOr<std::string> Execute(const std::string& command) {
    if (command == "outputs") return WriteOutputs();
    if (command == "nodes") return CountKernels();
    std::vector<Tensor> fetches;
    return TimeRuns(command, [&] {
      fetches.clear();
      return timed_->Run(RunOptions(), feeds_, &fetches);
    });
  }

 private:
  absl::StatusOr<std::string> WriteOutputs() {
    std::vector<Tensor> fetches;
    RETURN_IF_ERROR(outputs_->Run(RunOptions(), feeds_, &fetches));
    for (size_t i = 0; i < fetches.size(); ++i) {
      tensorflow::TensorProto proto;
      RETURN_IF_ERROR(TensorToProto(fetches[i], TensorProtoForm::kTensorContent, &proto));
      std::ofstream file(absl::StrCat(directory_, "/ours_", i, ".pb"), std::ios::binary);
      if (!proto.SerializeToOstream(&file)) return absl::DataLossError("cannot write an output");
    }
    return std::string("ok");
  }

  absl::StatusOr<std::string> CountKernels() {
    RunOptions options;
    options.collect_stats = true;
    tensorflow::RunMetadata metadata;
    std::vector<Tensor> fetches;
    RETURN_IF_ERROR(timed_->Run(options, feeds_, &fetches, &metadata));
    int count = 0;
    for (const auto& device : metadata.step_stats().dev_stats()) count += device.node_stats_size();
    return absl::StrCat(count);
  }

  std::string directory_;
  std::unique_ptr<Session> session_;
  std::vector<Tensor> feeds_;
  std::shared_ptr<const Callable> timed_, outputs_;
};

absl::Status Main(const std::string& directory, int threads) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, Runner::Make(directory, threads));
  return AnswerLines([&](const std::string& line) { return runner->Execute(line); });
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::RunnerMain(argc, argv, "op_runner DIR [--threads=N]", tessera::Main);
}
