// Graphs of real sizes with constant weights, run as the server runs models: variables are frozen,
// all passes run, and weights are packed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/file_system.h"
#include "runtime/session/session.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/conformance/large_case.h"

namespace tessera {
namespace {

constexpr char kDirectory[] = "tests/data/golden/made/large";

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  const absl::StatusOr<std::vector<std::string>> files = ListDirectory(kDirectory);
  if (files.ok()) {
    for (const std::string& file : *files) {
      if (absl::EndsWith(file, ".pb")) names.push_back(file.substr(0, file.size() - 3));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The op types of a run, as its statistics name them: "node = Op()".
std::set<std::string> OpsOf(const tensorflow::RunMetadata& metadata) {
  std::set<std::string> ops;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    for (const auto& node : device.node_stats()) {
      const std::string& label = node.timeline_label();
      const size_t begin = label.rfind(" = ") + 3;
      ops.insert(label.substr(begin, label.size() - 2 - begin));
    }
  }
  return ops;
}

class LargeCasesTest : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(LargeCasesTest, ComputesWhatTensorFlowDoes) {
  const auto& [name, threads] = GetParam();
  const absl::StatusOr<LargeCase> large = ReadLargeCase(JoinPath(kDirectory, name + ".pb"));
  ASSERT_TRUE(large.ok()) << large.status();
  SessionOptions options;
  options.intra_op_threads = threads;
  options.inter_op_threads = 1;
  auto session = Session::Create(options);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->Extend(large->graph).ok());
  absl::Status status = (*session)->Run(large->initial_values, {}, {"init"}, nullptr);
  ASSERT_TRUE(status.ok()) << status;

  RunSignature signature{{}, {large->output}, {}};
  std::vector<Tensor> feeds;
  for (const auto& [input, value] : large->inputs) {
    signature.feeds.push_back(input);
    feeds.push_back(value);
  }
  ASSERT_TRUE((*session)->FreezeVariables({signature}).ok());
  auto callable = (*session)->MakeCallable(signature);
  ASSERT_TRUE(callable.ok()) << callable.status();
  // The first run packs weights, the second notes what memory is needed, and the third uses that.
  for (int run = 0; run < 3; ++run) {
    std::vector<Tensor> outputs;
    status = (*callable)->Run({}, feeds, &outputs);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(FirstDifference(outputs[0], *large), "") << "in run " << run;
  }

  RunOptions with_stats;
  with_stats.collect_stats = true;
  std::vector<Tensor> outputs;
  tensorflow::RunMetadata metadata;
  ASSERT_TRUE((*callable)->Run(with_stats, feeds, &outputs, &metadata).ok());
  const std::set<std::string> ops = OpsOf(metadata);
  for (const std::string& op : large->ran) {
    EXPECT_EQ(ops.count(op), 1) << "no " << op << " was made of the graph";
  }
}

INSTANTIATE_TEST_SUITE_P(All, LargeCasesTest,
                         testing::Combine(testing::ValuesIn(CaseNames()), testing::Values(1, 2)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_on_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(LargeCases, AWrongElementAnywhereShows) {
  Tensor output = Tensor::Of<float>({1000}, std::vector<float>(1000, 0.f));
  LargeCase large;
  large.shape = output.shape();
  large.largest = 1;
  large.tolerance = 1e-5;
  large.positions = {0, 999};
  large.exact = Tensor::Vector<double>({0, 0});
  large.tensorflow = Tensor::Vector<float>({0, 0});
  large.signed_sums = Tensor::Vector<double>({0});
  large.stretch = 1000;
  EXPECT_EQ(FirstDifference(output, large), "");
  for (const int64_t at : {0, 500}) {
    for (const float wrong : {0.01f, std::nanf("")}) {
      output.data<float>()[at] = wrong;
      EXPECT_NE(FirstDifference(output, large), "");
      output.data<float>()[at] = 0;
    }
  }
  output.data<float>()[999] = 2e-5f;
  EXPECT_NE(FirstDifference(output, large), "");
}

TEST(LargeCases, AreThere) { EXPECT_GE(CaseNames().size(), 30); }

}  // namespace
}  // namespace tessera
