#include "runtime/checkpoint/checkpoint_match.h"

#include <map>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string Graph(const std::string& text) {
  tensorflow::TrackableObjectGraph graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph));
  return graph.SerializeAsString();
}

// Writes a checkpoint, in which the tensor of each key has as many elements as the map says.
std::unique_ptr<CheckpointReader> Write(const std::map<std::string, int64_t>& tensors,
                                        const std::string& object_graph = "") {
  static int count = 0;
  const std::string prefix = ::testing::TempDir() + "/match_" + std::to_string(++count);
  auto writer = CheckpointWriter::Create(prefix);
  for (const auto& [key, size] : tensors) {
    EXPECT_TRUE(writer->Add(key, Tensor::Vector<float>(std::vector<float>(size))).ok());
  }
  if (!object_graph.empty()) {
    EXPECT_TRUE(writer->Add(kObjectGraphKey, Tensor::Scalar(object_graph)).ok());
  }
  EXPECT_TRUE(writer->Finish().ok());
  return *CheckpointReader::Open(prefix);
}

// Matches keys whose variables have one element each.
absl::StatusOr<absl::flat_hash_map<std::string, std::string>> Match(
    const std::vector<std::string>& keys, const std::string& object_graph,
    const CheckpointReader& checkpoint) {
  return MatchCheckpoint(keys, object_graph, checkpoint,
                         [](const std::string&, const CheckpointEntry& entry) -> std::string {
                           return entry.shape == Shape({1}) ? "" : "is too large";
                         });
}

std::string MessageOf(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

// Layers a and b with a kernel each, as a SavedModel of the layers has them.
std::string TwoLayers() {
  return Graph(R"pb(
    nodes {
      children { node_id: 1 local_name: "a" }
      children { node_id: 2 local_name: "b" }
    }
    nodes { children { node_id: 3 local_name: "kernel" } }
    nodes { children { node_id: 4 local_name: "kernel" } }
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "net/a/w" checkpoint_key: "a/k" } }
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "net/b/w" checkpoint_key: "b/k" } }
  )pb");
}
const std::vector<std::string> kTwoLayers = {"a/k", "b/k"};

// The same below `child` of a root, under keys that say nothing.
std::string TwoLayersBelow(const std::string& child) {
  return Graph(
      R"pb(
        nodes { children { node_id: 1 local_name: "optimizer" }
                children { node_id: 2 local_name: ")pb" +
      child +
      R"pb(" } }
           nodes {}
           nodes {
             children { node_id: 3 local_name: "a" }
             children { node_id: 4 local_name: "b" }
           }
           nodes { children { node_id: 6 local_name: "kernel" } }
           nodes { children { node_id: 5 local_name: "kernel" } }
           nodes { attributes { name: "VARIABLE_VALUE" full_name: "x/0" checkpoint_key: "v/0" } }
           nodes { attributes { name: "VARIABLE_VALUE" full_name: "x/1" checkpoint_key: "v/1" } }
      )pb");
}

TEST(CheckpointMatchTest, TheSameKeysComeFirst) {
  const auto found = Match(kTwoLayers, TwoLayers(), *Write({{"a/k", 1}, {"b/k", 1}, {"slot", 7}}));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("a/k"), "a/k");
  EXPECT_EQ(found->at("b/k"), "b/k");
}

TEST(CheckpointMatchTest, PlacesBelowAChildOfTheRoot) {
  for (const char* child : {"model", "network"}) {
    const auto found =
        Match(kTwoLayers, TwoLayers(), *Write({{"v/0", 1}, {"v/1", 1}}, TwoLayersBelow(child)));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->at("a/k"), "v/1");
    EXPECT_EQ(found->at("b/k"), "v/0");
  }
}

