// Decision forests that the recorded ones leave out: batches of all sizes, large vocabularies,
// other formats of nodes, and damaged files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/file_system.h"
#include "runtime/base/tf_record.h"
#include "runtime/kernels/forest/forest_model.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename Message>
std::string Bytes(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message.SerializeAsString();
}

std::string Leaf(float value) {
  return Bytes<TreeNode>(absl::StrCat("regressor { top_value: ", value, " }"));
}
// A node, and what stands in its condition.
std::string Ask(int column, const std::string& condition, bool missing_is_yes = false) {
  return Bytes<TreeNode>(absl::StrCat("condition { attribute: ", column, " na_value: ",
                                      missing_is_yes, " condition { ", condition, " } }"));
}

std::string Blob(const std::string& record) {
  const auto size = static_cast<uint32_t>(record.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + record;
}

// Boosted trees for a number: columns 0 and 1 are numbers, 2 a category of 70 values, 3 one of
// 2,000,000, and 4 a set.
class ForestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/forest_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    Write("header.pb", Bytes<ygg::model::proto::AbstractModel>(
                           "name: 'GRADIENT_BOOSTED_TREES' task: REGRESSION label_col_idx: 5 "
                           "input_features: [4, 3, 2, 1, 0]"));
    Write("data_spec.pb",
          Bytes<ygg::dataset::proto::DataSpecification>(
              "columns { type: NUMERICAL name: 'x' } columns { type: NUMERICAL name: 'y' } "
              "columns { type: CATEGORICAL name: 'c' categorical { number_of_unique_values: 70 } } "
              "columns { type: CATEGORICAL name: 'id' categorical { "
              "number_of_unique_values: 2000000 } } "
              "columns { type: CATEGORICAL_SET name: 's' categorical { "
              "number_of_unique_values: 5 } } columns { type: NUMERICAL name: 'label' }"));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& contents) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder_, name), contents).ok());
  }
  void WriteHeader(size_t num_trees, const std::string& more = "node_format: 'BLOB_SEQUENCE'") {
    Write("gradient_boosted_trees_header.pb",
          Bytes<BoostedTreesHeader>(absl::StrCat("num_node_shards: 1 loss: SQUARED_ERROR "
                                                 "initial_predictions: 1 num_trees: ",
                                                 num_trees, " ", more)));
  }
  std::string BlobsOf(const std::vector<std::string>& nodes) {
    std::string file("BS\1\0\0\0\0\0", 8);
    for (const std::string& node : nodes) file += Blob(node);
    return file;
  }
  void WriteTrees(size_t num_trees, const std::vector<std::string>& nodes) {
    WriteHeader(num_trees);
    Write("nodes-00000-of-00001", BlobsOf(nodes));
  }

  absl::StatusOr<std::shared_ptr<const ForestModel>> Load() {
    return ForestModel::Load(folder_, "");
  }
  std::string Error() { return Load().status().ToString(); }

  std::string folder_;
};

// A question of each kind, and what it is asked for.
std::vector<std::string> Stump(const std::string& question, float no, float yes) {
  return {question, Leaf(no), Leaf(yes)};
}

std::vector<std::string> Concat(const std::vector<std::vector<std::string>>& trees) {
  std::vector<std::string> nodes;
  for (const auto& tree : trees) nodes.insert(nodes.end(), tree.begin(), tree.end());
  return nodes;
}

struct Table {
  std::vector<float> numbers;
  std::vector<int32_t> categories, set_values;
  std::vector<int64_t> splits = {0};

  void Add(float x, float y, int32_t c, int32_t id, const std::vector<int32_t>& set) {
    numbers.insert(numbers.end(), {x, y});
    categories.insert(categories.end(), {c, id});
    set_values.insert(set_values.end(), set.begin(), set.end());
    splits.push_back(static_cast<int64_t>(set_values.size()));
  }
  ForestInputs inputs() const {
    return {.numbers = numbers,
            .booleans = {},
            .categories = categories,
            .set_values = set_values,
            .set_splits = splits};
  }
  int64_t size() const { return static_cast<int64_t>(splits.size()) - 1; }
};

std::vector<float> Predict(const ForestModel& model, const Table& table) {
  std::vector<float> predictions(static_cast<size_t>(table.size()));
  model.Predict(table.inputs(), 0, table.size(), predictions.data());
  return predictions;
}

