// Weights of other checkpoints on the graphs of SavedModels.
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = a * x + b, and as many with c and others, by a TensorFlow 1 Saver.
constexpr char kHalfPlusTwo[] = "tests/data/tfserving/half_plus_two/00000123";

class LoadWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/weights_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    prefix_ = directory_ + "/ckpt-1";
  }
  void TearDown() override { fs::remove_all(directory_); }

  static std::shared_ptr<const SavedModelGraph> Import(const std::string& model) {
    LoadStages stages;
    auto graph = ImportSavedModel(model, {"serve"}, &stages);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *graph;
  }
  void Write(const std::map<std::string, Tensor>& tensors) {
    auto writer = CheckpointWriter::Create(prefix_);
    for (const auto& [name, tensor] : tensors) ASSERT_TRUE(writer->Add(name, tensor).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  // Loads the checkpoint on the graph of half_plus_two, frozen as a server does.
  absl::StatusOr<SavedModelBundle> Load() {
    SessionOptions options;
    options.freeze_variables = true;
    return LoadWeights(Import(kHalfPlusTwo), prefix_, options);
  }
  absl::Status LoadStatus() { return Load().status(); }
  std::string Message(StatusCode code) {
    const absl::Status status = LoadStatus();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot load " + prefix_ + ": "));
    return std::string(status.message());
  }

  std::string directory_;
  std::string prefix_;
};

Tensor Answer(const SavedModelBundle& bundle, const Tensor& x) {
  const Signature& signature = bundle.signatures.at("serving_default");
  std::vector<Tensor> outputs;
  const absl::Status status =
      bundle.session->Run({{signature.inputs.begin()->second.tensor_name, x}},
                          {signature.outputs.begin()->second.tensor_name}, {}, &outputs);
  EXPECT_TRUE(status.ok()) << status;
  return status.ok() ? outputs[0] : Tensor();
}

TEST_F(LoadWeightsTest, SessionsOfOneGraphHaveWeightsOfTheirOwn) {
  const std::shared_ptr<const SavedModelGraph> graph = Import(kHalfPlusTwo);
  const auto own = LoadSavedModel(graph, {});
  ASSERT_TRUE(own.ok()) << own.status();
  Write({{"a", Tensor::Scalar(10.0f)},
         {"b", Tensor::Scalar(1.0f)},
         {"c", Tensor::Scalar(3.0f)},
         {"a/Momentum", Tensor::Scalar(7.0f)}});
  const auto pushed = LoadWeights(graph, prefix_, {});
  ASSERT_TRUE(pushed.ok()) << pushed.status();

  const Tensor x = Tensor::Vector<float>({1, 2});
  EXPECT_THAT(Answer(*own, x).flat<float>(), ElementsAre(2.5, 3));
  EXPECT_THAT(Answer(*pushed, x).flat<float>(), ElementsAre(11, 21));
  EXPECT_EQ(pushed->graph, own->graph);
  EXPECT_EQ(pushed->meta_graph, own->meta_graph);
  for (const auto& [stage, time] : pushed->stages) {
    EXPECT_TRUE(stage != "read" && stage != "import") << stage;
  }
}

TEST_F(LoadWeightsTest, TheFilesOfTheModelMayBeGone) {
  fs::copy(kHalfPlusTwo, directory_ + "/model", fs::copy_options::recursive);
  const auto graph = Import(directory_ + "/model");
  fs::remove_all(directory_ + "/model");
  Write({{"a", Tensor::Scalar(0.0f)}, {"b", Tensor::Scalar(4.0f)}, {"c", Tensor::Scalar(3.0f)}});
  const auto pushed = LoadWeights(graph, prefix_, {});
  ASSERT_TRUE(pushed.ok()) << pushed.status();
  EXPECT_THAT(Answer(*pushed, Tensor::Vector<float>({1})).flat<float>(), ElementsAre(4));
}

TEST_F(LoadWeightsTest, MessagesNameVariablesThatDoNotFit) {
  Write({{"a", Tensor::Vector<float>({1, 2})}, {"b", Tensor::Scalar(2.0)}});
  EXPECT_THAT(Message(StatusCode::kInvalidArgument),
              AllOf(HasSubstr("does not fit the graph of " + std::string(kHalfPlusTwo)),
                    HasSubstr("'a' has shape [2], the graph's is []"),
                    HasSubstr("'b' is double, the graph's is float"), HasSubstr("'c' is missing")));
}

TEST_F(LoadWeightsTest, TheCheckpointOfAnotherModel) {
  Write({{"dense/kernel", Tensor::Scalar(1.0f)}});
  EXPECT_THAT(Message(StatusCode::kInvalidArgument),
              AllOf(HasSubstr("checkpoint of another model"), HasSubstr("'dense/kernel'")));
}

TEST_F(LoadWeightsTest, DamagedCheckpoints) {
  Write({{"a", Tensor::Scalar(1.0f)}, {"b", Tensor::Scalar(1.0f)}, {"c", Tensor::Scalar(1.0f)}});
  ASSERT_TRUE(LoadStatus().ok());
  const std::string data = prefix_ + ".data-00000-of-00001";
  fs::resize_file(data, fs::file_size(data) / 2);
  EXPECT_THAT(Message(StatusCode::kDataLoss), HasSubstr(data));
  fs::remove(data);
  EXPECT_THAT(Message(StatusCode::kDataLoss), HasSubstr(data));
  fs::resize_file(prefix_ + ".index", 40);
  EXPECT_THAT(Message(StatusCode::kDataLoss), HasSubstr(prefix_ + ".index"));
  fs::remove(prefix_ + ".index");
  EXPECT_THAT(Message(StatusCode::kNotFound), HasSubstr(prefix_ + ".index"));
}

// The values that the variables of a session have, by name.
std::map<std::string, std::string> Values(const SavedModelBundle& bundle) {
  std::map<std::string, std::string> values;
  bundle.session->resources().ForEach([&](const std::string& container, const std::string& type,
                                          const std::string& name, Resource& resource) {
    if (auto* variable = dynamic_cast<Variable*>(&resource)) {
      values[container + "/" + type + "/" + name] = variable->Read().ToString(1 << 20);
    }
  });
  return values;
}

class LoadOwnWeightsTest : public ::testing::TestWithParam<std::string> {};

// By the way of other checkpoints, a model gets the values that its own restore op gives it.
TEST_P(LoadOwnWeightsTest, AreThoseOfTheRestoreOp) {
  const std::string model = "tests/data/models/" + GetParam() + "/1";
  LoadStages stages;
  const auto graph = ImportSavedModel(model, {"serve"}, &stages);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto own = LoadSavedModel(*graph, {});
  ASSERT_TRUE(own.ok()) << own.status();
  const auto weights = LoadWeights(*graph, VariablesPrefix(model), {});
  ASSERT_TRUE(weights.ok()) << weights.status();
  const std::map<std::string, std::string> expected = Values(*own), got = Values(*weights);
  EXPECT_FALSE(got.empty());
  for (const auto& [name, value] : got) {
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_EQ(value, expected.at(name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(, LoadOwnWeightsTest,
                         ::testing::Values("bert_tiny", "digits_cnn",
                                           "estimator_linear_regressor_v1", "keras_multi_io",
                                           "resnet50_narrow", "stateful_counter",
                                           "tf1_lstm_while_loop", "tf1_ref_counter", "tf1_ref_mlp",
                                           "tf_keras2_mnist_cnn", "timeseries_lstm_forecast",
                                           "two_tower_topk"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tessera
