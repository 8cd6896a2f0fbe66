#include "runtime/tensor/tensor_proto.h"

#include <complex>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/tensor/encoded_variant.h"
#include "runtime/tensor/resource_handle.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

tensorflow::TensorProto Parse(const std::string& text) {
  tensorflow::TensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

// The tensor as text, or the error.
std::string Read(const std::string& text) {
  const auto tensor = TensorFromProto(Parse(text));
  return tensor.ok() ? tensor->ToString() : tensor.status().ToString();
}

StatusCode ErrorOf(const std::string& text) { return TensorFromProto(Parse(text)).status().code(); }

TEST(TensorFromProtoTest, EachTypeHasItsField) {
  const std::string two = " tensor_shape { dim { size: 2 } } ";
  EXPECT_EQ(Read("dtype: DT_FLOAT float_val: [1.5, -2]" + two), "float[2] [1.5 -2]");
  EXPECT_EQ(Read("dtype: DT_DOUBLE double_val: [1.5, -2]" + two), "double[2] [1.5 -2]");
  EXPECT_EQ(Read("dtype: DT_INT32 int_val: [1, -2]" + two), "int32[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_UINT8 int_val: [1, 255]" + two), "uint8[2] [1 255]");
  EXPECT_EQ(Read("dtype: DT_INT8 int_val: [1, -2]" + two), "int8[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_INT16 int_val: [1, -2]" + two), "int16[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_UINT16 int_val: [1, 65535]" + two), "uint16[2] [1 65535]");
  EXPECT_EQ(Read("dtype: DT_QINT8 int_val: [1, -2]" + two), "qint8[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_QUINT8 int_val: [1, 255]" + two), "quint8[2] [1 255]");
  EXPECT_EQ(Read("dtype: DT_QINT16 int_val: [1, -2]" + two), "qint16[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_QUINT16 int_val: [1, 65535]" + two), "quint16[2] [1 65535]");
  EXPECT_EQ(Read("dtype: DT_QINT32 int_val: [1, -2]" + two), "qint32[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_INT4 int_val: [7, -8]" + two), "int4[2] [7 -8]");
  EXPECT_EQ(Read("dtype: DT_INT4 int_val: [15, 16]" + two), "int4[2] [-1 0]");
  EXPECT_EQ(Read("dtype: DT_UINT4 int_val: [15, 16]" + two), "uint4[2] [15 0]");
  EXPECT_EQ(Read("dtype: DT_INT2 int_val: [1, 2]" + two), "int2[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_INT64 int64_val: [1, -2]" + two), "int64[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_UINT32 uint32_val: [1, 4294967295]" + two), "uint32[2] [1 4294967295]");
  EXPECT_EQ(Read("dtype: DT_UINT64 uint64_val: [1, 2]" + two), "uint64[2] [1 2]");
  EXPECT_EQ(Read("dtype: DT_BOOL bool_val: [true, false]" + two), "bool[2] [true false]");
  EXPECT_EQ(Read("dtype: DT_HALF half_val: [15360, 49152]" + two), "half[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_BFLOAT16 half_val: [16256, 49152]" + two), "bfloat16[2] [1 -2]");
  EXPECT_EQ(Read("dtype: DT_FLOAT8_E5M2 float8_val: '\\x3c\\xc0'" + two),
            "float8_e5m2[2] [0x3c 0xc0]");
  EXPECT_EQ(Read("dtype: DT_COMPLEX64 scomplex_val: [1, 2, 3, 4]" + two),
            "complex64[2] [(1,2) (3,4)]");
  EXPECT_EQ(Read("dtype: DT_COMPLEX128 dcomplex_val: [1, 2, 3, 4]" + two),
            "complex128[2] [(1,2) (3,4)]");
  EXPECT_EQ(Read("dtype: DT_STRING string_val: ['a', 'b']" + two), "string[2] [\"a\" \"b\"]");
}

TEST(TensorFromProtoTest, LastValueFillsTheRest) {
  const std::string three = " tensor_shape { dim { size: 3 } } ";
  EXPECT_EQ(Read("dtype: DT_FLOAT float_val: [1, 2]" + three), "float[3] [1 2 2]");
  EXPECT_EQ(Read("dtype: DT_STRING string_val: 'a'" + three), "string[3] [\"a\" \"a\" \"a\"]");
  EXPECT_EQ(Read("dtype: DT_COMPLEX64 scomplex_val: [1, 2, 3]" + three),
            "complex64[3] [(1,2) (1,2) (1,2)]");
  EXPECT_EQ(Read("dtype: DT_HALF half_val: [15360]" + three), "half[3] [1 1 1]");
  EXPECT_EQ(Read("dtype: DT_FLOAT8_E5M2 float8_val: '\\x3c'" + three),
            "float8_e5m2[3] [0x3c 0x3c 0x3c]");
}