TEST_F(ForestTest, AsksEveryKindOfQuestion) {
  WriteTrees(8, Concat({
                    Stump(Ask(0, "higher_condition { threshold: 2 }"), 0, 1),
                    Stump(Ask(1, "higher_condition { threshold: 2 }", true), 0, 2),
                    Stump(Ask(0, "na_condition {}"), 0, 4),
                    Stump(Ask(2, "contains_condition { elements: [0, 31, 69] }"), 0, 8),
                    Stump(Ask(2, "na_condition {}"), 0, 16),
                    Stump(Ask(3, "contains_condition { elements: [1999999, 7] }", true), 0, 32),
                    Stump(Ask(4, "contains_bitmap_condition { elements_bitmap: '\\x12' }"), 0, 64),
                    Stump(Ask(4, "na_condition {}"), 0, 128),
                }));
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  Table table;
  table.Add(1, 1, 1, 1, {});
  table.Add(2, 2, 69, 7, {0, 4});
  table.Add(kNaN, kNaN, -1, -1, {-1});
  table.Add(kNaN, 0, 70, 2000000, {5});  // unknown values count as 0
  table.Add(3, 0, 31, 1999999, {2, 3, 1});
  EXPECT_THAT(Predict(**model, table),
              ::testing::ElementsAre(1, 1 + 1 + 2 + 8 + 32 + 64, 1 + 2 + 4 + 16 + 32 + 128,
                                     1 + 4 + 8, 1 + 1 + 8 + 32 + 64));
}

TEST_F(ForestTest, WeighsNumbers) {
  const std::string oblique =
      "oblique_condition { attributes: [0, 1] weights: [1, -2] threshold: 1 ";
  WriteTrees(2, Concat({Stump(Ask(0, oblique + "}", true), 0, 1),
                        Stump(Ask(0, oblique + "na_replacements: [9, 1] }"), 0, 2)}));
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  Table table;
  table.Add(3, 1, 0, 0, {});
  table.Add(2.5f, 1, 0, 0, {});
  table.Add(kNaN, 1, 0, 0, {});  // 9 - 2
  table.Add(2, kNaN, 0, 0, {});  // 2 - 2
  EXPECT_THAT(Predict(**model, table), ::testing::ElementsAre(4, 1, 4, 2));
}

TEST_F(ForestTest, BatchesOfAllSizesGetTheSameAnswers) {
  std::mt19937 random(5);
  const auto draw = [&](int below) { return static_cast<int>(random() % below); };
  std::vector<std::string> nodes;
  constexpr int kTrees = 21;
  for (int tree = 0; tree < kTrees; ++tree) {
    // Each tree is a chain, so that examples leave it at different depths.
    for (int depth = 0; depth < 1 + tree % 9; ++depth) {
      nodes.push_back(
          tree % 2 == 0 || draw(2) == 0
              ? Ask(draw(2),
                    absl::StrCat("higher_condition { threshold: ", draw(100) / 50.0 - 1, " }"),
                    draw(2) == 0)
              : Ask(2,
                    absl::StrCat("contains_condition { elements: [", draw(30), ", ", 30 + draw(40),
                                 "] }"),
                    draw(2) == 0));
      nodes.push_back(Leaf(static_cast<float>(draw(1000))));
    }
    nodes.push_back(Leaf(static_cast<float>(draw(1000))));
  }
  WriteTrees(kTrees, nodes);
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  Table table;
  for (int i = 0; i < 150; ++i) {
    table.Add(draw(9) == 0 ? kNaN : static_cast<float>(draw(100)) / 50 - 1,
              static_cast<float>(draw(100)) / 50 - 1, draw(72) - 1, 0, {});
  }
  const std::vector<float> all = Predict(**model, table);
  for (const int64_t size : {1, 2, 7, 8, 9, 64, 65}) {
    for (int64_t begin = 0; begin < table.size(); begin += size) {
      const int64_t end = std::min(begin + size, table.size());
      std::vector<float> part(static_cast<size_t>(end - begin));
      (*model)->Predict(table.inputs(), begin, end, part.data());
      for (int64_t i = begin; i < end; ++i) EXPECT_EQ(part[i - begin], all[i]) << size << " " << i;
    }
  }
}

