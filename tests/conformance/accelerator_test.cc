// The recorded graphs, op calls and models with as much as possible on one accelerator for tests,
// and on two. A copy or a wait that is missing anywhere shows as a crash or a wrong number.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/op.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"
#include "tests/conformance/golden_corpus.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/conformance/recorded_models.h"

namespace tessera {
namespace {

constexpr char kData[] = "tests/data";

SessionOptions WithAccelerators(int count) {
  SessionOptions options;
  options.devices.count["ACCEL"] = count;
  options.intra_op_threads = 1;
  options.inter_op_threads = 2;
  return options;
}

// Asks for one of `count` accelerators for each node, whatever it asked for before, by a hash of
// its name that stays the same.
void Scatter(int count, google::protobuf::RepeatedPtrField<tensorflow::NodeDef>* nodes) {
  for (tensorflow::NodeDef& node : *nodes) {
    uint32_t hash = 2166136261;  // FNV-1a
    for (const char c : node.name()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
    node.set_device(absl::StrCat("/device:ACCEL:", (hash >> 16) % count));
  }
}

void Scatter(int count, tensorflow::GraphDef* graph) {
  Scatter(count, graph->mutable_node());
  for (tensorflow::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    Scatter(count, function.mutable_node_def());
  }
}

// What several cases came to.
struct Tally {
  int replayed = 0;
  // Kernel executions by device; those that only pass values on do not count.
  std::map<std::string, int64_t> executions;
};

bool ComputesSomething(const tensorflow::NodeExecStats& node) {
  for (const char* op : {"= _Copy", "= _Send", "= _Recv", "= Identity", "= NoOp", "= Const",
                         "= HostConst", "= _Arg", "= _Retval"}) {
    if (absl::StrContains(node.timeline_label(), op)) return false;
  }
  return true;
}

// "ACCEL:0 12 CPU:0 3".
std::string DescribeExecutions(const tensorflow::RunMetadata& metadata) {
  std::map<std::string, int64_t> executions;
  for (const tensorflow::DeviceStepStats& device : metadata.step_stats().dev_stats()) {
    const std::vector<std::string> parts = absl::StrSplit(device.device(), "device:");
    for (const tensorflow::NodeExecStats& node : device.node_stats()) {
      if (ComputesSomething(node)) ++executions[parts.back()];
    }
  }
  return absl::StrJoin(executions, " ", absl::PairFormatter(" "));
}

// Runs each case in a process of its own, since what is wanted of a missing copy is a crash. `run`
// returns the difference to what was recorded.
Tally Replay(const std::vector<std::string>& names,
             const std::function<std::string(int, tensorflow::RunMetadata*)>& run) {
  const auto check = [&](int i) -> Outcome {
    ::alarm(120);  // for a run that no timeout ends, as its threads wait for each other
    tensorflow::RunMetadata metadata;
    const std::string difference = run(i, &metadata);
    if (!difference.empty()) return {Outcome::kFailed, difference};
    return {Outcome::kPassed, DescribeExecutions(metadata)};
  };
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(names.size()), {.jobs = 2}, check);
  Tally tally;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].kind, Outcome::kPassed) << names[i] << ": " << outcomes[i].text;
    if (outcomes[i].kind != Outcome::kPassed) continue;
    ++tally.replayed;
    const std::vector<std::string> words = absl::StrSplit(outcomes[i].text, ' ', absl::SkipEmpty());
    for (size_t w = 0; w + 1 < words.size(); w += 2) {
      int64_t count = 0;
      EXPECT_TRUE(absl::SimpleAtoi(words[w + 1], &count));
      tally.executions[words[w]] += count;
    }
  }
  std::cout << tally.replayed << " cases; kernels run: "
            << absl::StrJoin(tally.executions, ", ", absl::PairFormatter(" ")) << std::endl;
  return tally;
}