TEST(CheckpointMatchTest, SeveralObjectsThatFitAreRefusedUnlessOneIsTheModel) {
  const auto checkpoint = [](const std::string& first, const std::string& second) {
    return Write(
        {{"s", 1}, {"t", 1}},
        Graph("nodes { children { node_id: 1 local_name: '" + first +
              "' } children { node_id: 2 local_name: '" + second +
              R"pb(' } }
                   nodes { children { node_id: 3 local_name: "w" } }
                   nodes { children { node_id: 4 local_name: "w" } }
                   nodes { attributes { name: "VARIABLE_VALUE" checkpoint_key: "s" } }
                   nodes { attributes { name: "VARIABLE_VALUE" checkpoint_key: "t" } })pb"));
  };
  const std::string graph = Graph(R"pb(
    nodes { children { node_id: 1 local_name: "w" } }
    nodes { attributes { name: "VARIABLE_VALUE" checkpoint_key: "w/v" } })pb");
  EXPECT_THAT(MessageOf(Match({"w/v"}, graph, *checkpoint("student", "teacher")).status()),
              HasSubstr("several objects in it fit the graph: 'student', 'teacher'"));
  const auto found = Match({"w/v"}, graph, *checkpoint("ema", "model"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("w/v"), "t");
}

TEST(CheckpointMatchTest, FullNamesAcrossTheKindsOfCheckpoints) {
  // Objects into a graph of names.
  auto found = Match({"net/a/w"}, "", *Write({{"a/k", 1}, {"b/k", 1}}, TwoLayers()));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("net/a/w"), "a/k");
  // Names into a graph of objects.
  found = Match(kTwoLayers, TwoLayers(), *Write({{"net/a/w", 1}, {"net/b/w", 1}}));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("b/k"), "net/b/w");
  // Objects in other places.
  const std::string list = Graph(R"pb(
    nodes {
      children { node_id: 1 local_name: "0" }
      children { node_id: 2 local_name: "1" }
    }
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "net/b/w" checkpoint_key: "0" } }
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "net/a/w" checkpoint_key: "1" } })pb");
  found = Match(kTwoLayers, TwoLayers(), *Write({{"0", 1}, {"1", 1}}, list));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("a/k"), "1");
  EXPECT_EQ(found->at("b/k"), "0");
}

TEST(CheckpointMatchTest, AFullNameOfTwoVariablesMatchesNone) {
  const std::string twice = Graph(R"pb(
    nodes {}
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "w" checkpoint_key: "0" } }
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "w" checkpoint_key: "1" } })pb");
  EXPECT_THAT(MessageOf(Match({"w"}, "", *Write({{"0", 1}, {"1", 1}}, twice)).status()),
              HasSubstr("none of the graph's 1 variables is in it"));
}

TEST(CheckpointMatchTest, KeysByFullName) {
  const auto keys = KeysByFullName(TwoLayers());
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_THAT(*keys, UnorderedElementsAre(Pair("net/a/w", "a/k"), Pair("net/b/w", "b/k")));
  EXPECT_THAT(*KeysByFullName(Graph(R"pb(
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "w" checkpoint_key: "a" } }
    nodes { attributes { name: "VARIABLE_VALUE" full_name: "w" checkpoint_key: "b" } }
  )pb")),
              ElementsAre(Pair("w", "")));
  EXPECT_TRUE(KeysByFullName("")->empty());
  EXPECT_EQ(KeysByFullName("\xff").status().code(), absl::StatusCode::kDataLoss);
}

TEST(CheckpointMatchTest, MessagesNameWhatDoesNotFit) {
  EXPECT_THAT(MessageOf(Match({"a", "b", "c"}, "", *Write({{"a", 2}, {"c", 1}})).status()),
              AllOf(HasSubstr("2 of the graph's 3 variables do not fit: 'a' is too large; "
                              "'b' is missing"),
                    Not(HasSubstr("...")), Not(HasSubstr("'c'"))));
  EXPECT_THAT(MessageOf(Match(kTwoLayers, TwoLayers(), *Write({{"other", 1}})).status()),
              AllOf(HasSubstr("checkpoint of another model"), HasSubstr("'other'")));
}

TEST(CheckpointMatchTest, DamagedObjectGraphs) {
  const std::string lost_child = Graph("nodes { children { node_id: 7 local_name: 'a' } }");
  for (const std::string& damaged : {std::string("\x0a\xff"), lost_child}) {
    EXPECT_EQ(Match({"w"}, "", *Write({{"0", 1}}, damaged)).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace tessera