TEST_F(ForestTest, ReadsRecordsOfTensorFlow) {
  WriteHeader(1, "");  // the format is TFE_RECORDIO unless it says otherwise
  std::string file;
  for (const std::string& node : Stump(Ask(0, "higher_condition { threshold: 2 }"), 3, 5)) {
    AppendTfRecord(node, &file);
  }
  Write("nodes-00000-of-00001", file);
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  Table table;
  table.Add(2, 0, 0, 0, {});
  EXPECT_THAT(Predict(**model, table), ::testing::ElementsAre(6));
}

TEST_F(ForestTest, RefusesNodesThatAreCut) {
  const std::vector<std::string> nodes = Stump(Ask(0, "higher_condition { threshold: 2 }"), 3, 5);
  WriteTrees(1, nodes);
  ASSERT_TRUE(Load().ok());
  const std::string whole = BlobsOf(nodes);
  for (size_t size = 0; size < whole.size(); ++size) {
    Write("nodes-00000-of-00001", whole.substr(0, size));
    EXPECT_EQ(Load().status().code(), absl::StatusCode::kDataLoss) << size;
  }
  Write("nodes-00000-of-00001", whole + Blob(Leaf(1)));
  EXPECT_THAT(Error(), HasSubstr("nodes after those of 1 trees"));
}

TEST_F(ForestTest, NamesWhatIsWrong) {
  WriteTrees(1, Stump(Ask(5, "higher_condition { threshold: 2 }"), 0, 1));
  EXPECT_THAT(Error(), HasSubstr("asks for column 5, which is no input feature"));
  WriteTrees(1, Stump(Ask(2, "higher_condition { threshold: 2 }"), 0, 1));
  EXPECT_THAT(Error(), HasSubstr("asks column 'c' of type CATEGORICAL for a number"));
  WriteTrees(1, Stump(Ask(0, "contains_condition { elements: 1 }"), 0, 1));
  EXPECT_THAT(Error(), HasSubstr("asks column 'x' of type NUMERICAL for a category"));
  WriteTrees(1, Stump(Ask(2, "contains_condition { elements: 70 }"), 0, 1));
  EXPECT_THAT(Error(), HasSubstr("a value that is not below 70"));
  WriteTrees(1, Stump(Ask(0, "oblique_condition { attributes: 0 }"), 0, 1));
  EXPECT_THAT(Error(), HasSubstr("1 attributes, 0 weights"));
  WriteTrees(1, Stump(Ask(0, "numerical_vector_sequence {}"), 0, 1));
  EXPECT_THAT(Error(), HasSubstr("UNIMPLEMENTED"));
  WriteTrees(1, {Bytes<TreeNode>("classifier { top_value: 1 }")});
  EXPECT_THAT(Error(), HasSubstr("a leaf has no number"));
  WriteHeader(1, "node_format: 'CARRIER_PIGEON'");
  EXPECT_THAT(Error(), HasSubstr("in format 'CARRIER_PIGEON'"));
  WriteHeader(1, "node_format: 'BLOB_SEQUENCE' num_trees_per_iter: 3");
  EXPECT_THAT(Error(), HasSubstr("3 sums, of which 1"));
  Write("header.pb", Bytes<ygg::model::proto::AbstractModel>("name: 'MULTITASKER'"));
  EXPECT_THAT(Error(), HasSubstr("a model of kind 'MULTITASKER'"));
  Write("header.pb", "not a header");
  EXPECT_THAT(Error(), HasSubstr("header.pb is no yggdrasil_decision_forests"));
}

TEST(DecisionForestOpsTest, AnIdentifierThatNothingLoadedIsNotFound) {
  const AttrMap attrs = {{"model_identifier", std::string("m")}, {"dense_output_dim", int64_t{1}}};
  const Tensor none = Tensor::Zeros(DType::kFloat, Shape{0, 0}).value();
  const Tensor ints = Tensor::Zeros(DType::kInt32, Shape{0}).value();
  const Tensor splits = Tensor::Of<int64_t>(Shape{1}, {0});
  const std::vector<Tensor> inputs = {
      none, none, Tensor::Zeros(DType::kInt32, Shape{0, 0}).value(), ints, splits, splits};
  auto runner = KernelRunner::Create("SimpleMLInferenceOp", inputs, attrs);
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_EQ(runner->Run(inputs).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tessera
