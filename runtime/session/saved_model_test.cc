#include "runtime/session/saved_model.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::HasSubstr;

constexpr char kHalfPlusTwo[] = "tests/data/tfserving/half_plus_two/00000123";

// Models in a folder of the test's own, to be damaged.
class SavedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/saved_model_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(directory_); }

  void CopyHere(const std::string& model) {
    fs::copy(model, directory_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add);
    }
  }
  std::string File(const std::string& name) const { return directory_ + "/" + name; }

  absl::Status LoadStatus(const std::set<std::string>& tags = {"serve"}) {
    return LoadSavedModel(directory_, tags, SessionOptions()).status();
  }

  // Rewrites the meta graph.
  void Edit(const std::function<void(tensorflow::MetaGraphDef*)>& change) {
    std::unique_ptr<tensorflow::SavedModel> model = *ReadSavedModel(directory_);
    change(model->mutable_meta_graphs(0));
    Write("saved_model.pb", model->SerializeAsString());
  }
  void Write(const std::string& name, const std::string& contents) {
    fs::create_directories(fs::path(File(name)).parent_path());
    fs::remove(File(name));
    std::ofstream(File(name), std::ios::binary) << contents;
  }

  std::string directory_;
};

float HalfPlusTwo(const SavedModelBundle& bundle, float x) {
  const Signature& signature = bundle.signatures.at("serving_default");
  std::vector<Tensor> outputs;
  const absl::Status status =
      bundle.session->Run({{signature.inputs.at("x").tensor_name, Tensor::Vector<float>({x})}},
                          {signature.outputs.at("y").tensor_name}, {}, &outputs);
  EXPECT_TRUE(status.ok()) << status;
  return status.ok() ? outputs[0].flat<float>()[0] : 0;
}