TEST(TensorFromProtoTest, NoValuesAreZerosAndSurplusIsIgnored) {
  const std::string two = " tensor_shape { dim { size: 2 } } ";
  EXPECT_EQ(Read("dtype: DT_FLOAT" + two), "float[2] [0 0]");
  EXPECT_EQ(Read("dtype: DT_BOOL" + two), "bool[2] [false false]");
  EXPECT_EQ(Read("dtype: DT_STRING" + two), "string[2] [\"\" \"\"]");
  EXPECT_EQ(Read("dtype: DT_INT4" + two), "int4[2] [0 0]");
  EXPECT_EQ(Read("dtype: DT_FLOAT float_val: [1, 2, 3]" + two), "float[2] [1 2]");
  EXPECT_EQ(Read("dtype: DT_INT32 int_val: [1] tensor_shape { dim { size: 0 } }"), "int32[0] []");
  EXPECT_EQ(Read("dtype: DT_FLOAT float_val: 3"), "float[] 3");
}

TEST(TensorFromProtoTest, ContentIsRawBytes) {
  const std::string two = " tensor_shape { dim { size: 2 } } ";
  EXPECT_EQ(Read("dtype: DT_INT16 tensor_content: '\\x01\\x00\\xff\\xff'" + two),
            "int16[2] [1 -1]");
  EXPECT_EQ(Read("dtype: DT_INT4 tensor_content: '\\x01\\xff'" + two), "int4[2] [1 -1]");
  // Of the bytes that are no bool, C++ may make anything; here they are true.
  EXPECT_EQ(Read("dtype: DT_BOOL tensor_content: '\\x02\\x00'" + two), "bool[2] [true false]");
  EXPECT_EQ(Read("dtype: DT_INT4 tensor_content: '\\x0f\\x18'" + two), "int4[2] [-1 -8]");
  // Content wins over fields.
  EXPECT_EQ(Read("dtype: DT_INT8 tensor_content: '\\x01\\x02' int_val: 9" + two), "int8[2] [1 2]");
}

TEST(TensorFromProtoTest, ContentOfStringsIsLengthsThenBytes) {
  const std::string two = " tensor_shape { dim { size: 2 } } ";
  EXPECT_EQ(Read("dtype: DT_STRING tensor_content: '\\x01\\x02abc'" + two),
            "string[2] [\"a\" \"bc\"]");
  EXPECT_EQ(ErrorOf("dtype: DT_STRING tensor_content: '\\x01\\x02ab'" + two),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf("dtype: DT_STRING tensor_content: '\\x01\\x02abcd'" + two),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf("dtype: DT_STRING tensor_content: '\\x80\\x80'" + two),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(
      ErrorOf("dtype: DT_STRING tensor_content: '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff"
              "\\xff\\xff\\xff'" +
              two),
      StatusCode::kInvalidArgument);
}

TEST(TensorFromProtoTest, ANoteOfAnUnknownRankCountsForNothing) {
  const auto scalar =
      TensorFromProto(Parse("dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 3.5"));
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(scalar->scalar<float>(), 3.5f);
  const auto vector = TensorFromProto(
      Parse("dtype: DT_FLOAT tensor_shape { unknown_rank: true dim { size: 2 } } float_val: 1"));
  ASSERT_TRUE(vector.ok());
  EXPECT_EQ(vector->shape(), Shape({2}));
}

TEST(TensorFromProtoTest, BadProtosAreErrors) {
  EXPECT_EQ(ErrorOf("float_val: 1"), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf("dtype: DT_FLOAT_REF float_val: 1"), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }"),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf("dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } "
                    "dim { size: 4 } }"),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf("dtype: DT_RESOURCE tensor_content: 'abc'"), StatusCode::kInvalidArgument);
  const absl::Status status =
      TensorFromProto(
          Parse("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'ab'"))
          .status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("2 bytes"));

  tensorflow::TensorProto unknown;
  unknown.set_dtype(static_cast<tensorflow::DataType>(257));  // 1 if cut to a byte
  EXPECT_EQ(TensorFromProto(unknown).status().code(), StatusCode::kInvalidArgument);
}

