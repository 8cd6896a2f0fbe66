#include "runtime/graph/testing/graph_text.h"

#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

TEST(GraphTextTest, NodesAndFunctionsAreThoseOfTheProto) {
  const tensorflow::GraphDef graph = GraphFromText(R"(
    # A function of any type, and one with an effect.
    def same(x: $T) -> (y: $T):
      id = Identity(x) {T: $T}
    return (y = id:output:0)

    stateful def set(v: resource) {_noinline: true}:
      two = Const() {dtype: float, value: float([1.5, -2])}
      assign = AssignVariableOp(v, two:output:0)
    return (^assign)

    v = VarHandleOp() {shape: <2, ?>, any: <*>, scalar: <>, name: "a b", i: -3, f: 0.5}
    call = set(v:0, ^init) {Tin: [resource], Tout: [], f: @set, fs: [@set, @same]} on "/device:X:1"
  )");
  tensorflow::GraphDef expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        node {
          name: "v"
          op: "VarHandleOp"
          attr {
            key: "shape"
            value {
              shape {
                dim { size: 2 }
                dim { size: -1 }
              }
            }
          }
          attr {
            key: "any"
            value { shape { unknown_rank: true } }
          }
          attr {
            key: "scalar"
            value { shape {} }
          }
          attr {
            key: "name"
            value { s: "a b" }
          }
          attr {
            key: "i"
            value { i: -3 }
          }
          attr {
            key: "f"
            value { f: 0.5 }
          }
        }
        node {
          name: "call"
          op: "set"
          input: "v:0"
          input: "^init"
          device: "/device:X:1"
          attr {
            key: "Tin"
            value { list { type: DT_RESOURCE } }
          }
          attr {
            key: "Tout"
            value { list {} }
          }
          attr {
            key: "f"
            value { func { name: "set" } }
          }
          attr {
            key: "fs"
            value {
              list {
                func { name: "set" }
                func { name: "same" }
              }
            }
          }
        }
        library {
          function {
            signature {
              name: "same"
              input_arg { name: "x" type_attr: "T" }
              output_arg { name: "y" type_attr: "T" }
              attr { name: "T" type: "type" }
            }
            node_def {
              name: "id"
              op: "Identity"
              input: "x"
              attr {
                key: "T"
                value { placeholder: "T" }
              }
            }
            ret { key: "y" value: "id:output:0" }
          }
          function {
            signature {
              name: "set"
              input_arg { name: "v" type: DT_RESOURCE }
              control_output: "assign"
              is_stateful: true
            }
            attr {
              key: "_noinline"
              value { b: true }
            }
            node_def {
              name: "two"
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
                    tensor_shape { dim { size: 2 } }
                    float_val: [ 1.5, -2 ]
                  }
                }
              }
            }
            node_def { name: "assign" op: "AssignVariableOp" input: "v" input: "two:output:0" }
            control_ret { key: "assign" value: "assign" }
          }
        })pb",
      &expected));
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differencer.Compare(expected, graph)) << differences;
}

TEST(GraphTextDeathTest, MistakesAreNamedWithTheirPlace) {
  EXPECT_DEATH(GraphFromText("x = Const( {"), "expected a name in the graph's text before: \\{");
  EXPECT_DEATH(GraphFromText("x = Const() {i: many}"), "an integer instead of 'many'");
  EXPECT_DEATH(GraphFromText("def f(x: floot):"), "expected a dtype");
}

}  // namespace
}  // namespace tessera
