#include "serving/frontend/wire/wire_predict_request.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "serving/frontend/wire/testing/predict_request_contents.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::serving {
namespace {

namespace tfs = tensorflow::serving;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMaxTensorBytes = 1 << 20;

// Returns true if the bytes are a request.
bool ExpectAgreement(const std::string& bytes) {
  const PredictRequestContents expected = ReadByLibrary(bytes, kMaxTensorBytes);
  for (const size_t chunk_size : {bytes.size() + 1, size_t{1}, size_t{3}, size_t{17}}) {
    const auto read = ReadByWire(InChunks(bytes, chunk_size), kMaxTensorBytes);
    EXPECT_EQ(read.ToString(), expected.ToString())
        << testing::PrintToString(bytes) << " in chunks of " << chunk_size;
    EXPECT_TRUE(read == expected);
  }
  return expected.is_request;
}

std::string Serialize(const std::string& text) {
  tfs::PredictRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request.SerializeAsString();
}

// A field of type bytes.
std::string Field(int number, const std::string& contents) {
  std::string text;
  for (size_t value : {static_cast<size_t>(number << 3 | 2), contents.size()}) {
    for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
    text.push_back(static_cast<char>(value));
  }
  return text + contents;
}
std::string Input(const std::string& name, const std::string& tensor) {
  return Field(2, Field(1, name) + Field(2, tensor));
}

class WirePredictRequestTest : public ::testing::Test {
 protected:
  // Texts that are no UTF-8 would fill the log.
  void SetUp() override { handler_ = google::protobuf::SetLogHandler(nullptr); }
  void TearDown() override { google::protobuf::SetLogHandler(handler_); }

