// Input that TensorFlow Text's kernels never saw, or that ends its process: damaged models,
// patterns that match nothing, ids that do not exist. What they compute is in the recorded calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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

TEST(WordpieceTest, TheVocabularyHasNoVectors) {
  const auto tokenize = [](const Tensor& empty_key, const Tensor& deleted_key,
                           const PartialShape& value_shape) {
    const auto table = Call("AnonymousMutableDenseHashTable", {empty_key, deleted_key},
                            {{"value_dtype", DType::kInt64},
                             {"value_shape", value_shape},
                             {"initial_num_buckets", int64_t{4}}});
    EXPECT_TRUE(table.ok()) << table.status();
    return Call("WordpieceTokenizeWithOffsets", {Strings({"ab"}), table.value()[0]},
                {{"suffix_indicator", std::string("##")},
                 {"max_bytes_per_word", int64_t{10}},
                 {"use_unknown_token", true},
                 {"unknown_token", std::string("?")}})
        .status();
  };
  const PartialShape one{Shape()};
  EXPECT_TRUE(
      tokenize(Tensor::Scalar<std::string>(""), Tensor::Scalar<std::string>("!"), one).ok());
  // The beginnings of the word, of which there are two, would be one key.
  EXPECT_THAT(tokenize(Strings({"", ""}), Strings({"!", "!"}), one).ToString(),
              HasSubstr("keys of shape [2]"));
  EXPECT_THAT(tokenize(Tensor::Scalar<std::string>(""), Tensor::Scalar<std::string>("!"),
                       PartialShape(Shape{2}))
                  .ToString(),
              HasSubstr("must map strings to int64"));
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

// Every beginning of a compiled model, and every model with a byte changed, is refused or does no
// harm.
TEST(CompiledModelsTest, DamagedOnesDoNoHarm) {
  const Tensor splits = Tensor::Vector<int64_t>({0, 2}), ids = Tensor::Vector<int32_t>({0, -1});
  const Tensor no = Tensor::Scalar(false), none = Tensor::Scalar<int32_t>(0);
  const auto call_all = [&](const std::string& model) {
    Call("PhraseTokenize", {Strings({"a word"}), Bytes(model)}).IgnoreError();
    Call("TFText>PhraseDetokenize", {ids, splits, Bytes(model)}).IgnoreError();
    Call("TFText>FastSentencepieceTokenize",
         {Bytes(model), Strings({"a word"}), none, Tensor::Scalar(0.f), no, no, no})
        .IgnoreError();
    return Call("TFText>FastSentencepieceDetokenize", {Bytes(model), ids, splits}).status().code();
  };
  const std::string whole = TableOfOneVector(1);
  for (size_t size = 0; size < 20; ++size) {
    EXPECT_NE(call_all(whole.substr(0, size)), absl::StatusCode::kOk) << size;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {1, 4, 127, 128, 255}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      call_all(changed);
    }
  }
}

TEST(FindSourceOffsetsTest, RefusesWhatIsNoMap) {
  const Tensor splits = Tensor::Vector<int64_t>({0, 1});
  const auto find = [&](const Tensor& maps, const Tensor& rows) {
    return Call("FindSourceOffsets", {maps, Tensor::Vector<int64_t>({3}), rows}).status();
  };
  const Tensor empty = Tensor::Zeros(DType::kVariant, {1}).value();
  EXPECT_THAT(find(empty, splits).ToString(), HasSubstr("NormalizeUTF8WithOffsetsMap"));
  const Tensor map = Call("NormalizeUTF8WithOffsetsMap", {Strings({"\u00bd and more"})},
                          {{"normalization_form", std::string("NFKC")}})
                         .value()[1];
  EXPECT_TRUE(find(map, splits).ok());
  EXPECT_THAT(find(map, Tensor::Vector<int64_t>({0, 1, 1})).ToString(), HasSubstr("1 maps"));
}

TEST(RougeLTest, RefusesWhatDoesNotFit) {
  const Tensor tokens = Tensor::Vector<int32_t>({1, 2}), splits = Tensor::Vector<int64_t>({0, 2});
  const auto measure = [&](const Tensor& values, const Tensor& rows, float alpha) {
    return Call("RougeL", {values, rows, tokens, splits, Tensor::Scalar(alpha)}).status();
  };
  EXPECT_TRUE(measure(tokens, splits, 0.5f).ok());
  EXPECT_THAT(measure(tokens, splits, std::nanf("")).ToString(), HasSubstr("alpha"));
  EXPECT_THAT(measure(tokens, Tensor::Vector<int64_t>({0, 1, 2}), 0.5f).ToString(),
              HasSubstr("2 hypotheses for 1 references"));
  EXPECT_THAT(measure(tokens, Tensor::Vector<int64_t>({0, 3}), 0.5f).ToString(),
              HasSubstr("hyp_splits"));
  EXPECT_THAT(measure(Tensor::Of<int32_t>({1, 2}, {1, 2}), splits, 0.5f).ToString(),
              HasSubstr("must be vectors"));
}

