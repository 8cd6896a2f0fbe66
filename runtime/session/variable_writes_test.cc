#include "runtime/session/variable_writes.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/graph/graph_import.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Handles h1 to h4: h1 is read by the graph, h2 is read in a function, h3 is assigned in a function
// called by a function, h4 goes round a While whose body assigns it. References v1 and v2: v1 is
// read, v2 assigned through an Identity of references.
constexpr char kGraph[] = R"pb(
  node {
    name: "h1"
    op: "VarHandleOp"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  node {
    name: "h2"
    op: "VarHandleOp"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  node {
    name: "h3"
    op: "VarHandleOp"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
    attr {
      key: "shared_name"
      value { s: "third" }
    }
  }
  node {
    name: "h4"
    op: "VarHandleOp"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  node {
    name: "read"
    op: "ReadVariableOp"
    input: "h1"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "call"
    op: "StatefulPartitionedCall"
    input: "h2"
    input: "h3"
    input: "read"
    attr {
      key: "Tin"
      value { list { type: DT_RESOURCE type: DT_RESOURCE type: DT_FLOAT } }
    }
    attr {
      key: "Tout"
      value { list { type: DT_FLOAT } }
    }
    attr {
      key: "f"
      value { func { name: "outer" } }
    }
  }
  node {
    name: "while"
    op: "While"
    input: "h4"
    attr {
      key: "T"
      value { list { type: DT_RESOURCE } }
    }
    attr {
      key: "cond"
      value { func { name: "never" } }
    }
    attr {
      key: "body"
      value { func { name: "zero" } }
    }
  }
  node {
    name: "v1"
    op: "VariableV2"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  node {
    name: "v2"
    op: "VariableV2"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  node {
    name: "read_v1"
    op: "Identity"
    input: "v1"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "same_v2"
    op: "RefIdentity"
    input: "v2"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "assign"
    op: "Assign"
    input: "same_v2"
    input: "read_v1"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  library {
    function {
      signature {
        name: "outer"
        input_arg { name: "a" type: DT_RESOURCE }
        input_arg { name: "b" type: DT_RESOURCE }
        input_arg { name: "c" type: DT_FLOAT }
        output_arg { name: "y" type: DT_FLOAT }
        is_stateful: true
      }
      node_def {
        name: "read"
        op: "ReadVariableOp"
        input: "a"
        attr {
          key: "dtype"
          value { type: DT_FLOAT }
        }
      }
      node_def {
        name: "inner"
        op: "StatefulPartitionedCall"
        input: "b"
        input: "c"
        attr {
          key: "Tin"
          value { list { type: DT_RESOURCE type: DT_FLOAT } }
        }
        attr {
          key: "Tout"
          value { list {} }
        }
        attr {
          key: "f"
          value { func { name: "set" } }
        }
      }
      ret { key: "y" value: "read:value:0" }
      control_ret { key: "inner" value: "inner" }
    }
    function {
      signature {
        name: "set"
        input_arg { name: "a" type: DT_RESOURCE }
        input_arg { name: "value" type: DT_FLOAT }
        is_stateful: true
      }
      node_def {
        name: "assign"
        op: "AssignVariableOp"
        input: "a"
        input: "value"
        attr {
          key: "dtype"
          value { type: DT_FLOAT }
        }
      }
    }
    function {
      signature {
        name: "zero"
        input_arg { name: "a" type: DT_RESOURCE }
        output_arg { name: "b" type: DT_RESOURCE }
        is_stateful: true
      }
      node_def {
        name: "nil"
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
            }
          }
        }
      }
      node_def {
        name: "assign"
        op: "AssignVariableOp"
        input: "a"
        input: "nil:output:0"
        attr {
          key: "dtype"
          value { type: DT_FLOAT }
        }
      }
      ret { key: "b" value: "a" }
    }
    function {
      signature {
        name: "never"
        input_arg { name: "a" type: DT_RESOURCE }
        output_arg { name: "b" type: DT_BOOL }
      }
      node_def {
        name: "no"
        op: "Const"
        attr {
          key: "dtype"
          value { type: DT_BOOL }
        }
        attr {
          key: "value"
          value {
            tensor {
              dtype: DT_BOOL
              tensor_shape {}
            }
          }
        }
      }
      ret { key: "b" value: "no:output:0" }
    }
  }
  versions { producer: 1000 }
)pb";

TEST(VariableWritesTest, FollowsHandlesAndReferencesThroughCalls) {
  tensorflow::GraphDef graph_def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, &graph_def));
  absl::StatusOr<std::unique_ptr<Graph>> graph = ImportGraph(graph_def);
  ASSERT_TRUE(graph.ok()) << graph.status();
  VariableWrites writes;
  const absl::Status status = writes.Add(**graph);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(writes.MayWrite(*(*graph)->FindNode("h1")));
  EXPECT_FALSE(writes.MayWrite(*(*graph)->FindNode("h2")));
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("h3")));
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("h4")));
  EXPECT_FALSE(writes.MayWrite(*(*graph)->FindNode("v1")));
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("v2")));
}

