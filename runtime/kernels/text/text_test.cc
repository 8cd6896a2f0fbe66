// Input that TensorFlow Text's kernels never saw, or that ends its process: damaged models,
// patterns that match nothing, ids that do not exist. What they compute is in the recorded calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/kernels/text/fast_wordpiece_model.h"
#include "runtime/kernels/text/sentencepiece_model.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Tensor Strings(const std::vector<std::string>& values) {
  return Tensor::Of<std::string>(Shape{static_cast<int64_t>(values.size())}, values);
}
Tensor Bytes(absl::string_view bytes) {
  Tensor tensor = Tensor::Zeros(DType::kUint8, Shape{static_cast<int64_t>(bytes.size())}).value();
  std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
  return tensor;
}

absl::StatusOr<std::vector<Tensor>> Call(absl::string_view op, const std::vector<Tensor>& inputs,
                                         const AttrMap& attrs = {}) {
  ASSIGN_OR_RETURN(KernelRunner runner, KernelRunner::Create(op, inputs, attrs));
  return runner.Run(inputs);
}

TEST(NgramsStringJoinTest, RefusesWhatHasNoRows) {
  const auto join = [](const Tensor& values, const std::vector<int64_t>& splits, int64_t width) {
    const auto size = static_cast<int64_t>(splits.size());
    return Call("TFText>NgramsStringJoin", {values, Tensor::Of<int64_t>(Shape{size}, splits)},
                {{"width", width}, {"axis", int64_t{-1}}, {"string_separator", std::string(" ")}});
  };
  const Tensor letters = Strings({"a", "b", "c"});
  EXPECT_TRUE(join(letters, {0, 3}, 2).ok());
  EXPECT_THAT(join(letters, {0, 3}, 0).status().ToString(), HasSubstr("width is 0"));
  EXPECT_THAT(join(letters, {0, 9}, 2).status().ToString(), HasSubstr("input_row_splits"));
  EXPECT_THAT(join(letters, {0, 2, 1, 3}, 2).status().ToString(), HasSubstr("input_row_splits"));
  EXPECT_THAT(join(Tensor::Scalar<std::string>("a"), {0, 1}, 2).status().ToString(),
              HasSubstr("must be a vector"));
}

TEST(RegexSplitTest, RefusesPatternsThatMatchNothing) {
  const auto split = [](const std::string& pattern) {
    return Call("RegexSplitWithOffsets", {Strings({"a b"}), Tensor::Scalar<std::string>(pattern),
                                          Tensor::Scalar<std::string>("")});
  };
  EXPECT_THAT(split("(x*)").status().ToString(), HasSubstr("matches the empty string"));
  EXPECT_THAT(split("(").status().ToString(), HasSubstr("no regular expression"));
  EXPECT_TRUE(split("( )").ok());
}

TEST(RegexSplitTest, AGroupThatTookNoPartIsEmpty) {
  const auto y =
      Call("RegexSplitWithOffsets", {Strings({"a-b:c"}), Tensor::Scalar<std::string>("-|(:)"),
                                     Tensor::Scalar<std::string>(":")})
          .value();
  EXPECT_THAT(y[0].flat<std::string>(), testing::ElementsAre("a-", "b", ":", "c"));
}

// A table whose only field is a vector, in this layout: the offset of the table; a directory of
// 2 + 2 + 4 bytes; the table of 8 bytes; the vector.
std::string TableOfOneVector(uint32_t size) {
  std::string bytes(28, '\0');
  const auto put = [&](size_t at, uint32_t value, size_t width) {
    std::memcpy(bytes.data() + at, &value, width);
  };
  put(0, 12, 4);  // the table
  put(4, 6, 2);   // the directory's size, and the table's
  put(6, 8, 2);
  put(8, 4, 2);   // field 0
  put(12, 8, 4);  // how far the directory lies before the table
  put(16, 4, 4);  // how far the vector lies behind the field
  put(20, size, 4);
  return bytes;
}