  google::protobuf::LogHandler* handler_ = nullptr;
};

const char* const kRequests[] = {
    "",
    "model_spec {}",
    "model_spec { name: 'm' version {} }",
    "model_spec { name: 'm' version { value: -7 } signature_name: 's' }",
    "model_spec { name: 'm' version_label: '' } output_filter: ['a', '', 'b']",
    "model_spec { name: 'm' version_label: 'stable' } client_id: '\\xff' "
    "predict_streamed_options { request_state: SPLIT split_dimensions { key: 'k' value: 1 } } "
    "request_options { return_stoptokens: [1, 2] handshake { estimated_payload_bytes: 3 } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 2 name: 'n' } } "
    "float_val: [1.5, -2] } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 5 } } float_val: 3 } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim {} } float_val: 3 } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } "
    "tensor_content: '12345678' version_number: 7 } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } "
    "tensor_content: '1234567' } }",
    "inputs { key: 'x' value { dtype: DT_DOUBLE double_val: 2 } }",
    "inputs { key: 'x' value { dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
    "int_val: [-1, 300] } } inputs { key: 'y' value { dtype: DT_INT8 int_val: -300 } }",
    "inputs { key: 'x' value { dtype: DT_UINT8 int_val: 300 } } "
    "inputs { key: 'y' value { dtype: DT_QINT16 int_val: -2 } }",
    "inputs { key: 'x' value { dtype: DT_INT64 tensor_shape { dim { size: 3 } } "
    "int64_val: [-1, 9223372036854775807] } }",
    "inputs { key: 'x' value { dtype: DT_UINT64 uint64_val: 18446744073709551615 } } "
    "inputs { key: 'y' value { dtype: DT_UINT32 uint32_val: 4294967295 } }",
    "inputs { key: 'x' value { dtype: DT_BOOL tensor_shape { dim { size: 3 } } "
    "bool_val: [true, false] } } "
    "inputs { key: 'y' value { dtype: DT_BOOL tensor_content: '\\x02' } }",
    "inputs { key: 'x' value { dtype: DT_HALF half_val: 15360 } } "
    "inputs { key: 'y' value { dtype: DT_BFLOAT16 half_val: 16256 } }",
    "inputs { key: 'x' value { dtype: DT_COMPLEX64 tensor_shape { dim { size: 3 } } "
    "scomplex_val: [1, 2, 3] } }",
    "inputs { key: 'x' value { dtype: DT_COMPLEX128 dcomplex_val: 1 } }",
    "inputs { key: 'x' value { dtype: DT_STRING tensor_shape { dim { size: 3 } } "
    "string_val: ['\\xff', ''] } }",
    "inputs { key: 'x' value { dtype: DT_STRING tensor_shape { dim { size: 1 } } "
    "tensor_content: '\\x02ab' } }",
    "inputs { key: 'x' value { dtype: DT_INT4 int_val: 15 } } "
    "inputs { key: 'y' value { dtype: DT_UINT2 tensor_content: '\\x07' } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT8_E5M2 float8_val: '\\x3c' } }",
    "inputs { key: 'x' value { dtype: DT_RESOURCE resource_handle_val { name: 'r' } } }",
    "inputs { key: 'x' value { dtype: DT_VARIANT variant_val { type_name: 'T' "
    "tensors { dtype: DT_INT32 int_val: 5 } } } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { unknown_rank: true } } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } "
    "dim { size: 4 } dim {} } } }",
    "inputs { key: 'x' value { dtype: DT_FLOAT float_val: 1 tensor_shape { dim { size: 1 } "
    "dim { size: 1 } dim { size: 1 } dim { size: 1 } dim { size: 1 } dim { size: 1 } "
    "dim { size: 1 } dim { size: 1 } dim { size: 1 } } } }",
    "inputs { key: 'x' value { dtype: 257 float_val: 1 } } inputs { key: '' value {} }",
};

TEST_F(WirePredictRequestTest, AgreesWithTheLibrary) {
  for (const char* text : kRequests) EXPECT_TRUE(ExpectAgreement(Serialize(text))) << text;
}

TEST_F(WirePredictRequestTest, AgreesOnEveryBeginning) {
  for (const char* text : kRequests) {
    const std::string bytes = Serialize(text);
    for (size_t size = 0; size < bytes.size(); ++size) ExpectAgreement(bytes.substr(0, size));
  }
}

TEST_F(WirePredictRequestTest, AgreesOnEveryWrongByte) {
  int requests = 0;
  for (const char* text : kRequests) {
    const std::string bytes = Serialize(text);
    for (size_t i = 0; i < bytes.size(); ++i) {
      // Each wire type for tags; the ends of the range, and a length that is one off.
      for (const int wrong : {0, 1, 2, 3, 4, 5, 6, 7, 0x7f, 0x80, 0xff, bytes[i] + 1, bytes[i] - 1,
                              bytes[i] ^ 8, bytes[i] ^ 7}) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(wrong);
        requests += ExpectAgreement(changed);
      }
    }
  }
  EXPECT_GT(requests, 1000);
}

TEST_F(WirePredictRequestTest, AgreesOnWhatIsPutTogetherByChance) {
  std::mt19937 random(1);
  const auto number = [&](size_t below) { return random() % below; };
  std::vector<std::string> parts;
  for (const char* text : kRequests) parts.push_back(Serialize(text));
  int requests = 0;
  for (int i = 0; i < 3000; ++i) {
    // Messages one after another merge; a piece in another's place mostly breaks it.
    std::string bytes = parts[number(parts.size())] + parts[number(parts.size())];
    if (number(2) == 0) {
      const std::string& other = parts[number(parts.size())];
      const size_t from = number(other.size() + 1);
      bytes.insert(number(bytes.size() + 1), other.substr(from, number(12)));
    }
    requests += ExpectAgreement(bytes);
  }
  EXPECT_GT(requests, 1000);
}

