#include "runtime/session/saved_model_writer.h"

#include <stdlib.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kHalfPlusTwo[] = "tests/data/tfserving/half_plus_two/00000123";

// y = x * w + b with a resource variable and a reference variable; "save" is taken.
constexpr char kGraph[] = R"pb(
  node {
    name: "save/x"
    op: "Placeholder"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape { unknown_rank: true } }
    }
  }
  node {
    name: "w"
    op: "VarHandleOp"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
    attr {
      key: "shared_name"
      value { s: "w" }
    }
  }
  node {
    name: "b"
    op: "VariableV2"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  node {
    name: "w/Read"
    op: "ReadVariableOp"
    input: "w"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "product"
    op: "Mul"
    input: "save/x"
    input: "w/Read"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "y"
    op: "AddV2"
    input: "product"
    input: "b"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  versions { producer: 1882 }
)pb";

class SavedModelWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/writer_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, &graph_));
    contents_.variables = {{"w", "dense/w"}, {"b", "dense/b"}};
    Signature& signature = contents_.signatures["serving_default"];
    signature.inputs["x"] = {"save/x:0", "", DType::kFloat, {}};
    signature.outputs["y"] = {"y:0", "", DType::kFloat, {}};
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return JoinPath(directory_, name); }
  static std::vector<SavedTensor> Values(float w, float b) {
    return {{"dense/w", Tensor::Scalar(w)}, {"dense/b", Tensor::Scalar(b)}};
  }
  absl::Status Write(const std::string& folder, absl::Span<const SavedTensor> values) const {
    auto meta = MakeMetaGraph(graph_, contents_);
    if (!meta.ok()) return meta.status();
    return WriteSavedModel(folder, *meta, contents_.assets, values);
  }
  static float Answer(const std::string& folder, float x) {
    const auto model = LoadSavedModel(folder, {"serve"}, {});
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return 0;
    const Signature& signature = model->signatures.at("serving_default");
    std::vector<Tensor> outputs;
    const absl::Status status =
        model->session->Run({{signature.inputs.at("x").tensor_name, Tensor::Vector<float>({x})}},
                            {signature.outputs.at("y").tensor_name}, {}, &outputs);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? outputs[0].flat<float>()[0] : 0;
  }

  std::string directory_;
  tensorflow::GraphDef graph_;
  MetaGraphContents contents_;
};

TEST_F(SavedModelWriterTest, WhatIsWrittenLoads) {
  ASSERT_TRUE(Write(Path("m/1"), Values(2, 0.5f)).ok());
  EXPECT_EQ(Answer(Path("m/1"), 3), 6.5f);
  EXPECT_THAT(*ListDirectory(Path("m/1")),
              ElementsAre("fingerprint.pb", "saved_model.pb", "variables"));
  const auto meta = ReadMetaGraph(Path("m/1"), {"serve"});
  ASSERT_TRUE(meta.ok()) << meta.status();
  EXPECT_EQ((*meta)->signature_def().at("serving_default").method_name(),
            "tensorflow/serving/predict");
  EXPECT_EQ((*meta)->saver_def().restore_op_name(), "save_1/restore_all");
}

TEST_F(SavedModelWriterTest, TheSaverOfTheGraphSaves) {
  ASSERT_TRUE(Write(Path("1"), Values(2, 0.5f)).ok());
  const auto model = LoadSavedModel(Path("1"), {"serve"}, {});
  ASSERT_TRUE(model.ok()) << model.status();
  const tensorflow::SaverDef& saver = model->meta_graph->saver_def();
  const absl::Status status =
      model->session->Run({{saver.filename_tensor_name(), Tensor::Scalar(Path("ckpt-1"))}}, {},
                          {NodeOf(saver.save_tensor_name())}, nullptr);
  ASSERT_TRUE(status.ok()) << status;
  const auto checkpoint = CheckpointReader::Open(Path("ckpt-1"));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT((*checkpoint)->TensorNames(), ElementsAre("dense/b", "dense/w"));
  EXPECT_EQ((*checkpoint)->Read("dense/w")->scalar<float>(), 2);
}

TEST_F(SavedModelWriterTest, AVersionIsNeverReplaced) {
  ASSERT_TRUE(Write(Path("1"), Values(2, 0.5f)).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Write(Path("1"), Values(3, 0.5f))));
  EXPECT_EQ(Answer(Path("1"), 3), 6.5f);
  EXPECT_THAT(*ListDirectory(directory_), ElementsAre("1"));
}

