#include "serving/frontend/wire/wire_predict_response.h"

#include <grpcpp/support/slice.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/tensor/encoded_variant.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::serving {
namespace {

namespace tfs = tensorflow::serving;

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  return bytes;
}

// The bytes by the library. Of several outputs, in their order: its own is that of a hash map.
std::string ByLibrary(const std::string& model, int64_t version, const PredictResult& result,
                      TensorProtoForm form) {
  std::string bytes;
  for (const NamedOutput& output : result.outputs) {
    tfs::PredictResponse one;
    EXPECT_TRUE(
        TensorToProto(output.tensor, form, &(*one.mutable_outputs())[std::string(output.name)])
            .ok());
    bytes += one.SerializeAsString();
  }
  tfs::PredictResponse spec;
  spec.mutable_model_spec()->set_name(model);
  spec.mutable_model_spec()->mutable_version()->set_value(version);
  spec.mutable_model_spec()->set_signature_name(std::string(result.signature_name));
  return bytes + spec.SerializeAsString();
}

void ExpectAgreement(const std::string& model, int64_t version, const PredictResult& result) {
  for (const auto form : {TensorProtoForm::kTypedFields, TensorProtoForm::kTensorContent}) {
    const auto encoded = EncodePredictResponse(model, version, result, form);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    EXPECT_EQ(Bytes(*encoded), ByLibrary(model, version, result, form))
        << (result.outputs.empty() ? "" : result.outputs[0].tensor.ToString());
  }
}

TEST(EncodePredictResponseTest, WritesTheLibrarysBytesOfEveryType) {
  for (int i = 1; i <= static_cast<int>(DType::kUint2); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!IsTriviallyCopyable(dtype)) continue;
    Tensor tensor = *Tensor::Zeros(dtype, {2, 3});
    ExpectAgreement("m", 1, {.signature_name = "s", .outputs = {{"y", tensor}}});
    for (size_t e = 0; e < 6; e += 2) tensor.mutable_raw()[e * DTypeSize(dtype)] = 1;
    ExpectAgreement("m", 1, {.signature_name = "s", .outputs = {{"y", tensor}}});
    ExpectAgreement("m", 1, {.outputs = {{"y", *Tensor::Zeros(dtype, {})}}});
    ExpectAgreement("m", 1, {.outputs = {{"y", *Tensor::Zeros(dtype, {300, 0})}}});
  }
}

TEST(EncodePredictResponseTest, WritesNumbersOfEveryLength) {
  std::vector<int64_t> wide;
  std::vector<int32_t> narrow;
  std::vector<uint32_t> positive;
  for (int shift = 0; shift < 64; ++shift) {
    const int64_t value = int64_t{1} << shift;
    for (const int64_t v : {value, value - 1, -value}) {
      wide.push_back(v);
      narrow.push_back(static_cast<int32_t>(v));
      positive.push_back(static_cast<uint32_t>(v));
    }
  }
  ExpectAgreement("m", 1,
                  {.outputs = {{"a", Tensor::Vector<int64_t>(wide)},
                               {"b", Tensor::Vector<int32_t>(narrow)},
                               {"c", Tensor::Vector<uint32_t>(positive)}}});
  for (const int64_t version : wide) ExpectAgreement("m", version, {});
  const auto any_16 = Tensor::Vector<uint16_t>({0, 127, 128, 32767, 32768, 65535});
  for (const DType dtype : {DType::kHalf, DType::kBfloat16, DType::kInt16, DType::kUint16}) {
    ExpectAgreement("m", 1, {.outputs = {{"y", any_16.Bitcast(dtype, {6})}}});
  }
  const auto any_8 = Tensor::Vector<uint8_t>({0, 127, 128, 255});
  for (const DType dtype : {DType::kInt8, DType::kQint8, DType::kQuint8}) {
    ExpectAgreement("m", 1, {.outputs = {{"y", any_8.Bitcast(dtype, {4})}}});
  }
}

TEST(EncodePredictResponseTest, WritesWhatIsNoNumber) {
  ExpectAgreement("", 0, {});
  ExpectAgreement("m", 7, {.signature_name = "serving_default"});
  ExpectAgreement("m", 1, {.outputs = {{"", Tensor()}}});
  ExpectAgreement("m", 1,
                  {.outputs = {{"s", Tensor::Vector<std::string>({"", "a", std::string(300, 'b')})},
                               {"t", Tensor::Scalar("x")},
                               {"u", *Tensor::Zeros(DType::kString, {0})}}});
  ExpectAgreement("m", 1,
                  {.outputs = {{"v", Tensor::Scalar(Variant(std::make_shared<EncodedVariant>(
                                         "T", "m", std::vector<Tensor>())))}}});
}

class Opaque : public VariantValue {
  std::string TypeName() const override { return "Opaque"; }
  std::string DebugString() const override { return "opaque"; }
};

TEST(EncodePredictResponseTest, WhatCannotBeWrittenIsAnError) {
  const Tensor opaque = Tensor::Scalar(Variant(std::make_shared<Opaque>()));
  EXPECT_EQ(
      EncodePredictResponse("m", 1, {.outputs = {{"y", opaque}}}, TensorProtoForm::kTypedFields)
          .status()
          .code(),
      absl::StatusCode::kUnimplemented);
}

TEST(EncodePredictResponseTest, LargeTensorsAreNotCopied) {
  const Tensor large = *Tensor::Zeros(DType::kFloat, {2000});
  const Tensor small = Tensor::Vector<float>({1});
  const PredictResult result{.outputs = {{"a", small}, {"b", large}, {"c", small}, {"d", large}}};
  ExpectAgreement("m", 1, result);
  for (const auto form : {TensorProtoForm::kTypedFields, TensorProtoForm::kTensorContent}) {
    const auto encoded = EncodePredictResponse("m", 1, result, form);
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(encoded->Dump(&slices).ok());
    ASSERT_EQ(slices.size(), 5);
    for (const int i : {1, 3}) {
      EXPECT_EQ(static_cast<const void*>(slices[i].begin()), large.raw());
      EXPECT_EQ(slices[i].size(), large.size_bytes());
    }
  }
}

TEST(EncodePredictResponseTest, TheBufferKeepsItsTensors) {
  grpc::ByteBuffer encoded;
  std::string expected;
  {
    Tensor large = *Tensor::Zeros(DType::kFloat, {2000});
    large.flat<float>()[7] = 7;
    PredictResult result{.outputs = {{"y", large}}};
    expected = ByLibrary("m", 1, result, TensorProtoForm::kTypedFields);
    encoded = *EncodePredictResponse("m", 1, std::move(result), TensorProtoForm::kTypedFields);
    EXPECT_FALSE(large.CanWriteInPlace());
  }
  EXPECT_EQ(Bytes(encoded), expected);
}

}  // namespace
}  // namespace tessera::serving
