// Makes random cases, or runs them, for tests/random_cases/check_random.py:
//
//   random_cases make DIR SHARE   reads lines "SEED NUMBER"; recorded calls are in DIR, and a share
//                                 of the cases are sequences of ops on a resource
//   random_cases run              reads cases
//
// Each answer, and each case that is read, is a GraphDef behind its length in four bytes, the
// lowest first. A case is that of tests/random_cases/random_graph.h. The answer to it has a node of
// constants "optimized/<k>" and "dataflow/<k>" for each tensor that the case fetches, once from the
// executor and the passes that a session chooses and once from the dataflow executor without
// passes; or an attribute `_error` with the code, and `_message`, of the node "optimized" or
// "dataflow". The node "shapes" says in `_message` where a shape function contradicts the outputs.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/host/host.h"
#include "tests/random_cases/case_maker.h"
#include "tests/random_cases/run_case.h"

namespace tessera {
namespace {

// messages.py has the same limit.
constexpr size_t kMostBytes = size_t{1} << 24;

bool ReadMessage(tensorflow::GraphDef* message) {
  unsigned char header[4];
  if (std::fread(header, 1, 4, stdin) != 4) return false;
  const size_t length = header[0] | header[1] << 8 | header[2] << 16 | size_t{header[3]} << 24;
  std::string bytes(length, '\0');
  return std::fread(bytes.data(), 1, length, stdin) == length && message->ParseFromString(bytes);
}

void WriteMessage(const tensorflow::GraphDef& message) {
  const std::string bytes = message.SerializeAsString();
  unsigned char header[4];
  for (int i = 0; i < 4; ++i) header[i] = static_cast<unsigned char>(bytes.size() >> (8 * i));
  std::fwrite(header, 1, 4, stdout);
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

void AddNode(const std::string& name, const AttrMap& attrs, tensorflow::GraphDef* answer) {
  tensorflow::NodeDef* const node = answer->add_node();
  node->set_name(name);
  node->set_op("Const");
  AttrMapToProto(attrs, node->mutable_attr());
}

void AddResult(const std::string& way, CaseResult result, tensorflow::GraphDef* answer) {
  size_t bytes = 0;
  for (const auto& [name, value] : result.outputs) bytes += value.size_bytes();
  if (bytes > kMostBytes) {
    result = {absl::ResourceExhaustedError("the outputs are too large to compare"), {}};
  }
  if (!result.status.ok()) {
    AddNode(way,
            {{"_error", absl::StatusCodeToString(result.status.code())},
             {"_message", std::string(result.status.message())}},
            answer);
  }
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const Tensor& value = result.outputs[i].second;
    AddNode(absl::StrCat(way, "/", i), {{"dtype", value.dtype()}, {"value", value}}, answer);
  }
}

int Make(const std::string& recorded, double share_of_sequences) {
  CaseMaker::Options options;
  options.ops = ReproducibleOps();
  options.recorded = recorded;
  options.share_of_sequences = share_of_sequences;
  const CaseMaker maker(options);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream fields(line);
    uint64_t seed = 0, number = 0;
    fields >> seed >> number;
    WriteMessage(maker.Make(seed, number));
  }
  return 0;
}

int Run() {
  SessionOptions options;
  options.host =
      std::make_shared<Host>(Host::Options{.intra_op_threads = 1, .inter_op_threads = 1});
  options.default_timeout = absl::Seconds(20);
  SessionOptions plain = options;
  plain.executor = ExecutorKind::kDataflow;
  plain.optimize = false;
  tensorflow::GraphDef graph;
  while (ReadMessage(&graph)) {
    tensorflow::GraphDef answer;
    const CaseResult optimized = RunCase(graph, options);
    AddResult("optimized", optimized, &answer);
    AddResult("dataflow", RunCase(graph, plain), &answer);
    const std::string contradiction = FirstShapeContradiction(graph, optimized.outputs);
    if (!contradiction.empty()) AddNode("shapes", {{"_message", contradiction}}, &answer);
    WriteMessage(answer);
  }
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::SetMinLogSeverity(tessera::LogSeverity::kFatal);
  const std::string mode = argc > 1 ? argv[1] : "";
  double share_of_sequences = 0;
  if (mode == "make" && argc == 4 && absl::SimpleAtod(argv[3], &share_of_sequences)) {
    return tessera::Make(argv[2], share_of_sequences);
  }
  if (mode == "run" && argc == 2) return tessera::Run();
  std::cerr << "usage: random_cases make DIR SHARE | random_cases run\n";
  return 2;
}
