#include "serving/servables/saved_model/saved_model_loader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

constexpr char kHalfPlusTwo[] = "tests/data/tfserving/half_plus_two/00000123";

class SavedModelLoaderTest : public ::testing::Test {
 protected:
  SavedModelLoaderTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "loader_XXXXXX");
    directory_ = mkdtemp(pattern.data());
  }
  ~SavedModelLoaderTest() override { fs::remove_all(directory_); }
  absl::Status Load(const std::string& directory) {
    loader_ = std::make_unique<SavedModelLoader>(
        ServableId{"m", 1}, directory, std::make_shared<SavedModelLoader::Options>(options_));
    return loader_->Load();
  }

  SavedModelLoader::Options options_;
  std::string directory_;
  std::unique_ptr<SavedModelLoader> loader_;
};

TEST_F(SavedModelLoaderTest, LoadsAModelThatAnswers) {
  MetricsRegistry registry;
  RunMetrics metrics(&registry);
  options_.metrics = &metrics;
  ASSERT_TRUE(Load(kHalfPlusTwo).ok());
  const auto* servable = loader_->servable().get<const Servable>();
  ASSERT_NE(servable, nullptr);
  const absl::string_view name = "x";
  auto input = [](size_t) -> absl::StatusOr<Tensor> { return Tensor::Vector<float>({2, 10}); };
  PredictResult result;
  const absl::Status status = servable->Predict({"", {&name, 1}, input, {}}, {}, &result);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(result.outputs[0].name, "y");
  EXPECT_EQ(servable->info().id, (ServableId{"m", 1}));
  EXPECT_THAT(result.outputs[0].tensor.flat<float>(), ElementsAre(3, 7));
  const std::string page = registry.RenderMetrics();
  EXPECT_THAT(page, HasSubstr(":tensorflow:core:graph_runs{} 1\n"));
  EXPECT_THAT(page, HasSubstr("load_attempt_count{model_path=\"" + std::string(kHalfPlusTwo) +
                              "\",status=\"success\"} 1\n"));
  loader_->Unload();
}

TEST_F(SavedModelLoaderTest, TellsTheStagesOfALoadAsFarAsItCame) {
  options_.warm_up = [](const std::string&, const Servable&, absl::Span<const int64_t>) {
    return absl::InternalError("cold");
  };
  EXPECT_EQ(Load(kHalfPlusTwo), absl::InternalError("cold"));
  std::vector<std::string> names;
  for (const auto& [name, time] : loader_->Stages()) names.push_back(name);
  EXPECT_THAT(names, IsSupersetOf({"read", "import", "compile"}));
  EXPECT_EQ(names.back(), "warm_up");

  EXPECT_FALSE(Load(directory_).ok());
  EXPECT_THAT(loader_->Stages(), IsEmpty());
}

TEST_F(SavedModelLoaderTest, MetricsOfVersionsThatHaveGoneAreForgotten) {
  MetricsRegistry registry;
  RunMetrics metrics(&registry);
  options_.metrics = &metrics;
  const auto lines = [&registry] {
    const std::string page = registry.RenderMetrics();
    return std::count(page.begin(), page.end(), '\n');
  };
  const auto version = [this](int number) {
    const std::string directory = JoinPath(directory_, std::to_string(number));
    if (!fs::exists(directory)) fs::create_directory_symlink(fs::absolute(kHalfPlusTwo), directory);
    return directory;
  };
  constexpr int kMost = ShownPaths::kGonePerModel + 1;
  for (int number = 0; number < kMost; ++number) ASSERT_TRUE(Load(version(number)).ok());
  const auto most = lines();
  for (int number = kMost; number < 2 * kMost; ++number) ASSERT_TRUE(Load(version(number)).ok());
  EXPECT_EQ(lines(), most);
  EXPECT_THAT(registry.RenderMetrics(), HasSubstr(version(2 * kMost - 1)));
  loader_.reset();
}

