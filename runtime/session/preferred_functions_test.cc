#include "runtime/session/preferred_functions.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// A function of one argument that implements the API "draw".
std::string Function(const std::string& name, const std::string& attrs,
                     const std::string& type = "DT_FLOAT") {
  return absl::StrCat("function { signature { name: '", name,
                      "' input_arg { name: 'x' type: ", type,
                      " } output_arg { name: 'y' type: ", type,
                      " } } attr { key: 'api_implements' value { s: 'draw' } } ", attrs, " }");
}

std::string Attr(const std::string& name, const std::string& value) {
  return absl::StrCat("attr { key: '", name, "' value { s: '", value, "' } }");
}

// A graph whose node, and that of a function, call "general". Returns what these call afterwards.
std::pair<std::string, std::string> CalledAfter(const std::string& functions) {
  const std::string call =
      "{ name: 'c' op: 'PartitionedCall' attr { key: 'f' value { func { name: 'general' } } } }";
  tensorflow::GraphDef graph;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("node ", call, " library { function { signature { name: 'outer' } node_def ",
                   call, " } ", functions, " }"),
      &graph));
  CallPreferredFunctions(&graph);
  return {graph.node(0).attr().at("f").func().name(),
          graph.library().function(0).node_def(0).attr().at("f").func().name()};
}

const std::string& OnCpu() {
  static const auto* const attr = new std::string(Attr("api_preferred_device", "CPU"));
  return *attr;
}

TEST(PreferredFunctionsTest, CallsWhatCpusPrefer) {
  const auto [node, inner] =
      CalledAfter(absl::StrCat(Function("general", ""), Function("for_cpus", OnCpu())));
  EXPECT_EQ(node, "for_cpus");
  EXPECT_EQ(inner, "for_cpus");
}

TEST(PreferredFunctionsTest, KeepsCallsWhereNothingIsPreferred) {
  EXPECT_EQ(CalledAfter(Function("general", "")).first, "general");
  const std::string on_gpu = Attr("api_preferred_device", "GPU");
  EXPECT_EQ(CalledAfter(absl::StrCat(Function("general", ""), Function("for_gpus", on_gpu))).first,
            "general");
  EXPECT_EQ(
      CalledAfter(absl::StrCat(Function("general", OnCpu()), Function("other", OnCpu()))).first,
      "general");
}

TEST(PreferredFunctionsTest, KeepsFunctionsOfGradientsAndOfOtherTypes) {
  const std::string gradient = OnCpu() + Attr("backward_function_name", "back");
  EXPECT_EQ(CalledAfter(absl::StrCat(Function("general", ""), Function("f", gradient))).first,
            "general");
  EXPECT_EQ(
      CalledAfter(absl::StrCat(Function("general", ""), Function("f", OnCpu(), "DT_HALF"))).first,
      "general");
}

}  // namespace
}  // namespace tessera
