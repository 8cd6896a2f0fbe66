// Steps that write a checkpoint and read it again.
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

class CheckpointStepsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/steps_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Runs a graph of these nodes, which may use the scalars `path` and `part_path`, the vectors
  // `paths` ([part_path]), `names` and `slices`, the scalar `name`, and the values `one` and `two`.
  // Returns the elements of before:0 and after:0.
  absl::StatusOr<std::vector<float>> Run(const std::string& nodes) const {
    const auto session = Session::Create(SessionOptions());
    RETURN_IF_ERROR(session.status());
    tensorflow::GraphDef graph = GraphFromText(R"(
      path = Placeholder() {dtype: string}
      part_path = Placeholder() {dtype: string}
      paths = Placeholder() {dtype: string}
      names = Placeholder() {dtype: string}
      slices = Placeholder() {dtype: string}
      name = Placeholder() {dtype: string}
      one = Const() {dtype: float, value: float(1)}
      two = Const() {dtype: float, value: float(2)}
    )" + nodes);
    graph.mutable_versions()->set_producer(1000);
    RETURN_IF_ERROR((*session)->Extend(graph));
    const std::string path = JoinPath(directory_, "c"), part_path = JoinPath(directory_, "part");
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR((*session)->Run({{"path:0", Tensor::Scalar(path)},
                                     {"part_path:0", Tensor::Scalar(part_path)},
                                     {"paths:0", Tensor::Vector<std::string>({part_path})},
                                     {"names:0", Tensor::Vector<std::string>({"a"})},
                                     {"slices:0", Tensor::Vector<std::string>({""})},
                                     {"name:0", Tensor::Scalar(std::string("a"))}},
                                    {"before:0", "after:0"}, {}, &outputs));
    return std::vector<float>{outputs[0].scalar<float>(), outputs[1].scalar<float>()};
  }

  std::string directory_;
};

TEST_F(CheckpointStepsTest, RestoreV2ReadsWhatWasSavedLast) {
  const auto values = Run(R"(
    save = SaveV2(path, names, slices, one) {dtypes: [float]}
    before = RestoreV2(path, names, slices, ^save) {dtypes: [float]}
    save_again = SaveV2(path, names, slices, two, ^before) {dtypes: [float]}
    after = RestoreV2(path, names, slices, ^save_again) {dtypes: [float]}
  )");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(1, 2));
}

TEST_F(CheckpointStepsTest, RestoreV2ReadsWhatWasMergedLast) {
  const auto values = Run(R"(
    save = SaveV2(path, names, slices, one) {dtypes: [float]}
    before = RestoreV2(path, names, slices, ^save) {dtypes: [float]}
    save_part = SaveV2(part_path, names, slices, two) {dtypes: [float]}
    merge = MergeV2Checkpoints(paths, path, ^save_part, ^before)
    after = RestoreV2(path, names, slices, ^merge) {dtypes: [float]}
  )");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(1, 2));
}

TEST_F(CheckpointStepsTest, RestoreReadsWhatWasSavedLast) {
  const auto values = Run(R"(
    save = Save(path, names, one) {T: [float]}
    before = Restore(path, name, ^save) {dt: float}
    save_again = Save(path, names, two, ^before) {T: [float]}
    after = Restore(path, name, ^save_again) {dt: float}
  )");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(1, 2));
}

}  // namespace
}  // namespace tessera
