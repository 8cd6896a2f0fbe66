// Pipelines that misbehave, whose time and memory a session must stay master of. What pipelines
// give is compared with TensorFlow's by tests/conformance/pipeline_cases.py.
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// Numbers from 0 to 2^62 and some constants. The functions `never` and `twice` are of a number, and
// `self` makes a dataset that calls it.
constexpr char kEndless[] = R"(
  zero = Const() {dtype: int64, value: int64(0)}
  one = Const() {dtype: int64, value: int64(1)}
  four = Const() {dtype: int64, value: int64(4)}
  minus = Const() {dtype: int64, value: int64(-1)}
  far = Const() {dtype: int64, value: int64(4611686018427387904)}
  range = RangeDataset(zero, far, one) {output_types: [int64], output_shapes: [<>]}

  def never(x: int64) -> (r: bool):
    less = Less(x, x) {T: int64}
  return (r = less:z:0)

  def twice(x: int64) -> (r: int64):
    sum = AddV2(x, x) {T: int64}
  return (r = sum:z:0)

  def self(x: int64) -> (r: variant):
    tensor = TensorDataset(x) {Toutput_types: [int64], output_shapes: [<>]}
    flat = FlatMapDataset(tensor:handle:0) {f: @self, Targuments: [], output_types: [int64],
        output_shapes: [<>]}
  return (r = flat:handle:0)
)";

// Adds the attributes of a dataset of numbers.
std::string Dataset(absl::string_view node, absl::string_view attrs = "") {
  return absl::StrCat(node, " {output_types: [int64], output_shapes: [<>]", attrs, "}\n");
}

// An iterator over the node `dataset`: `init` starts it, `next` gives an element.
std::string Iterate(const std::string& dataset) {
  return absl::StrCat(Dataset("iterator = IteratorV2()", R"(, shared_name: "", container: "")"),
                      "init = MakeIterator(", dataset, ", iterator)\n",
                      Dataset("next = IteratorGetNext(iterator)"));
}

class InputPipelineTest : public ::testing::Test {
 protected:
  // Loads an endless range of numbers and what is made of it.
  void Load(const std::string& nodes) {
    tensorflow::GraphDef graph = GraphFromText(kEndless + nodes);
    graph.mutable_versions()->set_producer(1000);
    SessionOptions options;
    options.intra_op_threads = 2;
    options.inter_op_threads = 2;
    session_ = Session::Create(options).value();
    ASSERT_TRUE(session_->Extend(graph).ok());
  }
  absl::Status RunTarget(const std::string& target) {
    return session_->Run({}, {}, {target}, nullptr);
  }
  absl::StatusOr<int64_t> Next(const RunOptions& options = {}) {
    std::vector<Tensor> outputs;
    const absl::Status status = session_->Run(options, {}, {"next:0"}, {}, &outputs);
    if (!status.ok()) return status;
    return outputs[0].scalar<int64_t>();
  }

  std::unique_ptr<Session> session_;
};

TEST_F(InputPipelineTest, OneThatNeverYieldsEndsWithItsRun) {
  const std::string never =
      Dataset("never = FilterDataset(range)", ", predicate: @never, Targuments: []");
  const std::vector<std::string> pipelines = {
      never,
      never + Dataset("last = PrefetchDataset(never, four)"),
      // Skipping, one element after the other.
      Dataset("once = RepeatDataset(range, minus)") + Dataset("last = SkipDataset(once, far)"),
  };
  for (const std::string& pipeline : pipelines) {
    const std::string last = absl::StrContains(pipeline, "last =") ? "last" : "never";
    Load(pipeline + Iterate(last));
    ASSERT_TRUE(RunTarget("init").ok());

    CancellationManager cancellation;
    RunOptions options;
    options.cancellation = &cancellation;
    std::thread canceller([&] { cancellation.Cancel(); });
    EXPECT_EQ(Next(options).status().code(), absl::StatusCode::kCancelled) << last;
    canceller.join();

    ASSERT_TRUE(RunTarget("init").ok());
    options = RunOptions();
    options.timeout = absl::Milliseconds(20);
    EXPECT_EQ(Next(options).status().code(), absl::StatusCode::kDeadlineExceeded) << last;
  }
}

TEST_F(InputPipelineTest, WhatRunsAheadEndsWithTheSession) {
  Load(Dataset("map = ParallelMapDatasetV2(range, four)",
               R"(, f: @twice, Targuments: [], deterministic: "default")") +
       Dataset("ahead = PrefetchDataset(map, four)") + Iterate("ahead"));
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(RunTarget("init").ok());
    for (int64_t i = 0; i < round; ++i) ASSERT_EQ(Next().value(), 2 * i);
  }
  session_ = nullptr;
}

TEST_F(InputPipelineTest, ADatasetWhoseFunctionMakesItselfAnewEnds) {
  Load(Dataset("deep = FlatMapDataset(range)", ", f: @self, Targuments: []") + Iterate("deep"));
  ASSERT_TRUE(RunTarget("init").ok());
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(InputPipelineTest, ChainsAndTreesWithoutEndAreRefused) {
  std::string chain;
  std::string last = "range";
  for (int i = 0; i < 1000; ++i) {
    const std::string name = absl::StrCat("skip", i);
    chain += Dataset(absl::StrCat(name, " = SkipDataset(", last, ", one)"));
    last = name;
  }
  Load(chain + Iterate(last));
  EXPECT_THAT(RunTarget("init").ToString(),
              ::testing::AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("chain of")));

  std::string tree;
  last = "range";
  for (int i = 0; i < 60; ++i) {
    const std::string name = absl::StrCat("twice", i);
    tree += Dataset(absl::StrCat(name, " = ConcatenateDataset(", last, ", ", last, ")"));
    last = name;
  }
  Load(tree + Iterate(last));
  EXPECT_THAT(RunTarget("init").ToString(),
              ::testing::AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("inputs")));
}

TEST_F(InputPipelineTest, SizesBeyondAllMemoryTakeNone) {
  Load(absl::StrCat(Dataset("some = TakeDataset(range, four)"),
                    Dataset("empty = TakeDataset(range, zero)"),
                    Dataset("shuffled = ShuffleDataset(some, far, one, four)"),
                    Dataset("ahead = PrefetchDataset(shuffled, far)"),
                    Dataset("over = RepeatDataset(empty, minus)"),
                    Dataset("all = ConcatenateDataset(over, ahead)"), Iterate("all")));
  ASSERT_TRUE(RunTarget("init").ok());
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += Next().value();
  EXPECT_EQ(sum, 0 + 1 + 2 + 3);
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kOutOfRange) << "once more";
}

TEST_F(InputPipelineTest, ADatasetOfOtherTypesIsRefused) {
  // `taken` lies about what it hands on.
  Load("floats = RangeDataset(zero, far, one) {output_types: [float], output_shapes: [<>]}\n" +
       Dataset("taken = TakeDataset(floats, four)") + Iterate("taken"));
  EXPECT_THAT(RunTarget("init").ToString(),
              HasSubstr("Data type mismatch at component 0: expected int64 but got float"));
}

}  // namespace
}  // namespace tessera
