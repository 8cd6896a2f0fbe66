#include "runtime/training/pipeline/batch_source.h"

#include <zlib.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/tf_record.h"
#include "tensorflow/core/example/example.pb.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TestFolder() {
  const std::string folder = JoinPath(
      ::testing::TempDir(), ::testing::UnitTest::GetInstance()->current_test_info()->name());
  EXPECT_TRUE(CreateDirectories(folder).ok());
  return folder;
}

// A tf.Example with an image of two pixels and a label, both made of its number.
std::string Example(int64_t number) {
  tensorflow::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["image"].mutable_float_list()->add_value(static_cast<float>(number));
  features["image"].mutable_float_list()->add_value(static_cast<float>(number) / 2);
  features["label"].mutable_int64_list()->add_value(number);
  return example.SerializeAsString();
}
std::string Records(int64_t begin, int64_t end) {
  std::string bytes;
  for (int64_t i = begin; i < end; ++i) AppendTfRecord(Example(i), &bytes);
  return bytes;
}
std::string Gzip(const std::string& bytes) {
  std::string out(bytes.size() + 1000, '\0');
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

constexpr char kImageAndLabel[] =
    "fields { name: 'image' shape: 2 dtype: 'float32' } "
    "fields { name: 'label' dtype: 'int64' } ";

training::PipelineSpec Spec(const std::string& text) {
  training::PipelineSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

class BatchSourceTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder_, name), bytes).ok());
  }
  absl::StatusOr<std::unique_ptr<BatchSource>> TryMake(const std::string& spec,
                                                       int64_t batch_size = 2, int64_t seed = 7) {
    BatchSourceOptions options;
    options.batch_size = batch_size;
    options.seed = seed;
    options.base_folder = folder_;
    options.session.intra_op_threads = options.session.inter_op_threads = 2;
    return BatchSource::Make(Spec(spec), options);
  }
  std::unique_ptr<BatchSource> Make(const std::string& spec, int64_t batch_size = 2,
                                    int64_t seed = 7) {
    auto source = TryMake(spec, batch_size, seed);
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : nullptr;
  }

  // The int64 field `index` of the next batch; empty at the end of the epoch.
  static std::vector<int64_t> NextOf(BatchSource& source, size_t index) {
    std::vector<Tensor> batch;
    const absl::StatusOr<bool> more = source.Next(nullptr, &batch);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return {};
    const auto values = batch[index].flat<int64_t>();
    return {values.begin(), values.end()};
  }
  static std::vector<int64_t> Epoch(BatchSource& source, size_t index) {
    std::vector<int64_t> all;
    while (true) {
      const std::vector<int64_t> batch = NextOf(source, index);
      if (batch.empty()) return all;
      all.insert(all.end(), batch.begin(), batch.end());
    }
  }
  static absl::Status FirstError(BatchSource& source) {
    std::vector<Tensor> batch;
    for (int i = 0; i < 100; ++i) {
      const absl::StatusOr<bool> more = source.Next(nullptr, &batch);
      if (!more.ok()) return more.status();
    }
    return absl::OkStatus();
  }

  std::string folder_ = TestFolder();
};

TEST_F(BatchSourceTest, ReadsBatchesOfExamplesEpochAfterEpoch) {
  Write("b.tfrecord", Records(3, 5));
  Write("a.tfrecord", Records(0, 3));
  auto source = Make(absl::StrCat("files: '*.tfrecord' ", kImageAndLabel));
  EXPECT_EQ(source->fields()[0].name, "image");
  EXPECT_EQ(source->fields()[0].shape, PartialShape({2, 2}));
  std::vector<Tensor> batch;
  ASSERT_TRUE(source->Next(nullptr, &batch).value());
  EXPECT_EQ(batch[0].ToString(), "float[2,2] [[0 0] [1 0.5]]");
  EXPECT_EQ(batch[1].ToString(), "int64[2] [0 1]");
  EXPECT_THAT(NextOf(*source, 1), ElementsAre(2, 3));
  EXPECT_THAT(NextOf(*source, 1), IsEmpty());
  EXPECT_THAT(Epoch(*source, 1), ElementsAre(0, 1, 2, 3));
}