TEST_F(SavedModelTest, RestoresVariablesAndKeepsSignatures) {
  absl::StatusOr<SavedModelBundle> bundle = LoadSavedModel(kHalfPlusTwo, {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(HalfPlusTwo(*bundle, 3), 3.5f);
  const Signature& signature = bundle->signatures.at("serving_default");
  EXPECT_EQ(signature.method_name, "tensorflow/serving/predict");
  EXPECT_EQ(signature.inputs.at("x").dtype, DType::kFloat);
  EXPECT_FALSE(bundle->meta_graph->has_graph_def());
  EXPECT_GT(bundle->meta_graph->signature_def_size(), 0);
}

TEST_F(SavedModelTest, SignaturesThatDoTheSameAreOneRun) {
  absl::StatusOr<SavedModelBundle> bundle =
      LoadSavedModel("tests/data/models/digits_cnn/1", {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const Signature& first = bundle->signatures.at("serve");
  const Signature& second = bundle->signatures.at("serving_default");
  EXPECT_EQ(first.inputs.at("pixels").run_name, "serve_pixels:0");
  EXPECT_EQ(second.inputs.at("pixels").run_name, "serve_pixels:0");
  EXPECT_EQ(second.inputs.at("pixels").tensor_name, "serving_default_pixels:0");
  EXPECT_EQ(second.outputs.at("output_0").run_name, first.outputs.at("output_0").tensor_name);
  EXPECT_NE(second.outputs.at("output_0").tensor_name, first.outputs.at("output_0").tensor_name);
}

TEST_F(SavedModelTest, SignaturesThatDoOtherThingsStayApart) {
  absl::StatusOr<SavedModelBundle> bundle =
      LoadSavedModel("tests/data/models/stateful_counter/1", {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  ASSERT_EQ(bundle->signatures.size(), 4);
  for (const auto& [name, signature] : bundle->signatures) {
    for (const auto& [alias, tensor] : signature.outputs) {
      EXPECT_EQ(tensor.run_name, tensor.tensor_name) << name;
    }
  }
}

TEST_F(SavedModelTest, TextFormIsReadToo) {
  CopyHere(kHalfPlusTwo);
  std::string text;
  ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(**ReadSavedModel(directory_), &text));
  Write("saved_model.pbtxt", text);
  fs::remove(File("saved_model.pb"));
  absl::StatusOr<SavedModelBundle> bundle = LoadSavedModel(directory_, {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(HalfPlusTwo(*bundle, 5), 4.5f);
}

TEST_F(SavedModelTest, DamagedTextIsDataLossWithTheLine) {
  Write("saved_model.pbtxt", "meta_graphs {\n  graph: 1 }");
  absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("saved_model.pbtxt"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("line 2: "));

  // The parser works by recursion.
  std::string text = "meta_graphs { graph_def { node { attr { key: 'a' value ";
  for (int i = 0; i < 200'000; ++i) text += "{ func { attr { key: 'a' value ";
  Write("saved_model.pbtxt", text);
  status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("too deep"));
}

TEST_F(SavedModelTest, FolderOfVersionsIsNotFoundAndNamesThem) {
  fs::create_directories(File("7"));
  EXPECT_EQ(HintAtVersions(directory_), "");
  Write("7/saved_model.pb", "");
  Write("12/saved_model.pbtxt", "");
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("; name one of its versions: '12', '7'"));
}

TEST_F(SavedModelTest, RestoredWeightsAliasTheMappedFile) {
  absl::StatusOr<SavedModelBundle> bundle = LoadSavedModel(kHalfPlusTwo, {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  int variables = 0;
  bundle->session->resources().ForEach(
      [&](const std::string&, const std::string&, const std::string&, Resource& resource) {
        const auto* variable = dynamic_cast<const Variable*>(&resource);
        if (variable == nullptr || !variable->initialized()) return;
        ++variables;
        EXPECT_FALSE(variable->Read().buffer()->writable()) << variable->DebugString();
      });
  EXPECT_GE(variables, 2);
}

TEST_F(SavedModelTest, EmptyDirectoryIsNotFound) {
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory_));
}

TEST_F(SavedModelTest, SessionBundleIsUnimplemented) {
  Write("export.meta", "");
  EXPECT_EQ(LoadStatus().code(), StatusCode::kUnimplemented);
}

TEST_F(SavedModelTest, OtherTagsAreNotFoundAndThoseThereListed) {
  CopyHere(kHalfPlusTwo);
  const absl::Status status = LoadStatus({"serve", "gpu"});
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{ gpu, serve }"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("{ serve }"));
}

TEST_F(SavedModelTest, TruncatedGraphIsDataLoss) {
  CopyHere(kHalfPlusTwo);
  fs::resize_file(File("saved_model.pb"), fs::file_size(File("saved_model.pb")) - 7);
  EXPECT_EQ(LoadStatus().code(), StatusCode::kDataLoss);
}

TEST_F(SavedModelTest, TruncatedVariablesAreDataLoss) {
  CopyHere(kHalfPlusTwo);
  const std::string data = File("variables/variables.data-00000-of-00001");
  fs::resize_file(data, fs::file_size(data) - 1);
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("variables.data-00000-of-00001"));
}

TEST_F(SavedModelTest, DamagedVariableIsDataLossThatNamesIt) {
  CopyHere(kHalfPlusTwo);
  const std::string data = File("variables/variables.data-00000-of-00001");
  std::string bytes = *ReadFile(data);
  bytes[0] ^= 1;
  Write("variables/variables.data-00000-of-00001", bytes);
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'a'"));
}

TEST_F(SavedModelTest, MissingVariableIsNotFoundAndNamed) {
  CopyHere(kHalfPlusTwo);
  fs::remove_all(File("variables"));
  CheckpointWriter writer = *CheckpointWriter::Create(File("variables/variables"));
  ASSERT_TRUE(writer.Add("a", Tensor::Scalar<float>(0.5f)).ok());
  ASSERT_TRUE(writer.Add("c", Tensor::Scalar<float>(3.0f)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'b'"));
}

TEST_F(SavedModelTest, MissingShardIsAnError) {
  CopyHere(kHalfPlusTwo);
  fs::remove(File("variables/variables.data-00000-of-00001"));
  EXPECT_FALSE(LoadStatus().ok());
}

TEST_F(SavedModelTest, DataWithoutAnIndexIsNotFound) {
  CopyHere(kHalfPlusTwo);
  fs::remove(File("variables/variables.index"));
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the checkpoint has data but no index"));
}

TEST_F(SavedModelTest, OtherFilesBesideVariablesAreNoCheckpoint) {
  CopyHere(kHalfPlusTwo);
  fs::remove_all(File("variables"));
  Write("variables/.gitkeep", "");
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    (*meta_graph->mutable_collection_def())["saved_model_main_op"].mutable_node_list()->add_value(
        "init");
  });
  absl::StatusOr<SavedModelBundle> bundle = LoadSavedModel(directory_, {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(HalfPlusTwo(*bundle, 1), 2.5f);
}

TEST_F(SavedModelTest, OpsOfSignaturesWithoutKernelsAreListedInOneMessage) {
  CopyHere(kHalfPlusTwo);
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    for (const char* name : {"first", "second"}) {
      tensorflow::NodeDef* const node = meta_graph->mutable_graph_def()->add_node();
      node->set_name(name);
      node->set_op(std::string("Custom_") + name);
      tensorflow::SignatureDef& signature = (*meta_graph->mutable_signature_def())[name];
      (*signature.mutable_outputs())["y"].set_name(std::string(name) + ":0");
    }
  });
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("2 ops have no kernel"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Custom_first (node 'first')"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Custom_second (node 'second')"));
}

TEST_F(SavedModelTest, DTypesThatOpsDoNotHaveAreListedWithOpsThatAreUnknown) {
  CopyHere(kHalfPlusTwo);
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    tensorflow::GraphDef* const graph = meta_graph->mutable_graph_def();
    // Of dtypes that their declarations do not allow: Tan in the graph, Sigmoid in a function.
    tensorflow::NodeDef* const tan = graph->add_node();
    tan->set_name("tan");
    tan->set_op("Tan");
    tan->add_input("source");
    (*tan->mutable_attr())["T"].set_type(tensorflow::DT_UINT32);
    tensorflow::NodeDef* const source = graph->add_node();
    source->set_name("source");
    source->set_op("Placeholder");
    (*source->mutable_attr())["dtype"].set_type(tensorflow::DT_UINT32);
    tensorflow::FunctionDef* const function = graph->mutable_library()->add_function();
    function->mutable_signature()->set_name("f");
    tensorflow::OpDef::ArgDef* const argument = function->mutable_signature()->add_input_arg();
    argument->set_name("x");
    argument->set_type(tensorflow::DT_UINT32);
    tensorflow::OpDef::ArgDef* const result = function->mutable_signature()->add_output_arg();
    result->set_name("y");
    result->set_type(tensorflow::DT_UINT32);
    tensorflow::NodeDef* const sigmoid = function->add_node_def();
    sigmoid->set_name("inner");
    sigmoid->set_op("Sigmoid");
    sigmoid->add_input("x");
    (*sigmoid->mutable_attr())["T"].set_type(tensorflow::DT_UINT32);
    (*function->mutable_ret())["y"] = "inner:y:0";
    tensorflow::NodeDef* const call = graph->add_node();
    call->set_name("call");
    call->set_op("PartitionedCall");
    call->add_input("tan");
    (*call->mutable_attr())["f"].mutable_func()->set_name("f");
    for (const char* const types : {"Tin", "Tout"}) {
      (*call->mutable_attr())[types].mutable_list()->add_type(tensorflow::DT_UINT32);
    }
    tensorflow::NodeDef* const custom = graph->add_node();
    custom->set_name("custom");
    custom->set_op("Custom");
    custom->add_input("call");
    tensorflow::SignatureDef& signature = (*meta_graph->mutable_signature_def())["odd"];
    (*signature.mutable_inputs())["x"].set_name("source:0");
    (*signature.mutable_outputs())["y"].set_name("custom:0");
  });
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("3 ops have no kernel: Custom (node 'custom'), Sigmoid (node 'call/inner': "
                        "op Sigmoid: attribute 'T' is uint32, allowed are: "));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Tan (node 'tan': op Tan: attribute 'T' is uint32, allowed are: "));
}

TEST_F(SavedModelTest, ACallOfAFunctionThatIsNotThereIsAnError) {
  CopyHere(kHalfPlusTwo);
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    tensorflow::GraphDef* const graph = meta_graph->mutable_graph_def();
    graph->clear_library();
    tensorflow::NodeDef* const call = graph->add_node();
    call->set_name("call");
    call->set_op("PartitionedCall");
    call->add_input("x");
    (*call->mutable_attr())["f"].mutable_func()->set_name("gone");
    for (const char* const types : {"Tin", "Tout"}) {
      (*call->mutable_attr())[types].mutable_list()->add_type(tensorflow::DT_FLOAT);
    }
    (*(*meta_graph->mutable_signature_def())["odd"].mutable_outputs())["y"].set_name("call:0");
  });
  SessionOptions options;
  options.freeze_variables = true;
  const absl::Status status = LoadSavedModel(directory_, {"serve"}, options).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'call' calls the function 'gone'"));
}