TEST(ConstrainedSequenceTest, RefusesWhatDoesNotFit) {
  const auto decode = [](const Shape& scores, std::vector<int64_t> lengths, const Shape& allowed) {
    return Call("ConstrainedSequence",
                {Tensor::Zeros(DType::kFloat, scores).value(), Tensor::Vector<int64_t>(lengths),
                 Tensor::Zeros(DType::kBool, allowed).value(),
                 Tensor::Zeros(DType::kFloat, {0, 0}).value()},
                {{"use_viterbi", true},
                 {"use_log_space", false},
                 {"use_start_and_end_states", true}})
        .status()
        .ToString();
  };
  EXPECT_EQ(decode({2, 3, 4}, {3, 0}, {5, 5}), "OK");
  EXPECT_EQ(decode({2, 3, 0}, {3, 0}, {0, 0}), "OK") << "there are no states";
  EXPECT_THAT(decode({2, 3, 4}, {3, 4}, {5, 5}), HasSubstr("length 4"));
  EXPECT_THAT(decode({2, 3, 4}, {3, -1}, {5, 5}), HasSubstr("length -1"));
  EXPECT_THAT(decode({2, 3, 4}, {3}, {5, 5}), HasSubstr("1 sequence_lengths"));
  EXPECT_THAT(decode({2, 3, 4}, {3, 0}, {4, 4}), HasSubstr("allowed_transitions"));
  EXPECT_THAT(decode({2}, {2}, {0, 0}), HasSubstr("2 or 3 dimensions"));
}

TEST(MaxSpanningTreeTest, RefusesGraphsThatDoNotFit) {
  const auto solve = [](std::vector<int32_t> sizes, const Shape& shape, float score) {
    Tensor scores = Tensor::Zeros(DType::kFloat, shape).value();
    for (float& x : scores.flat<float>()) x = score;
    return Call("MaxSpanningTree", {Tensor::Vector<int32_t>(sizes), scores}).status().ToString();
  };
  EXPECT_EQ(solve({2}, {1, 3, 3}, 1), "OK");
  EXPECT_EQ(solve({}, {0, 3, 3}, 1), "OK");
  EXPECT_THAT(solve({4}, {1, 3, 3}, 1), HasSubstr("has 4 nodes"));
  EXPECT_THAT(solve({0}, {1, 3, 3}, 1), HasSubstr("has 0 nodes"));
  EXPECT_THAT(solve({2, 2}, {1, 3, 3}, 1), HasSubstr("[b, n, n]"));
  EXPECT_THAT(solve({2}, {1, 3, 3}, std::nanf("")), HasSubstr("no spanning tree"));
}

TEST(LabelledCharactersTest, RefusesFewerLabelsThanCharacters) {
  const auto split = [](std::vector<int32_t> labels, std::vector<int32_t> rows) {
    return Call("SplitMergeTokenizeWithOffsets",
                {Strings({"abc"}), Tensor::Vector<int32_t>(labels), Tensor::Vector<int32_t>(rows)});
  };
  EXPECT_THAT(split({0, 1, 0}, {0, 3}).value()[0].flat<std::string>(),
              testing::ElementsAre("ab", "c"));
  EXPECT_THAT(split({0, 1}, {0, 2}).status().ToString(), HasSubstr("2 labels"));
  EXPECT_THAT(split({0, 1}, {0, 3}).status().ToString(), HasSubstr("do not fit"));
  EXPECT_THAT(split({0, 1}, {0}).status().ToString(), HasSubstr("do not fit"));
  // A character that is cut off ends with its string.
  const auto cut = Call(
      "SplitMergeTokenizeWithOffsets",
      {Strings({"a\xe2\x80"}), Tensor::Vector<int32_t>({0, 0}), Tensor::Vector<int32_t>({0, 2})});
  EXPECT_THAT(cut.value()[0].flat<std::string>(), testing::ElementsAre("a", "\xe2\x80"));
  const auto score = [](const Shape& logits) {
    return Call("TokenizerFromLogits",
                {Strings({"abc"}), Tensor::Zeros(DType::kFloat, logits).value(),
                 Tensor::Scalar(true)})
        .status()
        .code();
  };
  EXPECT_EQ(score({1, 3, 2}), absl::StatusCode::kOk);
  EXPECT_EQ(score({1, 2, 2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(score({2, 3, 2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(score({1, 3, 3}), absl::StatusCode::kInternal);
}

TEST(Utf8BinarizeTest, RefusesLengthsThatAreNone) {
  const auto bits = [](int64_t length, int64_t per_character) {
    return Call("TFText>Utf8Binarize", {Strings({"a"})},
                {{"word_length", length},
                 {"bits_per_char", per_character},
                 {"replacement_char", int64_t{0}}})
        .status()
        .code();
  };
  EXPECT_EQ(bits(2, 40), absl::StatusCode::kOk);
  EXPECT_EQ(bits(0, 8), absl::StatusCode::kOk);
  EXPECT_EQ(bits(-1, 8), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(bits(int64_t{1} << 40, int64_t{1} << 40), absl::StatusCode::kInvalidArgument);
}

TEST(BoiseTagsTest, RefusesColumnsThatDoNotFit) {
  const Tensor numbers = Tensor::Vector<int32_t>({0, 3}), splits = Tensor::Vector<int64_t>({0, 2});
  const Tensor tags = Strings({"B-x", "E-x"});
  const auto read = [&](const Tensor& ends, const Tensor& rows) {
    return Call("TFText>BoiseTagsToOffsets", {numbers, ends, tags, splits, splits, rows}).status();
  };
  EXPECT_TRUE(read(numbers, splits).ok());
  EXPECT_THAT(read(Tensor::Vector<int32_t>({0}), splits).ToString(), HasSubstr("same size"));
  EXPECT_THAT(read(numbers, Tensor::Vector<int64_t>({0, 1, 2})).ToString(),
              HasSubstr("same row splits"));
  EXPECT_THAT(read(numbers, Tensor::Vector<int64_t>({0, 9})).ToString(), HasSubstr("row splits"));
}

}  // namespace
}  // namespace tessera