TEST(TensorFromProtoTest, AskingForTooMuchIsRefusedBeforeItIsTaken) {
  EXPECT_EQ(ErrorOf("dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } }"),
            StatusCode::kResourceExhausted);
  const auto proto = Parse("dtype: DT_FLOAT tensor_shape { dim { size: 100 } }");
  EXPECT_EQ(TensorFromProto(proto, 399).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(TensorFromProto(proto, 400).ok());
  // The shape asks for nearly two gigabytes, the content shows that it is not meant.
  EXPECT_EQ(ErrorOf("dtype: DT_STRING tensor_shape { dim { size: 60000000 } } tensor_content: 'a'"),
            StatusCode::kInvalidArgument);
}

TEST(TensorFromProtoTest, RepeatingALongValueCountsTowardsTheLimit) {
  auto proto = Parse("dtype: DT_STRING tensor_shape { dim { size: 11 } }");
  proto.add_string_val(std::string(1000, 's'));
  const int64_t elements = 11 * sizeof(std::string);
  EXPECT_EQ(TensorFromProto(proto, elements + 9999).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_TRUE(TensorFromProto(proto, elements + 10000).ok());
  // 32 MiB of elements, of a megabyte each.
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(1 << 20);
  proto.set_string_val(0, std::string(1 << 20, 's'));
  EXPECT_EQ(TensorFromProto(proto).status().code(), StatusCode::kResourceExhausted);

  auto handles = Parse("dtype: DT_RESOURCE tensor_shape { dim { size: 1048576 } }");
  handles.add_resource_handle_val()->set_name(std::string(1 << 20, 'n'));
  EXPECT_EQ(TensorFromProto(handles).status().code(), StatusCode::kResourceExhausted);
}

TEST(TensorFromProtoTest, ContentOfAMovedProtoIsKeptInPlace) {
  tensorflow::TensorProto proto;
  proto.set_dtype(tensorflow::DT_FLOAT);
  proto.mutable_tensor_shape()->add_dim()->set_size(5000);
  proto.mutable_tensor_content()->assign(20000, '\0');
  const void* bytes = proto.tensor_content().data();
  const Tensor t = *TensorFromProto(std::move(proto));
  EXPECT_EQ(t.raw(), bytes);
  EXPECT_TRUE(t.CanWriteInPlace());
  EXPECT_THAT(t.flat<float>(), Each(0));
}

TEST(TensorFromProtoTest, StringsOfAMovedProtoAreMoved) {
  tensorflow::TensorProto proto;
  proto.set_dtype(tensorflow::DT_STRING);
  proto.mutable_tensor_shape()->add_dim()->set_size(1);
  proto.add_string_val(std::string(100, 'x'));
  const void* bytes = proto.string_val(0).data();
  const Tensor t = *TensorFromProto(std::move(proto));
  EXPECT_EQ(t.flat<std::string>()[0].data(), bytes);
}

TEST(TensorFromProtoTest, MovedProtosReadLikeOthers) {
  for (const char* text : {"dtype: DT_FLOAT float_val: 3 tensor_shape { dim { size: 2 } }",
                           "dtype: DT_STRING string_val: 'x' tensor_shape { dim { size: 2 } }",
                           "dtype: DT_BOOL tensor_content: '\\x02'", "dtype: DT_FLOAT"}) {
    EXPECT_EQ(TensorFromProto(Parse(text))->ToString(), Read(text));
  }
}

// Every trivially copyable type, in both forms.
TEST(TensorToProtoTest, ComesBackTheSame) {
  for (int i = 1; i <= static_cast<int>(DType::kUint2); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!IsTriviallyCopyable(dtype)) continue;
    Tensor t = *Tensor::Zeros(dtype, {2, 3});
    // Patterns that are legal in each type: a byte of 1 in the lowest place of some elements.
    for (size_t e = 0; e < 6; e += 2) t.mutable_raw()[e * DTypeSize(dtype)] = 1;
    for (const auto form : {TensorProtoForm::kTypedFields, TensorProtoForm::kTensorContent}) {
      tensorflow::TensorProto proto;
      ASSERT_TRUE(TensorToProto(t, form, &proto).ok()) << DTypeName(dtype);
      EXPECT_EQ(proto.tensor_content().empty(), form == TensorProtoForm::kTypedFields);
      const auto back = TensorFromProto(proto);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(back->ToString(), t.ToString());
      EXPECT_EQ(absl::string_view(back->raw(), back->size_bytes()),
                absl::string_view(t.raw(), t.size_bytes()));
    }
  }
}

TEST(TensorToProtoTest, TypedFieldsListEveryElement) {
  tensorflow::TensorProto proto;
  ASSERT_TRUE(
      TensorToProto(Tensor::Vector<float>({1, 1, 1}), TensorProtoForm::kTypedFields, &proto).ok());
  EXPECT_EQ(proto.float_val_size(), 3);
  // The target is overwritten.
  ASSERT_TRUE(TensorToProto(Tensor::Vector<std::string>({"a", "b"}),
                            TensorProtoForm::kTensorContent, &proto)
                  .ok());
  EXPECT_EQ(proto.float_val_size(), 0);
  EXPECT_THAT(proto.string_val(), ElementsAre("a", "b"));
  EXPECT_EQ(proto.tensor_content(), "");
}

TEST(TensorToProtoTest, HandlesKeepTheirNames) {
  Tensor t = *Tensor::Allocate(DType::kResource, {});
  ResourceHandle& handle = t.scalar<ResourceHandle>();
  handle.device = "/cpu:0";
  handle.container = "localhost";
  handle.name = "w";
  handle.type_name = "variable";
  tensorflow::TensorProto proto;
  ASSERT_TRUE(TensorToProto(t, TensorProtoForm::kTypedFields, &proto).ok());
  const Tensor back = *TensorFromProto(proto);
  EXPECT_EQ(back.scalar<ResourceHandle>().name, "w");
  EXPECT_EQ(back.scalar<ResourceHandle>().type_name, "variable");
}

class Opaque : public VariantValue {
  std::string TypeName() const override { return "Opaque"; }
  std::string DebugString() const override { return "opaque"; }
};

TEST(TensorToProtoTest, VariantsTravelEncodedOrNotAtAll) {
  const auto t =
      TensorFromProto(Parse("dtype: DT_VARIANT variant_val { type_name: 'T' metadata: 'm' "
                            "tensors { dtype: DT_INT32 int_val: 5 } }"));
  ASSERT_TRUE(t.ok()) << t.status();
  const auto* value = t->scalar<Variant>().get<EncodedVariant>();
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->TypeName(), "T");
  EXPECT_EQ(value->tensors()[0].ToString(), "int32[] 5");
  tensorflow::TensorProto proto;
  ASSERT_TRUE(TensorToProto(*t, TensorProtoForm::kTypedFields, &proto).ok());
  EXPECT_EQ(proto.variant_val(0).metadata(), "m");
  EXPECT_EQ(proto.variant_val(0).tensors(0).int_val(0), 5);

  const Tensor opaque = Tensor::Scalar(Variant(std::make_shared<Opaque>()));
  EXPECT_EQ(TensorToProto(opaque, TensorProtoForm::kTypedFields, &proto).code(),
            StatusCode::kUnimplemented);
}