// Replays all cases that the runtime has kernels for.
Tally ReplayCases(std::vector<GoldenCase> cases, const SessionOptions& options) {
  std::erase_if(cases, [](const GoldenCase& golden) { return !OpsWithoutKernel(golden).empty(); });
  std::vector<std::string> names;
  for (GoldenCase& golden : cases) {
    names.push_back(absl::StrCat(golden.group, " ", golden.name));
    if (options.devices.count.at("ACCEL") == 2) Scatter(2, &golden.graph);
  }
  return Replay(names, [&](int i, tensorflow::RunMetadata* metadata) {
    return tessera::Replay(cases[i], options, metadata);
  });
}

// Graphs with an error for the value of an optimizer's scalar.
const std::set<std::string> kValuesOfScalars = {"optimizer_refuses_ftrl_sparse_l1",
                                                "optimizer_refuses_ftrl_sparse_power",
                                                "optimizer_refuses_proximal_learning_rate"};

// Whether the graph cannot be cut apart. A call of a pipeline's function holds a thread, which one
// that runs on several devices needs. A read by reference that is not ordered behind the update
// sees it only where both share memory.
bool NeedsOneDevice(const std::string& graph) {
  return absl::StartsWith(graph, "pipeline_") || graph == "average_by_reference";
}

Tally ReplayGraphs(const SessionOptions& options) {
  std::vector<GoldenCase> cases;
  for (const std::string& file : GoldenFiles(kData, "graphs")) {
    absl::StatusOr<GoldenCase> golden = ReadGraphCase(file);
    EXPECT_TRUE(golden.ok()) << file << ": " << golden.status();
    if (!golden.ok()) continue;
    // The values of an optimizer's scalars are not seen on a device.
    if (kValuesOfScalars.contains(golden->name)) continue;
    if (options.devices.count.at("ACCEL") > 1 && NeedsOneDevice(golden->name)) continue;
    cases.push_back(*std::move(golden));
  }
  return ReplayCases(std::move(cases), options);
}

// Without passes, which would fold the graphs: their inputs are constants.
SessionOptions Unoptimized(SessionOptions options) {
  options.optimize = false;
  return options;
}

TEST(AcceleratorTest, GraphsOnOne) {
  Tally tally = ReplayGraphs(Unoptimized(WithAccelerators(1)));
  EXPECT_GE(tally.replayed, 600);
  EXPECT_GE(tally.executions["ACCEL:0"], 2000) << tally.executions["CPU:0"] << " on the CPU";
}

TEST(AcceleratorTest, OptimizedGraphsOnOne) {
  Tally tally = ReplayGraphs(WithAccelerators(1));
  EXPECT_GE(tally.replayed, 600);
  EXPECT_GE(tally.executions["ACCEL:0"], 1800) << tally.executions["CPU:0"] << " on the CPU";
}

TEST(AcceleratorTest, GraphsOnTwo) {
  Tally tally = ReplayGraphs(Unoptimized(WithAccelerators(2)));
  EXPECT_GE(tally.replayed, 600);
  EXPECT_GE(tally.executions["ACCEL:0"], 1000);
  EXPECT_GE(tally.executions["ACCEL:1"], 1000);
}

// The recorded calls of the ops that the accelerator has kernels for.
TEST(AcceleratorTest, OpCallsOnOne) {
  std::vector<GoldenCase> cases;
  for (const std::string& file : GoldenFiles(kData, "ops")) {
    absl::StatusOr<std::vector<GoldenCase>> read = ReadOpCases(file);
    ASSERT_TRUE(read.ok()) << file << ": " << read.status();
    for (GoldenCase& golden : *read) {
      // Whether indices ascend is not seen on a device.
      if (golden.group == "SparseToDense" && !golden.error.empty()) continue;
      if (!KernelRegistry::Global().HasKernel(golden.group, "ACCEL")) continue;
      cases.push_back(std::move(golden));
    }
  }
  Tally tally = ReplayCases(std::move(cases), Unoptimized(WithAccelerators(1)));
  EXPECT_GE(tally.executions["ACCEL:0"], 1400) << tally.executions["CPU:0"] << " on the CPU";
}