TEST_F(BatchSourceTest, KeepsTheRemainderIfAsked) {
  Write("a.tfrecord", Records(0, 5));
  auto source = Make(
      absl::StrCat("files: 'a.tfrecord' skip: 1 take: 3 keep_remainder: true ", kImageAndLabel));
  EXPECT_THAT(NextOf(*source, 1), ElementsAre(1, 2));
  EXPECT_THAT(NextOf(*source, 1), ElementsAre(3));
  EXPECT_THAT(NextOf(*source, 1), IsEmpty());
}

TEST_F(BatchSourceTest, ShufflesBySeedAndEpoch) {
  Write("a.tfrecord.gz", Gzip(Records(0, 40)));
  const std::string spec = absl::StrCat("files: 'a.tfrecord.gz' shuffle: 40 ", kImageAndLabel);
  auto source = Make(spec);
  const std::vector<int64_t> first = Epoch(*source, 1), second = Epoch(*source, 1);
  EXPECT_NE(first, second);
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(second));
  EXPECT_EQ(first.size(), 40);
  auto again = Make(spec);
  EXPECT_EQ(Epoch(*again, 1), first);
  auto other = Make(spec, 2, 8);
  EXPECT_NE(Epoch(*other, 1), first);
}

TEST_F(BatchSourceTest, CachedExamplesNeedTheFilesOnce) {
  Write("a.tfrecord", Records(0, 70));
  auto source =
      Make(absl::StrCat("files: 'a.tfrecord' cache: true shuffle: 9 ", kImageAndLabel), 7);
  const std::vector<int64_t> first = Epoch(*source, 1);
  ASSERT_TRUE(RemoveFile(JoinPath(folder_, "a.tfrecord")).ok());
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_THAT(Epoch(*source, 1), ::testing::UnorderedElementsAreArray(first));
  }
}

TEST_F(BatchSourceTest, GoesOnFromASavedPosition) {
  Write("a.tfrecord", Records(0, 50));
  for (const char* options : {"", "shuffle: 20", "shuffle: 20 cache: true", "prefetch: 5"}) {
    const std::string spec = absl::StrCat("files: 'a.tfrecord' ", options, " ", kImageAndLabel);
    auto source = Make(spec, 4);
    for (int i = 0; i < 17; ++i) NextOf(*source, 1);  // into the second epoch
    const absl::StatusOr<Tensor> position = source->SavePosition();
    ASSERT_TRUE(position.ok()) << position.status();
    auto resumed = Make(spec, 4);
    ASSERT_TRUE(resumed->RestorePosition(*position).ok());
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(NextOf(*resumed, 1), NextOf(*source, 1)) << options << ", batch " << i;
    }
  }
}

TEST_F(BatchSourceTest, GoesOnFromPositionsAroundTheEndOfAnEpoch) {
  Write("a.tfrecord", Records(0, 50));
  const std::string spec = absl::StrCat("files: 'a.tfrecord' shuffle: 20 ", kImageAndLabel);
  for (int before : {11, 12, 13, 14, 25, 26, 27}) {  // 12 batches and their end are an epoch
    auto source = Make(spec, 4);
    for (int i = 0; i < before; ++i) NextOf(*source, 1);
    const absl::StatusOr<Tensor> position = source->SavePosition();
    ASSERT_TRUE(position.ok()) << position.status();
    auto resumed = Make(spec, 4);
    ASSERT_TRUE(resumed->RestorePosition(*position).ok());
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(NextOf(*resumed, 1), NextOf(*source, 1)) << before << ", batch " << i;
    }
  }
}