TEST_F(WirePredictRequestTest, LaterOccurrencesMergeOrReplace) {
  const std::string float_2 = "\x08\x01\x12\x04\x12\x02\x08\x02";  // dtype, shape [2]
  const std::string one = std::string("\x00\x00\x80\x3f", 4);
  for (const std::string& bytes :
       {// The last entry of a name counts.
        Input("x", float_2) + Input("y", float_2) + Input("x", "\x08\x02"),
        // Values within one entry merge, and so do shapes within one value.
        Field(2, Field(2, float_2) + Field(1, "x") + Field(2, Field(5, one))),
        Input("x", float_2 + "\x12\x04\x12\x02\x08\x01" + Field(5, one)),
        // Keys: the last one counts; none is the empty one.
        Field(2, Field(1, "x") + Field(2, float_2) + Field(1, "z")), Field(2, ""),
        Field(2, Field(1, "x")) + Field(2, Field(2, float_2)),
        // Lists, packed and not, and packed in several.
        Input("x", float_2 + Field(5, one) + "\x2d" + one + Field(5, one + one)),
        Input("x", float_2 + "\x2d" + one),
        Input("x", "\x08\x09\x12\x04\x12\x02\x08\x04" + Field(10, "\x05\x06") + "\x50\x07"),
        Input("x", "\x08\x0a\x12\x04\x12\x02\x08\x04" + Field(11, "\x05") + "\x58\xff\x01"),
        // The last content counts, an empty one is none.
        Input("x", float_2 + Field(4, one + one) + Field(4, one)),
        Input("x", float_2 + Field(4, one) + Field(4, "")),
        // Wrong wire types of known fields are unknown fields.
        Input("x", float_2 + "\x0a\x01\x07" + "\x20\x01" + "\x28\x01" + "\x45" + one),
        // Version and label: the last one counts, versions merge.
        Field(1, Field(2, "\x08\x05") + Field(4, "l")),
        Field(1, Field(4, "l") + Field(2, "\x08\x05") + Field(2, "")),
        Field(1, Field(2, "\x08\x05") + Field(4, "l") + Field(2, "")),
        Field(1, Field(1, "a") + Field(3, "s")) + Field(1, Field(1, "b")),
        // Numbers longer than they need to be.
        std::string("\x8a\x80\x80\x80\x00\x81\x80\x00\x0a", 9) + std::string(1, '\0'),
        std::string("\x12\x85\x00\x12\x83\x80\x00", 7) + std::string("\x08\x81\x80", 3)}) {
    ExpectAgreement(bytes);
  }
  EXPECT_FALSE(ExpectAgreement(Field(1, Field(1, "\xff"))));
  EXPECT_FALSE(ExpectAgreement(Input("\xc0\x80", "")));
  EXPECT_FALSE(ExpectAgreement(Input("x", Field(5, "123"))));
  EXPECT_FALSE(ExpectAgreement(Input("x", Field(6, "1234"))));
  EXPECT_FALSE(ExpectAgreement(Input("x", Field(10, "\x80"))));
  EXPECT_FALSE(ExpectAgreement(Input("x", Field(14, "\x0a\x05"))));
}

TEST_F(WirePredictRequestTest, UnknownGroupsNestAsDeepAsTheLibraryHasThem) {
  const auto nested = [](int depth) {
    return std::string(depth, '\x4b') + std::string(depth, '\x4c');
  };
  for (const int depth : {1, 2, 95, 96, 97, 98, 99, 100, 101, 102, 100000}) {
    EXPECT_EQ(ExpectAgreement(nested(depth)), depth <= 100);
    ExpectAgreement(Field(1, nested(depth)));
    ExpectAgreement(Field(1, Field(2, nested(depth))));
    ExpectAgreement(Field(2, nested(depth)));
    ExpectAgreement(Field(5, nested(depth)));
    ExpectAgreement(Input("x", nested(depth)));
    ExpectAgreement(Input("x", Field(2, nested(depth))));
    ExpectAgreement(Input("x", Field(2, Field(2, nested(depth)))));
    ExpectAgreement(Input("x", Field(14, nested(depth))));
  }
  EXPECT_FALSE(ExpectAgreement("\x4b\x54"));  // another group's end
  EXPECT_FALSE(ExpectAgreement("\x4b"));
  EXPECT_FALSE(ExpectAgreement("\x4c"));
}

TEST_F(WirePredictRequestTest, ManyInputsAreFoundByName) {
  std::string bytes;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 50; ++i) {
      bytes += Input(absl::StrCat("input", i), Field(4, std::string(1, 'a' + round)));
    }
  }
  EXPECT_TRUE(ExpectAgreement(bytes));
}

