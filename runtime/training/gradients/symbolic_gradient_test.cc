#include "runtime/training/gradients/symbolic_gradient.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// `square_and_count` gives x * x and its argument n; `cubes` calls it; `bits` has no gradient;
// `slope` is the gradient of `square_and_count` with respect to x.
constexpr char kFunctions[] = R"pb(
  library {
    function {
      signature {
        name: "square_and_count"
        input_arg { name: "x" type: DT_FLOAT }
        input_arg { name: "n" type: DT_INT32 }
        output_arg { name: "y" type: DT_FLOAT }
        output_arg { name: "m" type: DT_INT32 }
      }
      node_def {
        name: "product"
        op: "Mul"
        input: "x"
        input: "x"
        attr {
          key: "T"
          value { type: DT_FLOAT }
        }
      }
      ret { key: "y" value: "product:z:0" }
      ret { key: "m" value: "n" }
    }
    function {
      signature {
        name: "bits"
        input_arg { name: "x" type: DT_FLOAT }
        output_arg { name: "y" type: DT_FLOAT }
      }
      node_def {
        name: "cast"
        op: "Bitcast"
        input: "x"
        attr {
          key: "T"
          value { type: DT_FLOAT }
        }
        attr {
          key: "type"
          value { type: DT_FLOAT }
        }
      }
      ret { key: "y" value: "cast:output:0" }
    }
    function {
      signature {
        name: "slope"
        input_arg { name: "x" type: DT_FLOAT }
        input_arg { name: "n" type: DT_INT32 }
        output_arg { name: "dx" type: DT_FLOAT }
      }
      node_def {
        name: "one"
        op: "Const"
        attr {
          key: "dtype"
          value { type: DT_FLOAT }
        }
        attr {
          key: "value"
          value {
            tensor {
              dtype: DT_FLOAT
              tensor_shape {}
              float_val: 1
            }
          }
        }
      }
      node_def {
        name: "gradient"
        op: "SymbolicGradient"
        input: "x"
        input: "n"
        input: "one:output:0"
        input: "n"
        attr {
          key: "f"
          value { func { name: "square_and_count" } }
        }
        attr {
          key: "Tin"
          value { list { type: DT_FLOAT type: DT_INT32 type: DT_FLOAT type: DT_INT32 } }
        }
        attr {
          key: "Tout"
          value { list { type: DT_FLOAT type: DT_INT32 } }
        }
      }
      ret { key: "dx" value: "gradient:output:0" }
    }
  }
  node {
    name: "x"
    op: "Const"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "value"
      value {
        tensor {
          dtype: DT_FLOAT
          tensor_shape {}
          float_val: 3
        }
      }
    }
  }
  node {
    name: "n"
    op: "Const"
    attr {
      key: "dtype"
      value { type: DT_INT32 }
    }
    attr {
      key: "value"
      value {
        tensor {
          dtype: DT_INT32
          tensor_shape {}
          int_val: 7
        }
      }
    }
  }
)pb";

tensorflow::GraphDef GraphWith(const std::string& node, const std::string& functions = "") {
  tensorflow::GraphDef graph, more;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kFunctions + node, &graph));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(functions, &more));
  graph.MergeFrom(more);
  return graph;
}

std::string GradientOf(const std::string& function, const std::string& inputs,
                       const std::string& tin, const std::string& tout) {
  return "node { name: 'gradient' op: 'SymbolicGradient' " + inputs +
         " attr { key: 'f' value { func { name: '" + function + "' } } } " +
         "attr { key: 'Tin' value { list { " + tin + " } } } " +
         "attr { key: 'Tout' value { list { " + tout + " } } } }";
}

constexpr char kF[] = "type: DT_FLOAT ", kI[] = "type: DT_INT32 ";

absl::Status RunGraph(const tensorflow::GraphDef& graph, const std::vector<std::string>& fetches,
                      std::vector<Tensor>* values) {
  const std::unique_ptr<Session> session = Session::Create({}).value();
  if (const absl::Status extended = session->Extend(graph); !extended.ok()) return extended;
  return session->Run({}, fetches, {}, values);
}