TEST_F(BatchSourceTest, PositionsHoldTheBatchThatIsAhead) {
  Write("a.tfrecord", Records(0, 50));
  const std::string spec = absl::StrCat("files: 'a.tfrecord' shuffle: 20 ", kImageAndLabel);
  const auto count_rows =
      [](const std::vector<Tensor>& batch) -> absl::StatusOr<std::vector<Tensor>> {
    return std::vector<Tensor>{Tensor::Scalar(batch[0].dim(0))};
  };
  for (int before : {0, 1, 12, 13, 17}) {  // 12 batches are an epoch
    auto source = Make(spec, 4);
    source->PrepareAhead(count_rows, nullptr);
    for (int i = 0; i < before; ++i) NextOf(*source, 1);
    const absl::StatusOr<Tensor> position = source->SavePosition();
    ASSERT_TRUE(position.ok()) << position.status();
    // With a thread that goes ahead and without one.
    auto ahead = Make(spec, 4), plain = Make(spec, 4);
    ahead->PrepareAhead(count_rows, nullptr);
    ASSERT_TRUE(ahead->RestorePosition(*position).ok());
    ASSERT_TRUE(plain->RestorePosition(*position).ok());
    for (int i = 0; i < 30; ++i) {
      const auto want = NextOf(*source, 1);
      EXPECT_EQ(NextOf(*ahead, 1), want) << before << ", batch " << i;
      EXPECT_EQ(NextOf(*plain, 1), want) << before << ", batch " << i;
      if (!ahead->prepared().empty()) {
        EXPECT_EQ(ahead->prepared()[0].scalar<int64_t>(), 4);
      }
    }
  }
}

TEST_F(BatchSourceTest, RefusesThePositionOfAnotherPipeline) {
  Write("a.tfrecord", Records(0, 50));
  const std::string spec = absl::StrCat("files: 'a.tfrecord' ", kImageAndLabel);
  auto source = Make(spec, 4);
  const Tensor position = source->SavePosition().value();
  EXPECT_THAT(Make(spec, 5)->RestorePosition(position).ToString(), HasSubstr("another batch size"));
  std::string cut = position.scalar<std::string>();
  cut.resize(cut.size() / 2);
  EXPECT_FALSE(Make(spec, 4)->RestorePosition(Tensor::Scalar(cut)).ok());
}

TEST_F(BatchSourceTest, RefusesThePositionOfAPipelineOfOtherFieldsWithABatchAhead) {
  Write("a.tfrecord", Records(0, 50));
  auto source = Make(absl::StrCat("files: 'a.tfrecord' ", kImageAndLabel), 4);
  source->PrepareAhead([](const std::vector<Tensor>& batch) { return batch; }, nullptr);
  NextOf(*source, 1);
  const Tensor position = source->SavePosition().value();
  const absl::Status status = Make("files: 'a.tfrecord' fields { name: 'label' dtype: 'int64' }", 4)
                                  ->RestorePosition(position);
  // Upon this code the data begin anew.
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

TEST_F(BatchSourceTest, NamesFileAndRecordOfAnExampleWithoutAField) {
  Write("a.tfrecord", Records(0, 5));
  std::string bytes = Records(0, 2);
  tensorflow::Example example;
  (*example.mutable_features()->mutable_feature())["image"].mutable_float_list()->add_value(1);
  AppendTfRecord(example.SerializeAsString(), &bytes);
  Write("b.tfrecord", bytes);
  auto source = Make("files: '?.tfrecord' shuffle: 3 fields { name: 'label' dtype: 'int64' }");
  const absl::Status status = FirstError(*source);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("b.tfrecord', record 2: "));
  EXPECT_THAT(status.ToString(), HasSubstr("label"));
}

TEST_F(BatchSourceTest, NamesFileAndRecordOfALabelOfAnotherDType) {
  Write("a.tfrecord", Records(0, 5));
  auto source = Make("files: 'a.tfrecord' fields { name: 'label' dtype: 'float32' }");
  const absl::Status status = FirstError(*source);
  EXPECT_THAT(status.ToString(), HasSubstr("a.tfrecord', record 0: "));
  EXPECT_THAT(status.ToString(), HasSubstr("label"));
}

