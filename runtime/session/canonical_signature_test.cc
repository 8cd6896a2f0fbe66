#include "runtime/session/canonical_signature.h"

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

tensorflow::GraphDef Graph() {
  tensorflow::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        node {
          name: 'x'
          op: 'Placeholder'
          attr {
            key: 'dtype'
            value { type: DT_FLOAT }
          }
          attr {
            key: '_user_specified_name'
            value { s: 'x' }
          }
        }
        node {
          name: 'other_x'
          op: 'Placeholder'
          attr {
            key: 'dtype'
            value { type: DT_FLOAT }
          }
        }
        node {
          name: 'int_x'
          op: 'Placeholder'
          attr {
            key: 'dtype'
            value { type: DT_INT32 }
          }
        }
        node { name: 'v' op: 'VarHandleOp' }
        node { name: 'w' op: 'VarHandleOp' }
        node {
          name: 'call'
          op: 'StatefulPartitionedCall'
          input: 'x'
          input: 'v'
          attr {
            key: 'f'
            value { func { name: 'wrapper' } }
          }
        }
        node {
          name: 'same_call'
          op: 'StatefulPartitionedCall'
          input: 'other_x'
          input: 'v'
          attr {
            key: 'f'
            value { func { name: 'same_wrapper' } }
          }
        }
        node {
          name: 'other_call'
          op: 'StatefulPartitionedCall'
          input: 'other_x'
          input: 'v'
          attr {
            key: 'f'
            value { func { name: 'other_wrapper' } }
          }
        }
        node {
          name: 'other_variable'
          op: 'StatefulPartitionedCall'
          input: 'other_x'
          input: 'w'
          attr {
            key: 'f'
            value { func { name: 'wrapper' } }
          }
        }
        node {
          name: 'int_call'
          op: 'StatefulPartitionedCall'
          input: 'int_x'
          input: 'v'
          attr {
            key: 'f'
            value { func { name: 'wrapper' } }
          }
        }
        node {
          name: 'branches'
          op: 'Case'
          input: 'x'
          attr {
            key: 'branches'
            value { list { func { name: 'wrapper' } } }
          }
        }
        node {
          name: 'same_branches'
          op: 'Case'
          input: 'other_x'
          attr {
            key: 'branches'
            value { list { func { name: 'same_wrapper' } } }
          }
        }
        node { name: 'ab' op: 'Sub' input: 'x' input: 'other_x' }
        node { name: 'ba' op: 'Sub' input: 'other_x' input: 'x' }
        node { name: 'after' op: 'Identity' input: 'x' input: '^v' }
        node { name: 'not_after' op: 'Identity' input: 'x' }
        node { name: 'second' op: 'Identity' input: 'call:1' }
        node { name: 'first' op: 'Identity' input: 'call' }
        node { name: 'broken' op: 'Identity' input: 'nowhere' }
        library {
          function {
            signature {
              name: 'wrapper'
              input_arg { name: 'x' type: DT_FLOAT }
            }
            arg_attr {
              key: 0
              value {
                attr {
                  key: '_user_specified_name'
                  value { s: '7748' }
                }
              }
            }
            node_def { name: 'n' op: 'Identity' input: 'x' }
          }
          function {
            signature {
              name: 'same_wrapper'
              input_arg { name: 'x' type: DT_FLOAT }
            }
            arg_attr {
              key: 0
              value {
                attr {
                  key: '_user_specified_name'
                  value { s: '8393' }
                }
              }
            }
            node_def { name: 'n' op: 'Identity' input: 'x' }
          }
          function {
            signature {
              name: 'other_wrapper'
              input_arg { name: 'x' type: DT_FLOAT }
            }
            node_def { name: 'n' op: 'Neg' input: 'x' }
          }
        }
      )pb",
      &graph));
  return graph;
}

class CanonicalSignaturesTest : public ::testing::Test {
 protected:
  std::string CanonicalKey(const std::vector<std::string>& feeds,
                           const std::vector<std::string>& fetches,
                           const std::vector<std::string>& targets = {}) {
    return forms_.CanonicalKey({.feeds = feeds, .fetches = fetches, .targets = targets});
  }