TEST_F(SavedModelTest, OpsWithoutKernelsBehindOthersAreListedToo) {
  CopyHere(kHalfPlusTwo);
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    for (tensorflow::NodeDef& node : *meta_graph->mutable_graph_def()->mutable_node()) {
      if (node.name() == "Mul") node.set_op("Inner");
      if (node.name() == "y") node.set_op("Outer");  // which signatures fetch
    }
  });
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("2 ops have no kernel: Inner (node 'Mul'), Outer (node 'y')"));
}

TEST_F(SavedModelTest, OpsThatNoSignatureNeedsMayBeUnknown) {
  CopyHere(kHalfPlusTwo);
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    tensorflow::NodeDef* const node = meta_graph->mutable_graph_def()->add_node();
    node->set_name("unused");
    node->set_op("SomeTrainingOp");
  });
  absl::StatusOr<SavedModelBundle> bundle = LoadSavedModel(directory_, {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(HalfPlusTwo(*bundle, 1), 2.5f);
}

TEST_F(SavedModelTest, VariablesWithoutFilesAreNotFoundAndNamed) {
  CopyHere(kHalfPlusTwo);
  fs::remove_all(File("variables"));
  const absl::Status status = LoadStatus();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("variables/variables.index is not there, and without it there is no value "
                        "for the variables 'a', 'b', 'c'; was the model copied whole?"));
}

