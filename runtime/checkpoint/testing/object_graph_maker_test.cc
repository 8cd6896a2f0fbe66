#include "runtime/checkpoint/testing/object_graph_maker.h"

#include "gtest/gtest.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"

namespace tessera {
namespace {

TEST(ObjectGraphMakerTest, ObjectsAreATree) {
  const auto text = MakeObjectGraph(
      {{"m/a/.ATTRIBUTES/VARIABLE_VALUE", "a"}, {"m/x.Sy..z/.ATTRIBUTES/VARIABLE_VALUE", "xyz"}});
  ASSERT_TRUE(text.ok()) << text.status();
  tensorflow::TrackableObjectGraph graph;
  ASSERT_TRUE(graph.ParseFromString(*text));
  ASSERT_EQ(graph.nodes_size(), 4);
  EXPECT_EQ(graph.nodes(0).children(0).local_name(), "m");
  ASSERT_EQ(graph.nodes(1).children_size(), 2);
  EXPECT_EQ(graph.nodes(1).children(1).local_name(), "x/y.z");
  EXPECT_EQ(graph.nodes(2).attributes(0).checkpoint_key(), "m/a/.ATTRIBUTES/VARIABLE_VALUE");
  EXPECT_EQ(MakeObjectGraph({{"m/a", "a"}}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