  const tensorflow::GraphDef graph_ = Graph();
  CanonicalSignatures forms_{graph_};
};

TEST_F(CanonicalSignaturesTest, NamesOfPlaceholdersCallsAndWrappersDoNotMatter) {
  EXPECT_NE(CanonicalKey({"x:0"}, {"call:0"}), "");
  EXPECT_EQ(CanonicalKey({"x:0"}, {"call:0"}), CanonicalKey({"other_x:0"}, {"same_call:0"}));
  EXPECT_EQ(CanonicalKey({"x:0"}, {"call:0"}), CanonicalKey({"x"}, {"call"}));
  EXPECT_EQ(CanonicalKey({"x:0"}, {"branches:0"}),
            CanonicalKey({"other_x:0"}, {"same_branches:0"}));
}

TEST_F(CanonicalSignaturesTest, WhatIsComputedMatters) {
  const std::string key = CanonicalKey({"x:0"}, {"call:0"});
  EXPECT_NE(key, CanonicalKey({"other_x:0"}, {"other_call:0"}));
  EXPECT_NE(key, CanonicalKey({"other_x:0"}, {"other_variable:0"}));
  EXPECT_NE(key, CanonicalKey({"int_x:0"}, {"int_call:0"}));
  EXPECT_NE(key, CanonicalKey({"x:0"}, {"call:1"}));
  EXPECT_NE(key, CanonicalKey({"x:0"}, {"call:0", "call:0"}));
  EXPECT_NE(key, CanonicalKey({"x:0"}, {}, {"call"}));
  EXPECT_NE(key, CanonicalKey({}, {"call:0"}));
  EXPECT_NE(CanonicalKey({"x:0"}, {"first:0"}), CanonicalKey({"x:0"}, {"second:0"}));
  EXPECT_NE(CanonicalKey({"x:0"}, {"after:0"}), CanonicalKey({"x:0"}, {"not_after:0"}));
}

void AddConst(const std::string& name, const std::string& bytes, tensorflow::GraphDef* graph) {
  tensorflow::NodeDef* const node = graph->add_node();
  node->set_name(name);
  node->set_op("Const");
  (*node->mutable_attr())["value"].mutable_tensor()->set_tensor_content(bytes);
}

TEST_F(CanonicalSignaturesTest, ContentsOfConstantsMatterAndLargeOnesAreNotInTheKey) {
  for (const size_t size : {size_t{10}, size_t{1} << 20}) {
    tensorflow::GraphDef graph;
    const std::string bytes(size, 'a');
    std::string others = bytes;
    others.back() = 'b';
    AddConst("first", bytes, &graph);
    AddConst("second", bytes, &graph);
    AddConst("third", others, &graph);
    CanonicalSignatures signatures(graph);
    const std::string key = signatures.CanonicalKey({.fetches = {"first:0"}});
    EXPECT_LT(key.size(), 200);
    EXPECT_EQ(key, signatures.CanonicalKey({.fetches = {"first:0"}}));
    EXPECT_EQ(key, signatures.CanonicalKey({.fetches = {"second:0"}}));
    EXPECT_NE(key, signatures.CanonicalKey({.fetches = {"third:0"}}));
  }
}

TEST_F(CanonicalSignaturesTest, FeedsAreToldApartByPosition) {
  EXPECT_EQ(CanonicalKey({"x:0", "other_x:0"}, {"ab:0"}),
            CanonicalKey({"other_x:0", "x:0"}, {"ba:0"}));
  EXPECT_NE(CanonicalKey({"x:0", "other_x:0"}, {"ab:0"}),
            CanonicalKey({"x:0", "other_x:0"}, {"ba:0"}));
}

TEST_F(CanonicalSignaturesTest, WhatCannotRunHasNoKey) {
  EXPECT_EQ(CanonicalKey({"nowhere:0"}, {"call:0"}), "");
  EXPECT_EQ(CanonicalKey({"x:0"}, {"nowhere:0"}), "");
  EXPECT_EQ(CanonicalKey({"x:0"}, {"broken:0"}), "");
  EXPECT_EQ(CanonicalKey({"x:0", "x"}, {"call:0"}), "");
}

}  // namespace
}  // namespace tessera
