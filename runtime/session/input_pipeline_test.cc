// Pipelines that misbehave, whose time and memory a session must stay master of. What pipelines
// give is compared with TensorFlow's by tests/conformance/pipeline_cases.py.
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr char kSpec[] =
    "attr { key: 'output_types' value { list { type: DT_INT64 } } } "
    "attr { key: 'output_shapes' value { list { shape { } } } } ";

std::string Node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs, const std::string& attrs = "") {
  std::string text = absl::StrCat("node { name: '", name, "' op: '", op, "' ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  return absl::StrCat(text, attrs, "}\n");
}
std::string Number(const std::string& name, int64_t value) {
  return Node(name, "Const", {},
              absl::StrCat("attr { key: 'dtype' value { type: DT_INT64 } } attr { key: 'value' "
                           "value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: ",
                           value, " } } }"));
}
std::string Func(const std::string& attr, const std::string& function) {
  return absl::StrCat("attr { key: '", attr, "' value { func { name: '", function,
                      "' } } } attr { key: 'Targuments' value { list { } } } ");
}
// Numbers from 0 to 2^62, and the constants 0, 1, 4 and -1.
std::string Endless() {
  return absl::StrCat(Number("zero", 0), Number("one", 1), Number("four", 4), Number("minus", -1),
                      Number("far", int64_t{1} << 62),
                      Node("range", "RangeDataset", {"zero", "far", "one"}, kSpec));
}
// An iterator over the node `dataset`: `init` starts it, `next` gives an element.
std::string Iterate(const std::string& dataset) {
  return absl::StrCat(Node("iterator", "IteratorV2", {},
                           absl::StrCat(kSpec,
                                        "attr { key: 'shared_name' value { s: '' } } "
                                        "attr { key: 'container' value { s: '' } }")),
                      Node("init", "MakeIterator", {dataset, "iterator"}),
                      Node("next", "IteratorGetNext", {"iterator"}, kSpec));
}

// The functions `never` and `twice` of a number, and `self`, which makes a dataset that calls it.
std::string Library() {
  return absl::StrCat(R"pb(
    library {
      function {
        signature {
          name: "never"
          input_arg { name: "x" type: DT_INT64 }
          output_arg { name: "r" type: DT_BOOL }
        }
        node_def {
          name: "less"
          op: "Less"
          input: "x"
          input: "x"
          attr {
            key: "T"
            value { type: DT_INT64 }
          }
        }
        ret { key: "r" value: "less:z:0" }
      }
      function {
        signature {
          name: "twice"
          input_arg { name: "x" type: DT_INT64 }
          output_arg { name: "r" type: DT_INT64 }
        }
        node_def {
          name: "sum"
          op: "AddV2"
          input: "x"
          input: "x"
          attr {
            key: "T"
            value { type: DT_INT64 }
          }
        }
        ret { key: "r" value: "sum:z:0" }
      }
      function {
        signature {
          name: "self"
          input_arg { name: "x" type: DT_INT64 }
          output_arg { name: "r" type: DT_VARIANT }
        }
        node_def {
          name: "tensor"
          op: "TensorDataset"
          input: "x"
          attr {
            key: "Toutput_types"
            value { list { type: DT_INT64 } }
          }
          attr {
            key: "output_shapes"
            value { list { shape {} } }
          }
        }
        node_def {
          name: "flat"
          op: "FlatMapDataset"
          input: "tensor:handle:0"
          attr {
            key: "f"
            value { func { name: "self" } }
          }
          attr {
            key: "Targuments"
            value { list {} }
          }
          attr {
            key: "output_types"
            value { list { type: DT_INT64 } }
          }
          attr {
            key: "output_shapes"
            value { list { shape {} } }
          }
        }
        ret { key: "r" value: "flat:handle:0" }
      }
    }
  )pb");
}