TEST_F(BatchSourceTest, NamesFileAndRecordOfADamagedOrCutFile) {
  const std::string whole = Records(0, 5);
  std::string damaged = whole;
  damaged[whole.size() - 10] ^= 1;
  Write("damaged.tfrecord", damaged);
  Write("cut.tfrecord", whole.substr(0, whole.size() - 3));
  for (const char* name : {"damaged", "cut"}) {
    auto source = Make(absl::StrCat("files: '", name, ".tfrecord' shuffle: 2 ", kImageAndLabel));
    const absl::Status status = FirstError(*source);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(status.ToString(), HasSubstr(absl::StrCat(name, ".tfrecord', record 4: ")));
  }
}

TEST_F(BatchSourceTest, SaysThatThereIsNoBatch) {
  Write("a.tfrecord", Records(0, 5));
  const std::string spec = absl::StrCat("files: 'a.tfrecord' ", kImageAndLabel);
  EXPECT_THAT(FirstError(*Make(spec, 6)).ToString(), HasSubstr("fewer records than a batch, 6"));
  EXPECT_THAT(FirstError(*Make(spec + "skip: 5 keep_remainder: true")).ToString(),
              HasSubstr("no record behind the 5 that are skipped"));
}

TEST_F(BatchSourceTest, EndsAtOnceWhenItIsCancelled) {
  Write("a.tfrecord", Records(0, 5));
  auto source = Make(absl::StrCat("files: 'a.tfrecord' ", kImageAndLabel));
  CancellationManager cancellation;
  cancellation.Cancel();
  std::vector<Tensor> batch;
  EXPECT_EQ(source->Next(&cancellation, &batch).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(BatchSourceTest, RefusesWhatIsWrongWithARemedy) {
  Write("a.tfrecord", Records(0, 5));
  const auto error = [this](const std::string& spec) { return TryMake(spec).status().ToString(); };
  EXPECT_THAT(error(""), HasSubstr("files: there are none"));
  EXPECT_THAT(error("files: 'b*.tfrecord'"),
              HasSubstr(absl::StrCat("no file matches '", folder_, "/b*.tfrecord'")));
  EXPECT_THAT(error("files: 'a.tfrecord'"), HasSubstr("fields: there are none"));
  EXPECT_THAT(error("files: 'a.tfrecord' format: 'parquet'"), HasSubstr("none of tfrecord, text"));
  EXPECT_THAT(error("files: 'a.tfrecord' fields { name: 'x' dtype: 'int32' }"),
              HasSubstr("field 'x': dtype: a tf.Example holds float32, int64 or string"));
  EXPECT_THAT(error("files: 'a.tfrecord' fields { name: 'x' dtype: 'int64' shape: -1 }"),
              HasSubstr("set variable_length"));
  EXPECT_THAT(error("files: 'a.tfrecord' fields { name: 'x' dtype: 'int64' missing_value: 'a' }"),
              HasSubstr("missing_value: 'a' is no int64"));
  EXPECT_THAT(error("files: 'a.tfrecord' format: 'text' "
                    "fields { name: 'x' dtype: 'int64' missing_value: '7' }"),
              HasSubstr("missing_value: not with text"));
}

TEST_F(BatchSourceTest, ReadsColumnsOfCsvByTheirNames) {
  Write("a.csv", "name,x,y\nfoo,1,2.5\nbar,,4\n");
  Write("b.csv", "name,x,y\n,3,-1\n");
  auto source = Make(
      "files: '*.csv' format: 'csv' csv_header: true keep_remainder: true "
      "fields { name: 'y' dtype: 'float32' scale: 2 offset: 1 } "
      "fields { name: 'x' dtype: 'int64' missing_value: '-7' } "
      "fields { name: 'name' dtype: 'string' missing_value: '' }",
      4);
  std::vector<Tensor> batch;
  ASSERT_TRUE(source->Next(nullptr, &batch).value());
  EXPECT_EQ(batch[0].ToString(), "float[3] [6 9 -1]");
  EXPECT_EQ(batch[1].ToString(), "int64[3] [1 -7 3]");
  EXPECT_THAT(batch[2].flat<std::string>(), ElementsAre("foo", "bar", ""));
}

TEST_F(BatchSourceTest, AllFilesHaveTheColumnsOfTheHeader) {
  Write("a.csv", "x,y\n1,2\n");
  Write("b.csv", "y,x\n3,4\n");
  Write("c.csv", "x,y,z\n5,6,7\n");
  Write("empty.csv", "");
  const auto error = [this](const std::string& files) {
    return TryMake(absl::StrCat("files: [", files, "] format: 'csv' csv_header: true ",
                                "fields { name: 'x' dtype: 'int64' }"))
        .status()
        .ToString();
  };
  EXPECT_THAT(error("'a.csv', 'b.csv'"), HasSubstr("a.csv' is 'x', that of '"));
  EXPECT_THAT(error("'a.csv', 'b.csv'"), HasSubstr("b.csv' is 'y'"));
  EXPECT_THAT(error("'a.csv', 'c.csv'"), HasSubstr("column 3 of"));
  EXPECT_THAT(error("'a.csv', 'c.csv'"), HasSubstr("a.csv' is missing, that of '"));
  EXPECT_EQ(error("'a.csv', 'empty.csv'"), "OK");
}

TEST_F(BatchSourceTest, QuotedFieldsOfCsvMayHoldLineEnds) {
  const std::string records = "1,\"a\nb\",3\n2,\"\"\"\n\r\n\",4\r\n5,c,6\n";
  Write("plain.csv", records);
  Write("header.csv", "x,s,y\n" + records);
  for (const bool header : {false, true}) {
    auto source =
        Make(absl::StrCat(header ? "files: 'header.csv' csv_header: true " : "files: 'plain.csv' ",
                          "format: 'csv' fields { name: 'x' dtype: 'int64' } "
                          "fields { name: 's' dtype: 'string' } "
                          "fields { name: 'y' dtype: 'int64' }"),
             3);
    std::vector<Tensor> batch;
    ASSERT_TRUE(source->Next(nullptr, &batch).value());
    EXPECT_EQ(batch[0].ToString(), "int64[3] [1 2 5]");
    EXPECT_THAT(batch[1].flat<std::string>(), ElementsAre("a\nb", "\"\n\r\n", "c"));
    EXPECT_EQ(batch[2].ToString(), "int64[3] [3 4 6]");
  }
}

TEST_F(BatchSourceTest, HeadersThatAreNoTextAreToldSo) {
  const auto error = [this](const std::string& text) {
    Write("a.csv", text);
    return TryMake(
               "files: 'a.csv' format: 'csv' csv_header: true "
               "fields { name: 'x' dtype: 'int64' }")
        .status()
        .ToString();
  };
  EXPECT_THAT(error(std::string("\xFF\xFEx\0\n\0", 6)), HasSubstr("is UTF-16; convert it"));
  EXPECT_THAT(error(std::string("y\0z,w\n1,2\n", 10)), HasSubstr("it has 'y\\x00z', 'w'"));
}

TEST_F(BatchSourceTest, NamesOfColumnsMayBeQuotedAndFollowAByteOrderMark) {
  Write("a.csv", "\xEF\xBB\xBFlabel,\"income, usd\",\"the \"\"x\"\"\",height\r\n1,100,5,7\r\n");
  auto source = Make(
      "files: 'a.csv' format: 'csv' csv_header: true fields { name: 'label' dtype: 'int64' } "
      "fields { name: 'x' columns: 'the \"x\"' dtype: 'int64' } "
      "fields { name: 'income' columns: 'income, usd' dtype: 'int64' }",
      1);
  std::vector<Tensor> batch;
  ASSERT_TRUE(source->Next(nullptr, &batch).value());
  EXPECT_EQ(batch[0].flat<int64_t>()[0], 1);
  EXPECT_EQ(batch[1].flat<int64_t>()[0], 5);
  EXPECT_EQ(batch[2].flat<int64_t>()[0], 100);
}

TEST_F(BatchSourceTest, AFileMayBeCalledAsAPatternIs) {
  folder_ = JoinPath(folder_, "run [a] *");
  ASSERT_TRUE(CreateDirectories(folder_).ok());
  Write("data [1].txt", "7\n");
  Write("data 1.txt", "8\n");
  const auto only = [&](const std::string& pattern) {
    auto source = Make(
        absl::StrCat("files: '", pattern, "' format: 'text' fields { name: 'x' dtype: 'int64' }"),
        1);
    std::vector<Tensor> batch;
    return source->Next(nullptr, &batch).value() ? batch[0].flat<int64_t>()[0] : -1;
  };
  EXPECT_EQ(only("data [1].txt"), 7);
  EXPECT_EQ(only("data ?.txt"), 8);
}

TEST_F(BatchSourceTest, ColumnsOfCsvMakeOneField) {
  Write("a.csv", "label,p0,p1,p2,p3\n0,1,2,3,4\n1,5,,7,8\n");
  for (const char* columns : {"columns: 'p0..p3'", "columns: ['p0', 'p1', 'p2', 'p3']",
                              "columns: ['p0..p2', 'p3'] shape: 4"}) {
    auto source =
        Make(absl::StrCat("files: 'a.csv' format: 'csv' csv_header: true "
                          "fields { name: 'x' dtype: 'float32' missing_value: '-1' scale: 2 ",
                          columns, " } fields { name: 'label' dtype: 'int64' }"));
    EXPECT_EQ(source->fields()[0].shape, PartialShape({2, 4}));
    std::vector<Tensor> batch;
    ASSERT_TRUE(source->Next(nullptr, &batch).value());
    EXPECT_EQ(batch[0].ToString(), "float[2,4] [[2 4 6 8] [10 -2 14 16]]");
    EXPECT_EQ(batch[1].ToString(), "int64[2] [0 1]");
  }
  auto matrices = Make(
      "files: 'a.csv' format: 'csv' csv_header: true fields { name: 'x' dtype: 'string' "
      "missing_value: '?' shape: [2, 2] columns: ['p3', 'p0..p1', 'label'] }");
  std::vector<Tensor> batch;
  ASSERT_TRUE(matrices->Next(nullptr, &batch).value());
  EXPECT_EQ(batch[0].shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(batch[0].flat<std::string>(), ElementsAre("4", "1", "2", "0", "8", "5", "?", "1"));
}

TEST_F(BatchSourceTest, FieldsOfCsvWithoutAHeaderHaveTheNextColumns) {
  Write("a.csv", "0,1,2,3\n1,4,5,6\n");
  for (const char* cache : {"false", "true"}) {
    auto source = Make(absl::StrCat("files: 'a.csv' format: 'csv' cache: ", cache,
                                    " fields { name: 'label' dtype: 'int64' } "
                                    "fields { name: 'x' dtype: 'float32' shape: 2 } "
                                    "fields { name: 'y' dtype: 'int32' shape: 1 }"));
    std::vector<Tensor> batch;
    ASSERT_TRUE(source->Next(nullptr, &batch).value());
    EXPECT_EQ(batch[0].ToString(), "int64[2] [0 1]");
    EXPECT_EQ(batch[1].ToString(), "float[2,2] [[1 2] [4 5]]");
    EXPECT_EQ(batch[2].ToString(), "int32[2,1] [[3] [6]]");
  }
}

TEST_F(BatchSourceTest, RefusesColumnsThatDoNotMakeAField) {
  Write("a.csv", "label,p0,p1\n0,1,2\n");
  const auto error = [this](const std::string& field, bool has_header = true) {
    return TryMake(absl::StrCat("files: 'a.csv' format: 'csv' csv_header: ", has_header,
                                " fields { name: 'x' dtype: 'float32' ", field, " }"))
        .status()
        .ToString();
  };
  EXPECT_THAT(error(""), HasSubstr("a.csv' has no column 'x'; it has 'label', 'p0', 'p1'"));
  EXPECT_THAT(error("columns: 'p0..p7'"), HasSubstr("has no column 'p7'"));
  EXPECT_THAT(error("columns: 'p1..p0'"), HasSubstr("columns: 'p0' lies before 'p1'"));
  EXPECT_THAT(error("columns: ['p0..p1', 'p1']"), HasSubstr("columns: 'p1' is named twice"));
  EXPECT_THAT(error("columns: 'p0..p1' shape: 3"),
              HasSubstr("columns: there are 2, and the shape has 3 elements"));
  EXPECT_THAT(error("shape: 2"), HasSubstr("columns: is missing: the names of the 2 columns"));
  EXPECT_THAT(error("variable_length: true"), HasSubstr("variable_length: all lines of CSV"));
  EXPECT_THAT(error("shape: 100000"), HasSubstr("shape: 100000 columns are too many"));
  EXPECT_THAT(error("columns: 'p0'", false), HasSubstr("columns: only with csv_header"));
  Write("a.csv", "label,p0,p0\n0,1,2\n");
  EXPECT_THAT(error("columns: 'p0'"), HasSubstr("has two columns 'p0'"));
  EXPECT_EQ(error("columns: 'label'"), "OK");
}

TEST_F(BatchSourceTest, AHeaderWithAnotherDelimiterIsToldSo) {
  Write("a.csv", "label;x\n0;1\n");
  const auto error = [this](const std::string& more) {
    return TryMake(absl::StrCat("files: 'a.csv' format: 'csv' csv_header: true ",
                                "fields { name: 'x' dtype: 'float32' }", more))
        .status()
        .ToString();
  };
  EXPECT_THAT(error(""), HasSubstr("it has 'label;x'. Does `csv_delimiter: \";\"` separate them?"));
  EXPECT_EQ(error(" csv_delimiter: ';'"), "OK");
  Write("a.csv", "label\tx\n0\t1\n");
  EXPECT_THAT(error(""), HasSubstr("Does `csv_delimiter: \"\\t\"` separate them?"));
  EXPECT_THAT(error(" csv_delimiter: 'tab'"), HasSubstr("a tab is \"\\t\" in double quotes"));
}

TEST_F(BatchSourceTest, ReadsLinesOfText) {
  Write("a.txt", "one\ntwo\r\n\nfour");
  auto source = Make("files: 'a.txt' format: 'text'");
  std::vector<Tensor> batch;
  ASSERT_TRUE(source->Next(nullptr, &batch).value());
  EXPECT_EQ(batch[0].flat<std::string>()[1], "two");
  ASSERT_TRUE(source->Next(nullptr, &batch).value());
  EXPECT_THAT(batch[0].flat<std::string>(), ElementsAre("", "four"));
}

TEST_F(BatchSourceTest, ReadsRecordsOfFixedLength) {
  Write("a.bin", std::string("H\1\2\3\4\5\6\7\10", 9));
  auto source = Make(
      "files: 'a.bin' format: 'fixed_length' header_bytes: 1 record_bytes: 4 "
      "fields { name: 'label' dtype: 'uint8' cast: 'int64' } "
      "fields { name: 'pixels' dtype: 'uint8' shape: 2 scale: 0.5 }");
  std::vector<Tensor> batch;
  ASSERT_TRUE(source->Next(nullptr, &batch).value());
  EXPECT_EQ(batch[0].ToString(), "int64[2] [1 5]");
  EXPECT_EQ(batch[1].ToString(), "float[2,2] [[1 1.5] [3 3.5]]");
}

TEST_F(BatchSourceTest, PadsFieldsOfVariableLength) {
  std::string bytes;
  for (int i = 1; i <= 4; ++i) {
    tensorflow::Example example;
    auto& list = *(*example.mutable_features()->mutable_feature())["x"].mutable_int64_list();
    for (int j = 0; j < i; ++j) list.add_value(i);
    AppendTfRecord(example.SerializeAsString(), &bytes);
  }
  Write("a.tfrecord", bytes);
  for (const char* cache : {"false", "true"}) {
    auto source = Make(absl::StrCat(
        "files: 'a.tfrecord' cache: ", cache,
        " fields { name: 'x' dtype: 'int64' variable_length: true missing_value: '-1' }"));
    std::vector<Tensor> batch;
    ASSERT_TRUE(source->Next(nullptr, &batch).value());
    EXPECT_EQ(batch[0].ToString(), "int64[2,2] [[1 -1] [2 2]]");
    ASSERT_TRUE(source->Next(nullptr, &batch).value());
    EXPECT_EQ(batch[0].ToString(), "int64[2,4] [[3 3 3 -1] [4 4 4 4]]");
    source = Make(absl::StrCat("files: 'a.tfrecord' cache: ", cache,
                               " fields { name: 'x' dtype: 'int64' variable_length: true "
                               "missing_value: '-1' scale: 10 offset: 1 }"));
    ASSERT_TRUE(source->Next(nullptr, &batch).value());
    EXPECT_EQ(batch[0].ToString(), "float[2,2] [[11 -9] [21 21]]");
  }
}

TEST_F(BatchSourceTest, RefusesRawBytesOfAnotherSize) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    tensorflow::Example example;
    (*example.mutable_features()->mutable_feature())["x"].mutable_bytes_list()->add_value(
        std::string(i == 3 ? 6 : 4, 'a'));
    AppendTfRecord(example.SerializeAsString(), &bytes);
  }
  Write("a.tfrecord", bytes);
  const std::string field = "fields { name: 'x' decode: 'raw' dtype: 'uint8' shape: 2 shape: 2 }";
  EXPECT_THAT(FirstError(*Make("files: 'a.tfrecord' " + field)).ToString(),
              HasSubstr("a.tfrecord', record 3: "));
}

// Images of one colour: one pixel by two of 10, 20, 30, and three by one of 40, 50, 60.
constexpr char kTallPng[] =
    "89504e470d0a1a0a0000000d494844520000000100000002080200000016e321700000000e4944415478"
    "da63e012916300620001c00079587ff1b10000000049454e44ae426082";
constexpr char kWidePng[] =
    "89504e470d0a1a0a0000000d4948445200000003000000010802000000948283e30000000d4944415478"
    "da63d030b2812000089801c33c41d57a0000000049454e44ae426082";

std::string ImageExample(const std::string& png) {
  tensorflow::Example example;
  (*example.mutable_features()->mutable_feature())["image"].mutable_bytes_list()->add_value(png);
  return example.SerializeAsString();
}

TEST_F(BatchSourceTest, DecodesAndResizesImagesOfDifferentSizes) {
  std::string bytes;
  AppendTfRecord(ImageExample(absl::HexStringToBytes(kTallPng)), &bytes);
  AppendTfRecord(ImageExample(absl::HexStringToBytes(kWidePng)), &bytes);
  Write("a.tfrecord", bytes);
  for (const char* cache : {"false", "true"}) {
    auto source = Make(absl::StrCat("files: 'a.tfrecord' cache: ", cache,
                                    " fields { name: 'image' decode: 'png' shape: -1 shape: -1 "
                                    "shape: 3 resize: 1 resize: 2 scale: 0.5 }"));
    EXPECT_EQ(source->fields()[0].shape, PartialShape({2, 1, 2, 3}));
    std::vector<Tensor> batch;
    ASSERT_TRUE(source->Next(nullptr, &batch).value());
    EXPECT_EQ(batch[0].shape(), (Shape{2, 1, 2, 3}));
    EXPECT_THAT(batch[0].flat<float>(), ElementsAre(5, 10, 15, 5, 10, 15, 20, 25, 30, 20, 25, 30));
    EXPECT_FALSE(source->Next(nullptr, &batch).value());
  }
}

TEST_F(BatchSourceTest, NamesFileAndRecordOfAnImageThatIsNone) {
  std::string bytes;
  AppendTfRecord(ImageExample(absl::HexStringToBytes(kTallPng)), &bytes);
  AppendTfRecord(ImageExample("no image"), &bytes);
  Write("a.tfrecord", bytes);
  const std::string field = "fields { name: 'image' decode: 'image' resize: 2 resize: 2 }";
  EXPECT_THAT(FirstError(*Make("files: 'a.tfrecord' " + field)).ToString(),
              HasSubstr("a.tfrecord', record 1: "));
}

}  // namespace
}  // namespace tessera
