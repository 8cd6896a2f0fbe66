// Runs the cases in corpus/, which `scripts/fuzz kernels` left: each has once ended the process,
// run into a sanitizer, or contradicted a shape function.
#include <iostream>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/host/host.h"
#include "tests/random_cases/run_case.h"

namespace tessera {
namespace {

TEST(KernelCorpusTest, EveryCaseIsSurvived) {
  const std::string folder = "tests/random_cases/corpus";
  const auto names = ListDirectory(folder);
  ASSERT_TRUE(names.ok()) << names.status();
  ASSERT_FALSE(names->empty());
  SessionOptions options;
  options.host =
      std::make_shared<Host>(Host::Options{.intra_op_threads = 1, .inter_op_threads = 1});
  options.default_timeout = absl::Seconds(2);
  for (const std::string& name : *names) {
    std::cout << name << std::endl;  // the last one, if the process ends
    const auto text = ReadFile(JoinPath(folder, name));
    ASSERT_TRUE(text.ok()) << text.status();
    tensorflow::GraphDef graph;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(*text, &graph));
    const CaseResult result = RunCase(graph, options);
    if (result.status.ok()) {
      EXPECT_EQ(FirstShapeContradiction(graph, result.outputs), "");
    }
  }
}

}  // namespace
}  // namespace tessera