TEST_F(SavedModelTest, VariablesWithoutFilesMayBeInitialised) {
  CopyHere(kHalfPlusTwo);
  fs::remove_all(File("variables"));
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    (*meta_graph->mutable_collection_def())["saved_model_main_op"].mutable_node_list()->add_value(
        "init");
  });
  absl::StatusOr<SavedModelBundle> bundle = LoadSavedModel(directory_, {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(HalfPlusTwo(*bundle, 1), 2.5f);
}

TEST_F(SavedModelTest, VariablesWithoutFilesThatNoSignatureUsesNeedNoValue) {
  CopyHere(kHalfPlusTwo);
  fs::remove_all(File("variables"));
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    auto& signatures = *meta_graph->mutable_signature_def();
    const std::string x = signatures["serving_default"].inputs().at("x").name();
    signatures.clear();
    tensorflow::SignatureDef& passed = signatures["passed"];
    (*passed.mutable_inputs())["x"].set_name(x);
    (*passed.mutable_outputs())["y"].set_name(x);
  });
  EXPECT_EQ(LoadStatus(), absl::OkStatus());
}

TEST_F(SavedModelTest, DefaultsOfInputsAreKept) {
  CopyHere(kHalfPlusTwo);
  Edit([](tensorflow::MetaGraphDef* meta_graph) {
    tensorflow::TensorProto& value =
        (*(*meta_graph->mutable_signature_def())["serving_default"].mutable_defaults())["x"];
    value.set_dtype(tensorflow::DT_FLOAT);
    value.mutable_tensor_shape()->add_dim()->set_size(1);
    value.add_float_val(8);
  });
  absl::StatusOr<SavedModelBundle> bundle = LoadSavedModel(directory_, {"serve"}, {});
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->signatures.at("serving_default").defaults.at("x").flat<float>()[0], 8);
}

}  // namespace
}  // namespace tessera