TEST_F(SavedModelLoaderTest, EstimatesFromTheFiles) {
  std::ofstream(JoinPath(directory_, "a")) << std::string(1000, 'x');
  fs::create_directory(JoinPath(directory_, "sub"));
  std::ofstream(JoinPath(directory_, "sub/variables.data-00000-of-00001")) << std::string(500, 'x');
  auto options = std::make_shared<SavedModelLoader::Options>();
  const auto estimate = SavedModelLoader({"m", 1}, directory_, options).EstimateMemory();
  EXPECT_EQ(estimate->mapped, 500);
  EXPECT_EQ(estimate->heap, 1000 + 900);
  const std::string file = JoinPath(directory_, "a");
  EXPECT_EQ(SavedModelLoader({"m", 1}, file, options).EstimateMemory().status(),
            absl::FailedPreconditionError(file + "; Not a directory"));
  EXPECT_TRUE(absl::IsNotFound(SavedModelLoader({"m", 1}, JoinPath(directory_, "absent"), options)
                                   .EstimateMemory()
                                   .status()));
}

TEST_F(SavedModelLoaderTest, DirectoriesWithoutAModel) {
  const absl::Status missing = Load(directory_);
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("Specified file path does not appear to contain a SavedModel bundle"));
  std::ofstream(JoinPath(directory_, "export.meta")) << "x";
  EXPECT_EQ(Load(directory_).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(SavedModelLoaderTest, TagsMustBeThere) {
  options_.tags = {"serve", "tpu"};
  const absl::Status status = Load(kHalfPlusTwo);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST_F(SavedModelLoaderTest, FailedWarmUpFailsTheLoad) {
  options_.warm_up = [](const std::string&, const Servable&,
                        absl::Span<const int64_t> likely_rows) {
    EXPECT_THAT(likely_rows, IsEmpty()) << "there is no batching";
    return absl::OutOfRangeError("cold");
  };
  EXPECT_EQ(Load(kHalfPlusTwo), absl::OutOfRangeError("cold"));
}

// Says what was done with it.
class CountingWrapper : public RunWrapper {
 public:
  absl::StatusOr<std::shared_ptr<const Callable>> Wrap(
      std::shared_ptr<const Callable> callable) override {
    ++wrapped;
    return callable;
  }
  bool MayWait() const override { return true; }
  std::vector<int64_t> LikelyRows() const override { return {1, 5}; }
  void StartServing() override { serving = true; }
  void BeginDraining() override { draining = true; }

  int wrapped = 0;
  bool serving = false;
  bool draining = false;
};

TEST_F(SavedModelLoaderTest, RunsAreWrappedAndTheWrapperIsToldWhenTheVersionIsWarm) {
  auto wrapper = std::make_shared<CountingWrapper>();
  options_.make_run_wrapper = [&](const std::string& directory) {
    EXPECT_EQ(directory, kHalfPlusTwo);
    return wrapper;
  };
  options_.warm_up = [&](const std::string&, const Servable& servable,
                         absl::Span<const int64_t> likely_rows) {
    EXPECT_FALSE(wrapper->serving);
    EXPECT_THAT(likely_rows, ElementsAre(1, 5));
    const absl::string_view name = "x";
    auto input = [](size_t) -> absl::StatusOr<Tensor> { return Tensor::Vector<float>({2}); };
    PredictResult result;
    absl::Status status = servable.Predict({"", {&name, 1}, input, {}}, {}, &result);
    EXPECT_EQ(servable.TypicalRunTime(""), absl::InfiniteDuration()) << "runs may wait";
    return status;
  };
  ASSERT_TRUE(Load(kHalfPlusTwo).ok());
  EXPECT_EQ(wrapper->wrapped, 1);
  EXPECT_TRUE(wrapper->serving);
  EXPECT_FALSE(wrapper->draining);
  loader_->BeginDraining();
  EXPECT_TRUE(wrapper->draining);
}

TEST_F(SavedModelLoaderTest, WrapperThatCannotBeMadeFailsTheLoad) {
  options_.make_run_wrapper =
      [](const std::string&) -> absl::StatusOr<std::shared_ptr<RunWrapper>> {
    return absl::InvalidArgumentError("no such size");
  };
  EXPECT_EQ(Load(kHalfPlusTwo), absl::InvalidArgumentError("no such size"));
  options_.make_run_wrapper = [](const std::string&) { return nullptr; };
  EXPECT_TRUE(Load(kHalfPlusTwo).ok()) << "no batching";
}

}  // namespace
}  // namespace tessera::serving
