// Graphs of real sizes with constant weights, run as the server runs models: variables are frozen,
// all passes run, and weights are packed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/session/session.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/conformance/large_case.h"
#include "tests/conformance/planned_products.h"

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

// A case, loaded and frozen as the server does it.
struct Loaded {
  LargeCase large;
  std::vector<Tensor> feeds;
  std::shared_ptr<const Callable> callable;
};

absl::StatusOr<Loaded> Load(const std::string& name, int threads, Numerics numerics) {
  Loaded loaded;
  ASSIGN_OR_RETURN(loaded.large, ReadLargeCase(JoinPath(kDirectory, name + ".pb")));
  SessionOptions options;
  options.intra_op_threads = threads;
  options.inter_op_threads = 1;
  options.numerics = numerics;
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(options));
  RETURN_IF_ERROR(session->Extend(loaded.large.graph));
  RETURN_IF_ERROR(session->Run(loaded.large.initial_values, {}, {"init"}, nullptr));
  RunSignature signature{{}, {loaded.large.output}, {}};
  for (const auto& [input, value] : loaded.large.inputs) {
    signature.feeds.push_back(input);
    loaded.feeds.push_back(value);
  }
  RETURN_IF_ERROR(session->FreezeVariables({signature}));
  ASSIGN_OR_RETURN(loaded.callable, session->MakeCallable(signature));
  return loaded;
}

class LargeCasesTest : public testing::TestWithParam<std::string> {};

TEST_P(LargeCasesTest, ComputesWhatTensorFlowDoes) {
  for (const int threads : {1, 2}) {
    const absl::StatusOr<Loaded> loaded = Load(GetParam(), threads, Numerics::kFast);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    // The first run packs weights, the second notes what memory is needed, and the third uses that.
    for (int run = 0; run < 3; ++run) {
      std::vector<Tensor> outputs;
      const absl::Status status = loaded->callable->Run({}, loaded->feeds, &outputs);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(FirstDifference(outputs[0], loaded->large), "")
          << "in run " << run << " on " << threads << " threads";
    }
  }
}

TEST_P(LargeCasesTest, HasTheSameBitsOnMoreThreadsIfStrict) {
  std::vector<Tensor> of_one;
  for (const int threads : {1, 2}) {
    const absl::StatusOr<Loaded> loaded = Load(GetParam(), threads, Numerics::kStrict);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    std::vector<Tensor> outputs;
    const absl::Status status = loaded->callable->Run({}, loaded->feeds, &outputs);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(FirstDifference(outputs[0], loaded->large), "") << "on " << threads << " threads";
    if (threads == 1) {
      of_one = outputs;
    } else {
      EXPECT_EQ(
          std::memcmp(outputs[0].raw(), of_one[0].raw(), of_one[0].num_elements() * sizeof(float)),
          0);
    }
  }
}

TEST_P(LargeCasesTest, RunsTheFusedOps) {
  const absl::StatusOr<Loaded> loaded = Load(GetParam(), 1, Numerics::kFast);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  RunOptions options;
  options.collect_stats = true;
  std::vector<Tensor> outputs;
  tensorflow::RunMetadata metadata;
  ASSERT_TRUE(loaded->callable->Run(options, loaded->feeds, &outputs, &metadata).ok());
  const std::set<std::string> ops = OpsOf(metadata);
  for (const std::string& op : loaded->large.ran) {
    EXPECT_EQ(ops.count(op), 1) << "no " << op << " was made of the graph";
  }
}

INSTANTIATE_TEST_SUITE_P(All, LargeCasesTest, testing::ValuesIn(CaseNames()),
                         [](const auto& info) { return info.param; });

// Returns the algorithms that large products of float go by with these choices, each of some shape.
std::set<ProductAlgorithm> AlgorithmsFor(const MachineSpeeds& speeds) {
  std::set<ProductAlgorithm> algorithms = {ProductAlgorithm::kOneDnn, ProductAlgorithm::kOrdered,
                                           ProductAlgorithm::kFmaGemm, ProductAlgorithm::kDepthwise,
                                           ProductAlgorithm::kTransposed};
  // Without AVX-512 constant weights go to oneDNN, whether rows are few or many.
  if (speeds.has_avx512) algorithms.insert(ProductAlgorithm::kGemv);
  if (speeds.has_amx) {
    algorithms.insert(ProductAlgorithm::kAmxGemm);  // faster than what needs fewer multiplications
    return algorithms;
  }
  algorithms.insert({ProductAlgorithm::kWinograd2, ProductAlgorithm::kWinograd4});
  if (speeds.has_avx512) algorithms.insert(ProductAlgorithm::kStrassen);
  return algorithms;
}

std::string NamesOf(const std::set<ProductAlgorithm>& algorithms) {
  return absl::StrJoin(algorithms, ", ", [](std::string* names, ProductAlgorithm algorithm) {
    absl::StrAppend(names, NameOf(algorithm));
  });
}

TEST(LargeCases, ReachEveryAlgorithmOfProducts) {
  const std::set<ProductAlgorithm> expected = AlgorithmsFor(SpeedsForCpu());
  std::set<ProductAlgorithm> reached;
  std::string by_case;
  for (const std::string& name : CaseNames()) {
    TakePlannedProducts();
    for (const Numerics numerics : {Numerics::kFast, Numerics::kStrict}) {
      const absl::StatusOr<Loaded> loaded = Load(name, 1, numerics);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      std::vector<Tensor> outputs;
      ASSERT_TRUE(loaded->callable->Run({}, loaded->feeds, &outputs).ok()) << name;
    }
    const std::set<ProductAlgorithm> planned = TakePlannedProducts();
    reached.insert(planned.begin(), planned.end());
    if (absl::StartsWith(name, "strassen") && expected.count(ProductAlgorithm::kStrassen) > 0) {
      EXPECT_EQ(planned.count(ProductAlgorithm::kStrassen), 1) << name;
    }
    absl::StrAppend(&by_case, "\n", name, ": ", NamesOf(planned));
  }
  std::set<ProductAlgorithm> missing;
  std::set_difference(expected.begin(), expected.end(), reached.begin(), reached.end(),
                      std::inserter(missing, missing.end()));
  EXPECT_EQ(NamesOf(missing), "") << "by the choices for " << SpeedsForCpu().name << by_case;
}

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