TEST(FlatTableTest, VectorsMustLieInTheBuffer) {
  const std::string fits = TableOfOneVector(1), too_long = TableOfOneVector(2);
  EXPECT_EQ(FlatTable::Root(fits)->Vector<uint32_t>(0)->size, 1u);
  EXPECT_EQ(FlatTable::Root(fits)->Vector<uint32_t>(1)->size, 0u) << "the table lacks it";
  EXPECT_EQ(FlatTable::Root(fits)->Scalar<int32_t>(7, 5), 5);
  EXPECT_EQ(FlatTable::Root(too_long)->Vector<uint32_t>(0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FlatTable::Root(TableOfOneVector(0xffffffff))->Vector<uint32_t>(0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Every beginning of a model, and every model with a byte changed, is refused or does no harm.
TEST(FastWordpieceTest, DamagedModelsDoNoHarm) {
  const std::string whole = TableOfOneVector(1);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto status =
        Call("FastWordpieceTokenizeWithOffsets", {Strings({"word"}), Bytes(whole.substr(0, size))})
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {1, 4, 127, 128, 255}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      for (const char* const op : {"FastWordpieceTokenizeWithOffsets", "FastBertNormalize"}) {
        Call(op, {Strings({"word", std::string(1, '\0')}), Bytes(changed)}).IgnoreError();
      }
    }
  }
}

TEST(RoundRobinTest, SegmentsMustHaveTheSameRows) {
  const auto values = Tensor::Vector<int32_t>({1, 2});
  const auto trim = [&](const Tensor& splits) {
    return Call("TFText>RoundRobinTrim",
                {Tensor::Scalar<int32_t>(3), values, values, Tensor::Vector<int64_t>({0, 2}),
                 splits},
                {{"N", int64_t{2}}})
        .status()
        .code();
  };
  EXPECT_EQ(trim(Tensor::Vector<int64_t>({0, 2})), absl::StatusCode::kOk);
  EXPECT_EQ(trim(Tensor::Vector<int64_t>({0, 1, 2})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(trim(Tensor::Vector<int64_t>({0, 3})), absl::StatusCode::kInvalidArgument);
}

// A message of pieces: <unk>, then those that are given with scores falling from -1.
std::string Message(const std::vector<std::string>& pieces) {
  std::string message("\x0a\x09\x0a\x05<unk>\x18\x02", 11);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const float score = -1.0f - static_cast<float>(i);
    std::string piece = absl::StrCat("\x0a", std::string(1, static_cast<char>(pieces[i].size())),
                                     pieces[i], "\x15");
    piece.append(reinterpret_cast<const char*>(&score), 4);
    absl::StrAppend(&message, "\x0a", std::string(1, static_cast<char>(piece.size())), piece);
  }
  return message;
}

TEST(SentencepieceTest, AMessageWithoutOtherPartsIsAModel) {
  const auto model = SentencepieceModel::Make(Message({"\u2581ab", "c", "\u2581"})).value();
  EXPECT_EQ(model->size(), 4);
  const auto pieces = model->Encode("ab  cq");
  std::vector<int32_t> ids;
  for (const auto& piece : pieces) ids.push_back(piece.id);
  EXPECT_THAT(ids, testing::ElementsAre(1, 3, 2, 0));
  EXPECT_EQ(pieces[3].begin, 5);
  EXPECT_EQ(model->Decode(ids).value(), "ab c \u2047 ");
  EXPECT_EQ(model->Decode({4}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(model->TextOf(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SentencepieceTest, DamagedModelsAreRefused) {
  const std::string whole = Message({"\u2581ab", "c"});
  EXPECT_THAT(SentencepieceModel::Make("").status().ToString(), HasSubstr("no unknown piece"));
  EXPECT_THAT(SentencepieceModel::Make(whole.substr(0, whole.size() - 1)).status().ToString(),
              HasSubstr("no message"));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(0xff);
    const auto model = SentencepieceModel::Make(changed);
    if (model.ok()) (*model)->Encode("ab c \xff");
  }
  // A map of characters that claims to be longer than it is.
  const std::string map = absl::StrCat(whole, "\x1a\x07\x12\x05", "\x08", std::string(4, '\0'));
  EXPECT_THAT(SentencepieceModel::Make(map).status().ToString(), HasSubstr("map of characters"));
}

}  // namespace
}  // namespace tessera
