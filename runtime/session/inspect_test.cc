#include "runtime/session/inspect.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/framework/kernel.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHalfPlusTwo[] = "tests/data/tfserving/half_plus_two/00000123";

class NoKernel : public OpKernel {
 public:
  explicit NoKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext&) override { return absl::OkStatus(); }
};
REGISTER_KERNEL("InspectTestUndeclared", kCpu, NoKernel);

class InspectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/inspect_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(directory_); }

  // What is said of the GraphDef with this text.
  std::string OfGraph(const std::string& text) {
    const std::string path = directory_ + "/graph.pbtxt";
    std::ofstream(path) << text;
    return Inspect(path, {}).value();
  }

  std::string directory_;
};

TEST_F(InspectTest, SavedModelThatLoads) {
  EXPECT_THAT(Inspect(kHalfPlusTwo, {}).value(),
              HasSubstr("    every op has a kernel\n    loads\n"));
}

TEST_F(InspectTest, SavedModelThatDoesNotLoadIsDescribedWithTheError) {
  fs::copy(kHalfPlusTwo, directory_, fs::copy_options::recursive);
  fs::permissions(directory_ + "/variables", fs::perms::owner_all, fs::perm_options::add);
  fs::remove(directory_ + "/variables/variables.data-00000-of-00001");
  EXPECT_THAT(Inspect(directory_, {}).value(),
              AllOf(HasSubstr("signature serving_default"), HasSubstr("every op has a kernel"),
                    HasSubstr("\n    does not load: "), Not(HasSubstr("    loads\n"))));
}

TEST_F(InspectTest, NodesWhoseTypesNoKernelTakesAreListed) {
  EXPECT_THAT(OfGraph(R"pb(
                node {
                  name: "x"
                  op: "Placeholder"
                  attr {
                    key: "dtype"
                    value { type: DT_STRING }
                  }
                }
                node {
                  name: "i"
                  op: "Placeholder"
                  attr {
                    key: "dtype"
                    value { type: DT_INT32 }
                  }
                }
                node {
                  name: "good"
                  op: "UpperBound"
                  input: "i"
                  input: "i"
                  attr {
                    key: "T"
                    value { type: DT_INT32 }
                  }
                }
                node {
                  name: "bad"
                  op: "UpperBound"
                  input: "x"
                  input: "x"
                  attr {
                    key: "T"
                    value { type: DT_STRING }
                  }
                })pb"),
              AllOf(HasSubstr("1 op has no kernel"),
                    HasSubstr("      UpperBound x 1: bad (op UpperBound has no kernel for T=")));
}

TEST_F(InspectTest, OpWithoutDeclarationHasNoUsableKernel) {
  EXPECT_THAT(OfGraph(R"pb(node { name: "a" op: "InspectTestUndeclared" })pb"),
              AllOf(HasSubstr("1 op has no kernel"),
                    HasSubstr("      InspectTestUndeclared x 1: a (op InspectTestUndeclared has a "
                              "kernel but no declaration)")));
}

TEST_F(InspectTest, TypesThatAFunctionTakesFromItsCallerAreNoObstacle) {
  EXPECT_THAT(OfGraph(R"pb(
                library {
                  function {
                    signature {
                      name: "f"
                      attr { name: "T" type: "type" }
                    }
                    node_def {
                      name: "y"
                      op: "MatMul"
                      input: "x"
                      input: "x"
                      attr {
                        key: "T"
                        value { placeholder: "T" }
                      }
                    }
                  }
                })pb"),
              HasSubstr("every op has a kernel"));
}

}  // namespace
}  // namespace tessera