TEST_F(SavedModelWriterTest, WhatTheGraphDoesNotHaveIsNamed) {
  const auto message = [&](const MetaGraphContents& contents) {
    const absl::Status status = MakeMetaGraph(graph_, contents).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  MetaGraphContents contents = contents_;
  contents.variables[0].node = "v";
  EXPECT_THAT(message(contents), HasSubstr("no variable 'v'"));
  contents.variables[0].node = "product";
  EXPECT_THAT(message(contents), HasSubstr("'product' is no variable: its op is Mul"));
  contents.variables[0] = contents.variables[1];
  EXPECT_THAT(message(contents), HasSubstr("'dense/b'"));
  contents = contents_;
  contents.signatures["other"].outputs["z"].tensor_name = "z:0";
  EXPECT_THAT(message(contents), HasSubstr("signature 'other' names 'z:0'"));
  contents = contents_;
  contents.init_node = "init";
  EXPECT_THAT(message(contents), HasSubstr("the init op names 'init'"));
  contents = contents_;
  contents.assets = {{"a/words", "y:0"}, {"b/words", "y:0"}};
  EXPECT_THAT(message(contents), HasSubstr("two assets have the name 'words'"));
}

TEST_F(SavedModelWriterTest, AMissingAssetLeavesNothing) {
  contents_.assets = {{Path("words"), "y:0"}};
  EXPECT_TRUE(absl::IsNotFound(Write(Path("1"), Values(2, 0.5f))));
  EXPECT_THAT(*ListDirectory(directory_), IsEmpty());
}

TEST_F(SavedModelWriterTest, ACopyHasOtherWeightsAndTheSameFiles) {
  ASSERT_TRUE(Write(Path("m/1"), Values(2, 0.5f)).ok());
  const std::string words = "assets.extra/words";
  ASSERT_TRUE(CreateDirectories(Path("m/1/assets.extra")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("m/1/") + words, "a b").ok());
  ASSERT_TRUE(CopySavedModel(Path("m/1"), Path("m/2"), {{"dense/w", Tensor::Scalar(10.0f)}}).ok());
  EXPECT_EQ(Answer(Path("m/2"), 3), 30.5f);
  EXPECT_EQ(*ReadFile(Path("m/2/") + words), "a b");
  EXPECT_EQ(*ReadFile(Path("m/1/saved_model.pb")), *ReadFile(Path("m/2/saved_model.pb")));
  EXPECT_NE(*ReadFile(Path("m/1/fingerprint.pb")), *ReadFile(Path("m/2/fingerprint.pb")));
}

TEST_F(SavedModelWriterTest, ALinkUpwardsIsNotCopied) {
  ASSERT_TRUE(Write(Path("m/1"), Values(2, 0.5f)).ok());
  std::filesystem::create_directory_symlink(".", Path("m/1/self"));
  ASSERT_TRUE(CopySavedModel(Path("m/1"), Path("m/2"), {}).ok());
  EXPECT_THAT(*ListDirectory(Path("m/2")),
              ElementsAre("fingerprint.pb", "saved_model.pb", "variables"));
}

TEST_F(SavedModelWriterTest, ADirectoryThatCannotBeReadIsNamed) {
  ASSERT_TRUE(Write(Path("m"), Values(2, 0.5f)).ok());
  ASSERT_TRUE(CreateDirectories(Path("m/private")).ok());
  std::filesystem::permissions(Path("m/private"), std::filesystem::perms::none);
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  // The paths are relative because another user may not search the directories around them.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  constexpr uid_t kNobody = 65534;
  constexpr auto kInvalidUser = static_cast<uid_t>(-1);  // changes nothing
  if (::geteuid() == 0) ::setfsuid(kNobody);             // root may read every directory
  const bool is_root = ::setfsuid(kInvalidUser) == 0;
  const absl::Status status = is_root ? absl::OkStatus() : CopySavedModel("m", "copy", {});
  ::setfsuid(::geteuid());
  std::filesystem::current_path(before);
  if (is_root) GTEST_SKIP() << "root may read every directory";
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("m/private"));
  EXPECT_THAT(*ListDirectory(directory_), ElementsAre("m"));
}

TEST_F(SavedModelWriterTest, AVariableOfACopyMayHaveGrown) {
  const SavedTensor grown{"rows", Tensor::Vector<float>({1, 2, 3})};
  ASSERT_TRUE(CreateDirectories(Path("1/variables")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("1/saved_model.pb"), "").ok());
  auto writer = CheckpointWriter::Create(Path("1/variables/variables"));
  ASSERT_TRUE(writer->Add("rows", Tensor::Vector<float>({1})).ok());
  ASSERT_TRUE(writer->Finish().ok());
  ASSERT_TRUE(CopySavedModel(Path("1"), Path("2"), {grown}).ok());
  const auto reader = CheckpointReader::Open(Path("2/variables/variables"));
  EXPECT_EQ((*reader)->Find("rows")->shape, Shape({3}));
}

TEST_F(SavedModelWriterTest, WeightsThatDoNotFitACopyAreRefused) {
  const auto message = [&](const SavedTensor& variable) {
    const absl::Status status = CopySavedModel(kHalfPlusTwo, Path("1"), {variable});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({"a", Tensor::Vector<float>({1, 2})}),
              HasSubstr("float of shape [2], does not fit the SavedModel, which has float of "
                        "shape []"));
  EXPECT_THAT(message({"z", Tensor::Scalar(1.0f)}), HasSubstr("no such variable"));
  EXPECT_TRUE(absl::IsNotFound(CopySavedModel(Path("none"), Path("1"), {})));
  EXPECT_THAT(*ListDirectory(directory_), IsEmpty());
}

}  // namespace
}  // namespace tessera
