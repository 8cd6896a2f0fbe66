#include "runtime/kernels/parsing/proto_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;

class ProtoFieldScannerTest : public testing::Test {
 protected:
  void SetUp() override {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(name: "t.proto" message_type {
             name: "T"
             field { name: "single" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL
                     default_value: "7" }
             field { name: "many" number: 2 type: TYPE_SINT32 label: LABEL_REPEATED }
             field { name: "group" number: 3 type: TYPE_GROUP label: LABEL_REPEATED
                     type_name: ".T.Group" }
             field { name: "real" number: 4 type: TYPE_FLOAT label: LABEL_REPEATED }
             nested_type { name: "Group" }
           })",
        &file));
    const auto* built = pool_.BuildFile(file);
    ASSERT_NE(built, nullptr);
    for (int i = 0; i < 4; ++i) fields_.push_back(built->message_type(0)->field(i));
  }

  absl::Status Scan(const std::string& message) {
    values_.assign(fields_.size(), {});
    return ProtoFieldScanner(fields_).Scan(message, absl::MakeSpan(values_));
  }

  google::protobuf::DescriptorPool pool_;
  std::vector<const FieldDescriptor*> fields_;
  std::vector<ProtoFieldValues> values_;
};

TEST_F(ProtoFieldScannerTest, AGroupHasItsTags) {
  const std::string group = "\x1b\x08\x05\x1c";
  const std::string message = group + group;
  ASSERT_TRUE(Scan(message).ok());
  EXPECT_EQ(values_[2].texts, (std::vector<absl::string_view>{group, group}));
  EXPECT_EQ(Scan("\x1b\x08\x05").message(), "ReadValue: Failed skipping field when counting");
  EXPECT_EQ(Scan(std::string("\x1a\x00", 2)).message(), "TYPE_GROUP encountered as packed");
}

TEST_F(ProtoFieldScannerTest, GroupsNestAsDeepAsMessagesMay) {
  EXPECT_TRUE(Scan(std::string(90, '\x1b') + std::string(90, '\x1c')).ok());
  EXPECT_EQ(Scan(std::string(100'000, '\x1b') + std::string(100'000, '\x1c')).code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(ProtoFieldScannerTest, APackedValueOfASingleFieldIsItsDefault) {
  ASSERT_TRUE(Scan("\x0a\x01\x04").ok());
  EXPECT_EQ(values_[0].numbers, std::vector<uint64_t>{7});
  ASSERT_TRUE(Scan("\x0a\x01\x04\x08\x05").ok());
  EXPECT_EQ(values_[0].numbers.back(), 5);
  EXPECT_EQ(Scan("\x08\x05\x0a\x01\x04").code(), absl::StatusCode::kDataLoss);
}

TEST_F(ProtoFieldScannerTest, PackedAndSingleValuesOfARepeatedFieldFollowEachOther) {
  ASSERT_TRUE(Scan("\x10\x01\x12\x02\x03\x04\x10\x06").ok());
  EXPECT_EQ(values_[1].numbers, (std::vector<uint64_t>{~uint64_t{0}, ~uint64_t{1}, 2, 3}));
}

TEST_F(ProtoFieldScannerTest, ALengthThatIsNotThereIsAnError) {
  EXPECT_EQ(Scan("\x12").message(), "CollectField: Failed reading packed size");
  EXPECT_EQ(Scan("\x12\xff\xff\xff\xff\x0f").message(),
            "ReadPackedValues: Skipping packed field failed");
  EXPECT_EQ(Scan("\x22\x05....").message(), "ReadPackedValues: Skipping packed field failed");
  EXPECT_EQ(Scan("\x22\x05.....").message(), "Illegal data length for packed fixed-size type: 5");
  EXPECT_EQ(Scan("\x12\x02\x01\x80").message(), "Corrupt packed varint");
  EXPECT_EQ(Scan("\x2a\xff\xff\xff\xff\x0f").message(), "Failed skipping unrequested field");
}

TEST_F(ProtoFieldScannerTest, AFieldOfAnotherWireTypeIsPassedOver) {
  ASSERT_TRUE(Scan(std::string("\x0d\x01\x00\x00\x00\x20\x09", 7)).ok());
  for (const ProtoFieldValues& values : values_) {
    EXPECT_TRUE(values.numbers.empty());
    EXPECT_TRUE(values.texts.empty());
  }
}

}  // namespace
}  // namespace tessera