TEST_F(WirePredictRequestTest, RepeatedValuesCountTowardsTheLimit) {
  const std::string text(10'000, 'x');
  for (const int size : {104, 105}) {  // about 2^20 bytes
    const std::string shape = absl::StrCat("tensor_shape { dim { size: ", size, " } } ");
    ExpectAgreement(Serialize(absl::StrCat("inputs { key: 'x' value { dtype: DT_STRING ", shape,
                                           "string_val: '", text, "' } }")));
  }
  const PredictRequestContents repeated = ReadByWire(
      InChunks(Serialize(absl::StrCat(
                   "inputs { key: 'x' value { dtype: DT_STRING tensor_shape { dim { size: 30000 } }"
                   " string_val: '",
                   text, "' } }")),
               1 << 20),
      kMaxTensorBytes);
  EXPECT_THAT(repeated.inputs.at("x"), HasSubstr("bytes allowed"));
}

// 2,000 floats, each its index, as fields 1 and 2 of a TensorProto.
struct Floats {
  Floats() {
    for (int i = 0; i < 2000; ++i) values.push_back(static_cast<float>(i));
    bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  std::vector<float> values;
  std::string bytes;
  const std::string head = "\x08\x01\x12\x05\x12\x03\x08\xd0\x0f";
};

// `prefix` unknown bytes, to move what follows.
std::string Padding(size_t bytes) { return Field(100, std::string(bytes, 'p')); }

TEST_F(WirePredictRequestTest, LargeAlignedValuesAreNotCopied) {
  const Floats floats;
  int shared = 0;
  for (const int field : {4, 5}) {
    for (size_t offset = 0; offset < 4; ++offset) {
      const std::string bytes =
          Padding(offset) + Input("x", floats.head + Field(field, floats.bytes));
      const grpc::Slice slice(bytes.data(), bytes.size());
      auto message = std::make_unique<grpc::ByteBuffer>(&slice, 1);
      auto request = std::make_unique<WirePredictRequest>();
      ASSERT_TRUE(request->Read(*message).ok());
      const Tensor tensor = *request->DecodeInput(0);
      const auto* at = reinterpret_cast<const uint8_t*>(tensor.raw());
      if (slice.begin() <= at && at < slice.end()) {
        ++shared;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % sizeof(float), 0);
        EXPECT_FALSE(tensor.CanWriteInPlace());
      }
      request.reset();
      message.reset();
      EXPECT_EQ(tensor.flat<float>(), absl::MakeConstSpan(floats.values));
    }
  }
  EXPECT_EQ(shared, 2);
}

TEST_F(WirePredictRequestTest, ValuesInPiecesArePutTogether) {
  const Floats floats;
  for (const int field : {4, 5}) {
    const std::string bytes = Input("x", floats.head + Field(field, floats.bytes));
    for (const size_t chunk_size : {5, 4096, 7000}) {
      WirePredictRequest request;
      ASSERT_TRUE(request.Read(InChunks(bytes, chunk_size)).ok());
      EXPECT_EQ(request.DecodeInput(0)->flat<float>(), absl::MakeConstSpan(floats.values));
    }
  }
}

TEST_F(WirePredictRequestTest, WhatIsMissingBehindALargeListIsFilled) {
  Floats floats;
  floats.values.resize(1999);
  floats.bytes.resize(1999 * sizeof(float));
  WirePredictRequest request;
  ASSERT_TRUE(
      request.Read(InChunks(Input("x", floats.head + Field(5, floats.bytes)), 100000)).ok());
  floats.values.push_back(1998);
  EXPECT_EQ(request.DecodeInput(0)->flat<float>(), absl::MakeConstSpan(floats.values));
}

TEST_F(WirePredictRequestTest, ErrorsNameTheInput) {
  WirePredictRequest request;
  ASSERT_TRUE(request.Read(InChunks(Input("x", "") + Field(3, "y"), 100)).ok());
  const absl::Status status = request.DecodeInput(0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensor parsing error: x: "));
  const auto input = [&](size_t i) { return request.DecodeInput(i); };
  EXPECT_THAT(request.View(input).output_filter, ElementsAre("y"));
}

TEST_F(WirePredictRequestTest, WhatIsNoRequestIsInternal) {
  EXPECT_EQ(WirePredictRequest().Read(InChunks("\x0a", 1)).code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(WirePredictRequest().Read(grpc::ByteBuffer()).ok());  // no bytes: an empty message
}

}  // namespace
}  // namespace tessera::serving