// Runs of the same calls whose work the accelerator has captured: from the second on.
TEST(AcceleratorTest, CapturedOpCalls) {
  std::vector<GoldenCase> cases;
  std::vector<std::string> names;
  for (const std::string& file : GoldenFiles(kData, "ops")) {
    absl::StatusOr<std::vector<GoldenCase>> read = ReadOpCases(file);
    ASSERT_TRUE(read.ok()) << file << ": " << read.status();
    for (GoldenCase& golden : *read) {
      const OpDef* const op = OpRegistry::Global().Find(golden.group);
      if (op == nullptr || op->is_stateful || !golden.runs.empty() || !golden.error.empty() ||
          !KernelRegistry::Global().HasKernel(golden.group, "ACCEL")) {
        continue;
      }
      names.push_back(absl::StrCat(golden.group, " ", golden.name));
      cases.push_back(std::move(golden));
    }
  }
  const SessionOptions options = Unoptimized(WithAccelerators(1));
  const Tally tally = Replay(names, [&](int i, tensorflow::RunMetadata*) {
    return tessera::Replay(cases[i], options, /*metadata=*/nullptr, /*repetitions=*/3);
  });
  EXPECT_GE(tally.replayed, 500);
}

// A copy of the SavedModel whose nodes ask for one of `count` accelerators: many models ask for the
// CPU for their variables. The rest is linked.
std::string ScatteredModel(int count, const Recording& recording) {
  namespace fs = std::filesystem;
  const fs::path copy = fs::path(::testing::TempDir()) / "scattered" / recording.name;
  fs::remove_all(copy);  // of an earlier run
  fs::create_directories(copy);
  for (const auto& entry : fs::directory_iterator(recording.model)) {
    if (entry.path().filename() == "saved_model.pb") continue;
    fs::create_symlink(fs::absolute(entry.path()), copy / entry.path().filename());
  }
  tensorflow::SavedModel model;
  EXPECT_TRUE(model.ParseFromString(*ReadFile(JoinPath(recording.model, "saved_model.pb"))));
  for (tensorflow::MetaGraphDef& graph : *model.mutable_meta_graphs()) {
    Scatter(count, graph.mutable_graph_def());
  }
  EXPECT_TRUE(
      WriteFileAtomically((copy / "saved_model.pb").string(), model.SerializeAsString()).ok());
  return copy.string();
}

Tally ReplayModels(const SessionOptions& options, bool scattered) {
  const int count = options.devices.count.at("ACCEL");
  absl::StatusOr<std::vector<Recording>> recordings = FindRecordings(JoinPath(kData, "models"), {});
  EXPECT_TRUE(recordings.ok()) << recordings.status();
  if (!recordings.ok()) return Tally();
  std::vector<std::string> names;
  for (Recording& recording : *recordings) {
    names.push_back(recording.name);
    if (scattered) recording.model = ScatteredModel(count, recording);
  }
  return Replay(names, [&](int i, tensorflow::RunMetadata* metadata) -> std::string {
    const absl::Status status = ReplayModel((*recordings)[i], options, metadata);
    return status.ok() ? "" : status.ToString();
  });
}

TEST(AcceleratorTest, ModelsOnOne) {
  Tally tally = ReplayModels(WithAccelerators(1), /*scattered=*/true);
  EXPECT_GE(tally.replayed, 18);
  EXPECT_GE(tally.executions["ACCEL:0"], 30000) << tally.executions["CPU:0"] << " on the CPU";
}

// As servers load models: variables are constants there.
TEST(AcceleratorTest, FrozenModelsOnOne) {
  SessionOptions options = WithAccelerators(1);
  options.freeze_variables = true;
  Tally tally = ReplayModels(options, /*scattered=*/false);
  EXPECT_GE(tally.replayed, 18);
  EXPECT_GE(tally.executions["ACCEL:0"], 12000) << tally.executions["CPU:0"] << " on the CPU";
}

TEST(AcceleratorTest, ModelsOnTwo) {
  Tally tally = ReplayModels(WithAccelerators(2), /*scattered=*/true);
  EXPECT_GE(tally.replayed, 18);
  EXPECT_GE(tally.executions["ACCEL:0"], 15000);
  EXPECT_GE(tally.executions["ACCEL:1"], 15000);
}

}  // namespace
}  // namespace tessera