class InputPipelineTest : public ::testing::Test {
 protected:
  void Load(const std::string& nodes) {
    tensorflow::GraphDef graph;
    CHECK(google::protobuf::TextFormat::ParseFromString(nodes + Library(), &graph)) << nodes;
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
      Node("never", "FilterDataset", {"range"}, absl::StrCat(Func("predicate", "never"), kSpec));
  const std::vector<std::string> pipelines = {
      never,
      absl::StrCat(never, Node("last", "PrefetchDataset", {"never", "four"}, kSpec)),
      // Skipping, one element after the other.
      absl::StrCat(Node("once", "RepeatDataset", {"range", "minus"}, kSpec),
                   Node("last", "SkipDataset", {"once", "far"}, kSpec)),
  };
  for (const std::string& pipeline : pipelines) {
    const std::string last = absl::StrContains(pipeline, "'last'") ? "last" : "never";
    Load(absl::StrCat(Endless(), pipeline, Iterate(last)));
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
  const std::string attrs = absl::StrCat(Func("f", "twice"), kSpec,
                                         "attr { key: 'deterministic' value { s: 'default' } }");
  Load(absl::StrCat(Endless(), Node("map", "ParallelMapDatasetV2", {"range", "four"}, attrs),
                    Node("ahead", "PrefetchDataset", {"map", "four"}, kSpec), Iterate("ahead")));
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(RunTarget("init").ok());
    for (int64_t i = 0; i < round; ++i) ASSERT_EQ(Next().value(), 2 * i);
  }
  session_ = nullptr;
}

TEST_F(InputPipelineTest, ADatasetWhoseFunctionMakesItselfAnewEnds) {
  Load(absl::StrCat(
      Endless(), Node("deep", "FlatMapDataset", {"range"}, absl::StrCat(Func("f", "self"), kSpec)),
      Iterate("deep")));
  ASSERT_TRUE(RunTarget("init").ok());
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(InputPipelineTest, ChainsAndTreesWithoutEndAreRefused) {
  std::string chain = Endless();
  std::string last = "range";
  for (int i = 0; i < 1000; ++i) {
    const std::string name = absl::StrCat("skip", i);
    chain += Node(name, "SkipDataset", {last, "one"}, kSpec);
    last = name;
  }
  Load(chain + Iterate(last));
  EXPECT_THAT(RunTarget("init").ToString(),
              ::testing::AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("chain of")));

  std::string tree = Endless();
  last = "range";
  for (int i = 0; i < 60; ++i) {
    const std::string name = absl::StrCat("twice", i);
    tree += Node(name, "ConcatenateDataset", {last, last}, kSpec);
    last = name;
  }
  Load(tree + Iterate(last));
  EXPECT_THAT(RunTarget("init").ToString(),
              ::testing::AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("inputs")));
}

TEST_F(InputPipelineTest, SizesBeyondAllMemoryTakeNone) {
  const std::string five = Node("five", "TakeDataset", {"range", "four"}, kSpec);
  Load(absl::StrCat(Endless(), five, Node("empty", "TakeDataset", {"range", "zero"}, kSpec),
                    Number("seed", 1), Number("seed2", 2),
                    Node("shuffled", "ShuffleDataset", {"five", "far", "seed", "seed2"}, kSpec),
                    Node("ahead", "PrefetchDataset", {"shuffled", "far"}, kSpec),
                    Node("over", "RepeatDataset", {"empty", "minus"}, kSpec),
                    Node("all", "ConcatenateDataset", {"over", "ahead"}, kSpec), Iterate("all")));
  ASSERT_TRUE(RunTarget("init").ok());
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += Next().value();
  EXPECT_EQ(sum, 0 + 1 + 2 + 3);
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kOutOfRange) << "once more";
}

TEST_F(InputPipelineTest, ADatasetOfOtherTypesIsRefused) {
  const std::string floats =
      "attr { key: 'output_types' value { list { type: DT_FLOAT } } } "
      "attr { key: 'output_shapes' value { list { shape { } } } } ";
  Load(absl::StrCat(Endless(), Node("floats", "RangeDataset", {"zero", "far", "one"}, floats),
                    // It lies about what it hands on.
                    Node("taken", "TakeDataset", {"floats", "four"}, kSpec), Iterate("taken")));
  EXPECT_THAT(RunTarget("init").ToString(),
              HasSubstr("Data type mismatch at component 0: expected int64 but got float"));
}

}  // namespace
}  // namespace tessera
