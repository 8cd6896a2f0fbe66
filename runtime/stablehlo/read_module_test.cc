#include "runtime/stablehlo/read_module.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/stablehlo/byte_cursor.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera::stablehlo {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The artifact in the one XlaCallModule of a recorded model.
std::string RecordedModule(const std::string& model) {
  tensorflow::SavedModel saved;
  const std::string path = "tests/data/stablehlo/" + model + "/1/saved_model.pb";
  CHECK(saved.ParseFromString(ReadFile(path).value()));
  for (const auto& function : saved.meta_graphs(0).graph_def().library().function()) {
    for (const auto& node : function.node_def()) {
      if (node.op() == "XlaCallModule") return node.attr().at("module").s();
    }
  }
  return "";
}

TEST(ByteCursorTest, ReadsIntegersOfEachLength) {
  // 1, 2 and 9 bytes: one low bit that is set ends the count of further bytes.
  const absl::string_view bytes("\x55\x02\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.Varint(), 42);
  EXPECT_EQ(cursor.Varint(), 64);
  EXPECT_EQ(cursor.Varint(), ~uint64_t{0});
  EXPECT_TRUE(cursor.AtEnd());
  EXPECT_FALSE(cursor.failed());
}

TEST(ByteCursorTest, ReadsSignedIntegers) {
  ByteCursor cursor(absl::string_view("\x03\x05\x01", 3));
  EXPECT_EQ(cursor.SignedVarint(), -1);
  EXPECT_EQ(cursor.SignedVarint(), 1);
  EXPECT_EQ(cursor.SignedVarint(), 0);
}

TEST(ByteCursorTest, FailsAtTheEndAndStaysThere) {
  ByteCursor cursor("ab");
  EXPECT_EQ(cursor.Bytes(3), "");
  EXPECT_TRUE(cursor.failed());
  EXPECT_EQ(cursor.Byte(), 0);
  EXPECT_EQ(cursor.Varint(), 0);
}

TEST(ByteCursorTest, CountsMoreElementsThanBytesAsFailure) {
  ByteCursor cursor(absl::string_view("\x09xyz", 4));  // 4 elements in 3 bytes
  EXPECT_EQ(cursor.Count(), 0);
  EXPECT_TRUE(cursor.failed());
}

TEST(ReadModuleTest, ReadsFunctionsWithTheirTypes) {
  const absl::StatusOr<Module> module = ReadModule(RecordedModule("mlp"));
  ASSERT_TRUE(module.ok()) << module.status();
  const Function* main = module->FindFunction("main");
  ASSERT_NE(main, nullptr);
  const Type& input = module->type(main->body.arguments.back());
  EXPECT_EQ(input.dtype, DType::kFloat);
  EXPECT_THAT(input.dimensions, ElementsAre(kDynamic, 16));
  EXPECT_FALSE(input.IsStatic());
  EXPECT_EQ(main->body.operations.back().name, "return");
}

TEST(ReadModuleTest, ReadsPropertiesByName) {
  const Module module = ReadModule(RecordedModule("cnn")).value();
  const Operation* convolution = nullptr;
  for (const Function& function : module.functions) {
    for (const Operation& op : function.body.operations) {
      if (op.name == "convolution" && convolution == nullptr) convolution = &op;
    }
  }
  ASSERT_NE(convolution, nullptr);
  const Tensor* strides = convolution->FindAttr<Tensor>("window_strides");
  ASSERT_NE(strides, nullptr);
  EXPECT_THAT(strides->flat<int64_t>(), ElementsAre(1, 1));
  ASSERT_NE(convolution->FindAttr<int64_t>("feature_group_count"), nullptr);
  EXPECT_EQ(*convolution->FindAttr<int64_t>("feature_group_count"), 1);
  EXPECT_EQ(convolution->FindAttr<int64_t>("no_such_attribute"), nullptr);
}

TEST(ReadModuleTest, RefusesWhatIsNoPortableArtifact) {
  EXPECT_EQ(ReadModule("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ReadModule("module @m {}").status().message()),
              HasSubstr("not MLIR bytecode"));
  std::string bytes = RecordedModule("mlp");
  bytes.replace(bytes.find("StableHLO_v"), 6, "OtherH");
  EXPECT_THAT(std::string(ReadModule(bytes).status().message()), HasSubstr("no portable artifact"));
}

TEST(ReadModuleTest, EndsInAStatusWhereverTheFileIsCut) {
  const std::string bytes = RecordedModule("mlp");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadModule(absl::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

TEST(ReadModuleTest, EndsWhicheverByteIsWrong) {
  const std::string bytes = RecordedModule("mlp");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    ReadModule(changed).IgnoreError();
  }
}

}  // namespace
}  // namespace tessera::stablehlo
