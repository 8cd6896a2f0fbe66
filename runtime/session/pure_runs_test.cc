#include "runtime/session/pure_runs.h"

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/framework/op.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

REGISTER_OP("TestSaysNothing").Input("x: float").Output("y: float").Stateful();

tensorflow::GraphDef Graph() {
  tensorflow::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        node { name: 'x' op: 'Placeholder' }
        node { name: 'v' op: 'VarHandleOp' }
        node { name: 'read' op: 'ReadVariableOp' input: 'v' }
        node { name: 'y' op: 'AddV2' input: 'x' input: 'read' }
        node { name: 'add' op: 'AssignAddVariableOp' input: 'v' input: 'x' }
        node { name: 'after_add' op: 'Identity' input: 'x' input: '^add' }
        node { name: 'ref' op: 'VariableV2' }
        node { name: 'deref' op: 'Identity' input: 'ref' }
        node { name: 'assign' op: 'Assign' input: 'ref' input: 'x' }
        node { name: 'table' op: 'HashTableV2' }
        node { name: 'find' op: 'LookupTableFindV2' input: 'table' input: 'x' input: 'x' }
        node { name: 'insert' op: 'LookupTableInsertV2' input: 'table' input: 'x' input: 'x' }
        node { name: 'random' op: 'RandomUniform' input: 'x' }
        node { name: 'unknown' op: 'NobodyKnows' input: 'x' }
        node { name: 'save' op: 'SaveV2' input: 'x' }
        node { name: 'check' op: 'CheckNumerics' input: 'x' }
        node { name: 'array' op: 'TensorArrayV3' input: 'x' }
        node { name: 'element' op: 'TensorArrayReadV3' input: 'array' input: 'x' input: 'x' }
        node { name: 'file' op: 'ReadFile' input: 'x' }
        node { name: 'queue' op: 'FIFOQueueV2' }
        node { name: 'wait' op: 'QueueDequeueV2' input: 'queue' }
        node { name: 'batch' op: 'BatchFunction' input: 'x' }
        node { name: 'silent' op: 'TestSaysNothing' input: 'x' }
        node {
          name: 'reads'
          op: 'StatefulPartitionedCall'
          input: 'x'
          attr {
            key: 'f'
            value { func { name: 'reader' } }
          }
        }
        node {
          name: 'writes'
          op: 'StatefulPartitionedCall'
          input: 'x'
          attr {
            key: 'f'
            value { func { name: 'calls_writer' } }
          }
        }
        node {
          name: 'cases'
          op: 'Case'
          input: 'x'
          attr {
            key: 'branches'
            value {
              list {
                func { name: 'reader' }
                func { name: 'writer' }
              }
            }
          }
        }
        node { name: 'direct' op: 'writer' input: 'x' }
        node {
          name: 'loops'
          op: 'PartitionedCall'
          attr {
            key: 'f'
            value { func { name: 'calls_itself' } }
          }
        }
        node {
          name: 'missing'
          op: 'PartitionedCall'
          attr {
            key: 'f'
            value { func { name: 'nowhere' } }
          }
        }
        library {
          function {
            signature { name: 'reader' }
            node_def { name: 'r' op: 'ReadVariableOp' }
          }
          function {
            signature { name: 'writer' }
            node_def { name: 'w' op: 'AssignVariableOp' }
          }
          function {
            signature { name: 'calls_writer' }
            node_def {
              name: 'c'
              op: 'PartitionedCall'
              attr {
                key: 'f'
                value { func { name: 'writer' } }
              }
            }
          }
          function {
            signature { name: 'calls_itself' }
            node_def {
              name: 'c'
              op: 'PartitionedCall'
              attr {
                key: 'f'
                value { func { name: 'calls_itself' } }
              }
            }
          }
        }
      )pb",
      &graph));
  return graph;
}

bool IsPure(const std::string& fetch, const std::vector<std::string>& feeds = {"x:0"}) {
  const tensorflow::GraphDef graph = Graph();
  PureRuns pure(graph);
  RunSignature signature;
  signature.feeds = feeds;
  signature.fetches = {fetch};
  return pure.IsPure(signature);
}

TEST(PureRunsTest, ReadersArePure) {
  EXPECT_TRUE(IsPure("y:0"));
  EXPECT_TRUE(IsPure("y:0", {}));
  EXPECT_TRUE(IsPure("deref:0"));
  EXPECT_TRUE(IsPure("find:0"));
  EXPECT_TRUE(IsPure("file:0"));
  EXPECT_TRUE(IsPure("check:0"));
  EXPECT_TRUE(IsPure("element:0")) << "the array belongs to the step";
  EXPECT_TRUE(IsPure("reads:0"));
  EXPECT_TRUE(IsPure("loops:0"));
}

TEST(PureRunsTest, WritersAreNot) {
  EXPECT_FALSE(IsPure("add"));
  EXPECT_FALSE(IsPure("after_add:0"));
  EXPECT_FALSE(IsPure("assign:0"));
  EXPECT_FALSE(IsPure("insert"));
  EXPECT_FALSE(IsPure("random:0"));
  EXPECT_FALSE(IsPure("save"));
  EXPECT_FALSE(IsPure("writes:0"));
  EXPECT_FALSE(IsPure("cases:0"));
  EXPECT_FALSE(IsPure("direct:0"));
  EXPECT_FALSE(IsPure("silent:0"));
}

TEST(PureRunsTest, NobodyEndsTheWaitingOfARunOfItsOwn) {
  EXPECT_FALSE(IsPure("wait:0"));
  EXPECT_FALSE(IsPure("batch:0"));
}

TEST(PureRunsTest, WhatIsFedIsNotRun) { EXPECT_TRUE(IsPure("after_add:0", {"after_add:0"})); }

TEST(PureRunsTest, WhatNobodyKnowsIsNotPure) {
  EXPECT_FALSE(IsPure("unknown:0"));
  EXPECT_FALSE(IsPure("nowhere:0"));
  EXPECT_FALSE(IsPure("missing:0"));
}

TEST(PureRunsTest, OneRunSaysNothingOfAnother) {
  const tensorflow::GraphDef graph = Graph();
  PureRuns pure(graph);
  RunSignature reads, writes;
  reads.fetches = {"reads:0"};
  writes.fetches = {"cases:0"};
  EXPECT_TRUE(pure.IsPure(reads));
  EXPECT_FALSE(pure.IsPure(writes));
  EXPECT_TRUE(pure.IsPure(reads));
  EXPECT_FALSE(pure.IsPure(writes));
}

}  // namespace
}  // namespace tessera
