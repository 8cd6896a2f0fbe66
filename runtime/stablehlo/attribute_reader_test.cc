#include "runtime/stablehlo/attribute_reader.h"

#include "gtest/gtest.h"

namespace tessera::stablehlo {
namespace {

using absl::StatusCode;

// An integer of less than 128.
std::string Varint(int value) { return std::string(1, static_cast<char>(value << 1 | 1)); }

// A file with constants that repeat one float: of 4 elements the first two, of 2^48 the third.
class ConstantsTest : public ::testing::Test {
 protected:
  ConstantsTest() {
    for (const std::string& type : types_) Add(type, &bytecode_.types);
    for (const std::string& constant : constants_) Add(constant, &bytecode_.attributes);
  }

  const std::string types_[3] = {
      Varint(4),                                            // f32
      Varint(20) + Varint(1) + Varint(4 << 1) + Varint(0),  // tensor<4xf32>
      // tensor<2^48 x f32>: the extent takes nine bytes, and its lowest bit is the sign.
      Varint(20) + Varint(1) + std::string("\0\0\0\0\0\0\0\2\0", 9) + Varint(0)};
  const std::string constants_[3] = {Constant(1), Constant(1), Constant(2)};
  Bytecode bytecode_;

 private:
  static std::string Constant(int type) {
    return Varint(15) + Varint(type) + Varint(4) + std::string("\0\0\x80\x3f", 4);
  }
  static void Add(const std::string& bytes, std::vector<Bytecode::Entry>* entries) {
    entries->push_back({.dialect = "vhlo", .is_binary = true, .bytes = ByteCursor(bytes)});
  }
};

TEST_F(ConstantsTest, RepeatTheirElement) {
  AttributeReader reader(bytecode_);
  const AttributePtr attribute = reader.Attribute(0).value();
  const Tensor* tensor = attribute->get<Tensor>();
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape(), Shape({4}));
  for (float element : tensor->flat<float>()) EXPECT_EQ(element, 1.0F);
}

TEST_F(ConstantsTest, AreRefusedBeforeTheyAreAllocated) {
  AttributeReader reader(bytecode_);
  EXPECT_EQ(reader.Attribute(2).status().code(), StatusCode::kResourceExhausted);
}

TEST_F(ConstantsTest, ShareOneLimitAndCountOnce) {
  AttributeReader reader(bytecode_);
  ASSERT_TRUE(reader.Charge((int64_t{1} << 31) - 31).ok());
  EXPECT_TRUE(reader.Attribute(0).ok());
  EXPECT_TRUE(reader.Attribute(0).ok());
  EXPECT_EQ(reader.Attribute(1).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tessera::stablehlo