TEST(TensorFromProtoTest, TensorsInsideVariantsCountTowardsTheLimit) {
  const auto proto = Parse(
      "dtype: DT_VARIANT variant_val { type_name: 'T' "
      "tensors { dtype: DT_INT32 tensor_shape { dim { size: 1000 } } } }");
  EXPECT_TRUE(TensorFromProto(proto, 5000).ok());
  EXPECT_EQ(TensorFromProto(proto, 4000).status().code(), StatusCode::kResourceExhausted);

  auto two = proto;
  *two.add_variant_val() = proto.variant_val(0);
  two.mutable_tensor_shape()->add_dim()->set_size(2);
  EXPECT_TRUE(TensorFromProto(two, 9000).ok());
  EXPECT_EQ(TensorFromProto(two, 5000).status().code(), StatusCode::kResourceExhausted);
}

TEST(ShapeProtoTest, ShapesComeBackTheSame) {
  for (const PartialShape& shape :
       {PartialShape(), PartialShape(Shape()), PartialShape{-1, 3}, PartialShape{0}}) {
    tensorflow::TensorShapeProto proto;
    ShapeToProto(shape, &proto);
    EXPECT_EQ(*PartialShapeFromProto(proto), shape);
    EXPECT_EQ(ShapeFromProto(proto).ok(), shape.IsFullyDefined());
  }
}

TEST(ShapeProtoTest, BadShapesAreErrors) {
  tensorflow::TensorShapeProto proto;
  proto.add_dim()->set_size(-2);
  EXPECT_EQ(PartialShapeFromProto(proto).status().code(), StatusCode::kInvalidArgument);
  proto.Clear();
  for (int i = 0; i < 300; ++i) proto.add_dim()->set_size(1);
  EXPECT_EQ(PartialShapeFromProto(proto).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