TEST(SymbolicGradientTest, IsTheGradientOfTheFunctionAndZerosForIntegers) {
  const auto graph =
      GraphWith(GradientOf("square_and_count", "input: 'x' input: 'n' input: 'x' input: 'n'",
                           std::string(kF) + kI + kF + kI, std::string(kF) + kI));
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0", "gradient:1"}, &values);
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_EQ(values[0].scalar<float>(), 2 * 3 * 3);
  EXPECT_EQ(values[1].scalar<int32_t>(), 0);
}

TEST(SymbolicGradientTest, FunctionsWithGradientsInThemHaveGradients) {
  const auto graph = GraphWith(GradientOf("slope", "input: 'x' input: 'n' input: 'x'",
                                          std::string(kF) + kI + kF, std::string(kF) + kI));
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_EQ(values[0].scalar<float>(), 2 * 3);
}

TEST(SymbolicGradientTest, GradientFunctionOfTheLibraryIsCalled) {
  auto graph = GraphWith(GradientOf("bits", "input: 'x' input: 'x'", std::string(kF) + kF, kF),
                         R"pb(library {
                                gradient { function_name: "bits" gradient_func: "minus_dy" }
                                function {
                                  signature {
                                    name: "minus_dy"
                                    input_arg { name: "x" type: DT_FLOAT }
                                    input_arg { name: "dy" type: DT_FLOAT }
                                    output_arg { name: "dx" type: DT_FLOAT }
                                  }
                                  node_def {
                                    name: "minus"
                                    op: "Neg"
                                    input: "dy"
                                    attr {
                                      key: "T"
                                      value { type: DT_FLOAT }
                                    }
                                  }
                                  ret { key: "dx" value: "minus:y:0" }
                                }
                              })pb");
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_EQ(values[0].scalar<float>(), -3);
}

TEST(SymbolicGradientTest, WhatHasNoGradientFailsOnlyTheRunsThatNeedIt) {
  const auto graph =
      GraphWith(GradientOf("bits", "input: 'x' input: 'x'", std::string(kF) + kF, kF));
  std::vector<Tensor> values;
  EXPECT_TRUE(RunGraph(graph, {"x:0"}, &values).ok());
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  EXPECT_FALSE(run.ok());
  EXPECT_THAT(std::string(run.message()), HasSubstr("Bitcast has no gradient"));
}

TEST(SymbolicGradientTest, AFunctionThatNamesItsOwnGradientEnds) {
  auto graph =
      GraphWith(GradientOf("endless", "input: 'x' input: 'x'", std::string(kF) + kF, kF), R"pb(
        library {
          function {
            signature {
              name: "endless"
              input_arg { name: "x" type: DT_FLOAT }
              output_arg { name: "y" type: DT_FLOAT }
            }
            node_def {
              name: "slope"
              op: "SymbolicGradient"
              input: "x"
              input: "x"
              attr {
                key: "f"
                value { func { name: "endless" } }
              }
              attr {
                key: "Tin"
                value { list { type: DT_FLOAT type: DT_FLOAT } }
              }
              attr {
                key: "Tout"
                value { list { type: DT_FLOAT } }
              }
            }
            node_def {
              name: "constant"
              op: "StopGradient"
              input: "slope:output:0"
              attr {
                key: "T"
                value { type: DT_FLOAT }
              }
            }
            node_def {
              name: "product"
              op: "Mul"
              input: "x"
              input: "constant:output:0"
              attr {
                key: "T"
                value { type: DT_FLOAT }
              }
            }
            ret { key: "y" value: "product:z:0" }
          }
        }
      )pb");
  ExpandSymbolicGradients(nullptr, &graph);
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  EXPECT_FALSE(run.ok());
}

TEST(SymbolicGradientTest, AnotherNumberOfInputsIsRefused) {
  auto graph =
      GraphWith(GradientOf("square_and_count", "input: 'x' input: 'x'", std::string(kF) + kF, kF));
  ExpandSymbolicGradients(nullptr, &graph);
  EXPECT_THAT(graph.node(2).attr().at("_unsupported").s(),
              HasSubstr("must take the arguments of 'square_and_count'"));
}

}  // namespace
}  // namespace tessera