TEST(VariableWritesTest, UnknownReaderCountsAsWriter) {
  tensorflow::GraphDef graph_def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        node {
          name: "h"
          op: "VarHandleOp"
          attr {
            key: "dtype"
            value { type: DT_FLOAT }
          }
          attr {
            key: "shape"
            value { shape {} }
          }
        }
        node { name: "destroy" op: "DestroyResourceOp" input: "h" }
        versions { producer: 1000 }
      )pb",
      &graph_def));
  absl::StatusOr<std::unique_ptr<Graph>> graph = ImportGraph(graph_def);
  ASSERT_TRUE(graph.ok()) << graph.status();
  VariableWrites writes;
  ASSERT_TRUE(writes.Add(**graph).ok());
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("h")));
}

TEST(VariableWritesTest, HandlesThatOneNodeGivesAreToldApart) {
  Graph graph;
  const AttrMap variable = {{"dtype", DType::kFloat}, {"shape", PartialShape({})}};
  Node* const a = graph.AddNode("a", "VarHandleOp", variable).value();
  Node* const b = graph.AddNode("b", "VarHandleOp", variable).value();
  Node* const both = graph
                         .AddNode("both", "_VarHandlesOp",
                                  {{"N", 2},
                                   {"containers", std::vector<std::string>{"", ""}},
                                   {"shared_names", std::vector<std::string>{"a", "b"}},
                                   {"dtypes", std::vector<DType>{DType::kFloat, DType::kFloat}},
                                   {"shapes", std::vector<PartialShape>(2)}})
                         .value();
  const AttrMap types = {{"T", std::vector<DType>{DType::kResource, DType::kResource}}};
  Node* const same = graph.AddNode("same", "IdentityN", types).value();
  Node* const read = graph.AddNode("read", "ReadVariableOp", {{"dtype", DType::kFloat}}).value();
  Node* const add = graph.AddNode("add", "AssignAddVariableOp", {{"dtype", DType::kFloat}}).value();
  ASSERT_TRUE(graph.Connect({both, 0}, same, 0).ok());
  ASSERT_TRUE(graph.Connect({both, 1}, same, 1).ok());
  ASSERT_TRUE(graph.Connect({same, 0}, read, 0).ok());
  ASSERT_TRUE(graph.Connect({same, 1}, add, 0).ok());
  ASSERT_TRUE(graph.Connect({read, 0}, add, 1).ok());
  VariableWrites writes;
  ASSERT_TRUE(writes.Add(graph).ok());
  EXPECT_FALSE(writes.MayWrite(*a));
  EXPECT_TRUE(writes.MayWrite(*b));
}

// An op library may forget to say what its op does with a handle.
REGISTER_OP("TestUndeclaredUse").Input("x: resource").Output("y: float");

TEST(VariableWritesTest, UndeclaredUseCountsAsAWrite) {
  Graph graph;
  Node* const variable =
      graph.AddNode("v", "VarHandleOp", {{"dtype", DType::kFloat}, {"shape", PartialShape({})}})
          .value();
  Node* const user = graph.AddNode("user", "TestUndeclaredUse", {}).value();
  ASSERT_TRUE(graph.Connect({variable, 0}, user, 0).ok());
  VariableWrites writes;
  ASSERT_TRUE(writes.Add(graph).ok());
  EXPECT_TRUE(writes.MayWrite(*variable));
}

TEST(VariableWritesTest, CallsTooDeepToFollowAreAnError) {
  constexpr int kFunctions = 5000;
  tensorflow::GraphDef graph_def;
  for (int i = 0; i < kFunctions; ++i) {
    tensorflow::FunctionDef* function = graph_def.mutable_library()->add_function();
    function->mutable_signature()->set_name(absl::StrCat("level_", i));
    tensorflow::NodeDef* call = function->add_node_def();
    call->set_name("call");
    call->set_op(i + 1 == kFunctions ? "NoOp" : absl::StrCat("level_", i + 1));
    (*function->mutable_control_ret())["done"] = "call";
    function->mutable_signature()->add_control_output("done");
  }
  for (const int first : {kFunctions - 500, 0}) {
    graph_def.clear_node();
    tensorflow::NodeDef* call = graph_def.add_node();
    call->set_name("call");
    call->set_op(absl::StrCat("level_", first));
    const auto graph = ImportGraph(graph_def).value();
    EXPECT_EQ(VariableWrites().Add(*graph).code(),
              first > 0 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace tessera
