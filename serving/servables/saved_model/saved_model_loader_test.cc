#include "serving/servables/saved_model/saved_model_loader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_writer.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
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

TEST_F(SavedModelLoaderTest, TracesRunsWithTheirOps) {
  Tracer tracer;
  options_.tracer = &tracer;
  ASSERT_TRUE(Load(kHalfPlusTwo).ok());
  const auto* servable = loader_->servable().get<const Servable>();
  const auto trace_one = [&](TraceLevel level) {
    EXPECT_TRUE(tracer.Start({.level = level}).ok());
    const absl::string_view name = "x";
    const auto input = [](size_t) -> absl::StatusOr<Tensor> {
      return Tensor::Vector<float>({2, 10});
    };
    PredictResult result;
    EXPECT_TRUE(servable->Predict({"", {&name, 1}, input, {}}, {}, &result).ok());
    return tracer.Stop();
  };
  const Trace trace = trace_one(TraceLevel::kOps);
  ASSERT_GE(trace.events.size(), 2u);
  const auto run = std::find_if(trace.events.begin(), trace.events.end(),
                                [](const TraceEvent& event) { return event.name == "run m/1"; });
  ASSERT_NE(run, trace.events.end());
  EXPECT_STREQ(run->category, "run");
  EXPECT_EQ(run->thread, CurrentThreadId());
  ASSERT_EQ(run->arguments.size(), 1u);
  EXPECT_EQ(run->arguments[0].second, "2");
  std::vector<std::string> ops;
  for (const TraceEvent& event : trace.events) {
    if (event.category != absl::string_view("op")) continue;
    ops.emplace_back(event.name);
    EXPECT_EQ(event.thread, CurrentThreadId()) << event.name;
    EXPECT_LE(run->start, event.start) << event.name;
    EXPECT_LE(event.start, event.end) << event.name;
    EXPECT_LE(event.end, run->end) << event.name;
  }
  EXPECT_THAT(ops, Contains(HasSubstr(":Mul")));

  const Trace runs = trace_one(TraceLevel::kRuns);
  ASSERT_EQ(runs.events.size(), 1u);
  EXPECT_EQ(runs.events[0].name, "run m/1");
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

TEST_F(SavedModelLoaderTest, LackOfMemoryFailsTheLoad) {
  bool has_memory = false;
  options_.warm_up = [&](const std::string&, const Servable&,
                         absl::Span<const int64_t>) -> absl::Status {
    if (!has_memory) throw std::bad_alloc();
    return absl::OkStatus();
  };
  EXPECT_EQ(Load(kHalfPlusTwo),
            absl::ResourceExhaustedError("the load: there is not enough memory"));
  EXPECT_EQ(loader_->model(), nullptr);
  has_memory = true;
  EXPECT_TRUE(loader_->Load().ok());
}

// Versions below directory_: the SavedModel half_plus_two, and weights for its graph.
class WeightsLoaderTest : public SavedModelLoaderTest {
 protected:
  std::string Version(const std::string& name) const { return JoinPath(directory_, name); }
  void AddGraph(const std::string& name) {
    fs::copy(kHalfPlusTwo, Version(name), fs::copy_options::recursive);
  }
  // y = a * x + b.
  void AddWeights(const std::string& prefix, float a, float b) {
    auto writer = CheckpointWriter::Create(Version(prefix));
    ASSERT_TRUE(writer->Add("a", Tensor::Scalar(a)).ok());
    ASSERT_TRUE(writer->Add("b", Tensor::Scalar(b)).ok());
    ASSERT_TRUE(writer->Add("c", Tensor::Scalar(3.0f)).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  std::unique_ptr<Loader> MakeLoader(int64_t number, const std::string& name) {
    return std::make_unique<SavedModelLoader>(ServableId{"m", number}, Version(name), shared_);
  }
  std::unique_ptr<Loader> Loaded(int64_t number, const std::string& name) {
    auto loader = MakeLoader(number, name);
    const absl::Status status = loader->Load();
    EXPECT_TRUE(status.ok()) << status;
    return loader;
  }
  static float Answer(Loader& loader, float x) {
    const auto* servable = loader.servable().get<const Servable>();
    const absl::string_view name = "x";
    auto input = [x](size_t) -> absl::StatusOr<Tensor> { return Tensor::Vector<float>({x}); };
    PredictResult result;
    EXPECT_TRUE(servable->Predict({"", {&name, 1}, input, {}}, {}, &result).ok());
    return result.outputs[0].tensor.flat<float>()[0];
  }

  const std::shared_ptr<SavedModelLoader::Options> shared_ =
      std::make_shared<SavedModelLoader::Options>();
};

TEST_F(WeightsLoaderTest, WeightsTakeTheGraphOfTheHighestVersionBelow) {
  AddGraph("1");
  AddWeights("2/ckpt-7", 10, 1);
  AddWeights("00000003/variables/variables", 20, 2);
  const auto first = Loaded(1, "1"), second = Loaded(2, "2"), third = Loaded(3, "00000003");
  EXPECT_EQ(Answer(*first, 2), 3);
  EXPECT_EQ(Answer(*second, 2), 21);
  EXPECT_EQ(Answer(*third, 2), 42);
  const absl::Status status = MakeLoader(0, "2")->Load();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("nor a version below 0"));
}

TEST_F(WeightsLoaderTest, AGraphIsSharedAsLongAsItIsLoaded) {
  AddGraph("1");
  AddWeights("2/w", 10, 1);
  AddWeights("3/w", 20, 2);
  const std::set<std::string> tags = {"serve"};
  LoadStages stages;
  auto first = Loaded(1, "1");
  auto second = Loaded(2, "2");
  const GraphCache::Graph graph = *shared_->graphs->Get(Version("1"), tags, &stages);
  EXPECT_TRUE(stages.empty()) << "the graph was imported again";

  // The folder with the graph may go while a version on it is loaded.
  fs::remove_all(Version("1"));
  first.reset();
  auto third = Loaded(3, "3");
  EXPECT_EQ(Answer(*third, 2), 42);
  EXPECT_EQ(*shared_->graphs->GetForWeights(Version("4"), 4, tags, &stages), graph);
}

TEST_F(WeightsLoaderTest, AGraphThatNobodyHoldsIsImportedAnew) {
  AddGraph("1");
  const std::set<std::string> tags = {"serve"};
  LoadStages stages;
  auto first = Loaded(1, "1");
  first.reset();
  ASSERT_TRUE(shared_->graphs->Get(Version("1"), tags, &stages).ok());
  EXPECT_FALSE(stages.empty());
}

TEST_F(WeightsLoaderTest, AGraphThatWasReplacedIsImportedAnew) {
  AddGraph("1");
  const std::set<std::string> tags = {"serve"};
  LoadStages stages;
  const GraphCache::Graph before = *shared_->graphs->Get(Version("1"), tags, &stages);
  fs::remove(Version("1/saved_model.pb"));
  fs::copy(JoinPath(kHalfPlusTwo, "saved_model.pb"), Version("1"));
  EXPECT_NE(*shared_->graphs->Get(Version("1"), tags, &stages), before);
}

TEST_F(WeightsLoaderTest, TheFolderGraphServesAllWeightsBesideIt) {
  AddGraph("graph");
  AddWeights("ckpt-17", 10, 1);
  AddWeights("4/w", 20, 2);
  EXPECT_EQ(Answer(*Loaded(17, "ckpt-17"), 2), 21);
  EXPECT_EQ(Answer(*Loaded(4, "4"), 2), 42);
}

TEST_F(WeightsLoaderTest, WarmUpAndBatchingAreThoseOfTheGraphUnlessThereAreOwn) {
  AddGraph("1");
  AddWeights("2/w", 10, 1);
  AddWeights("3/w", 20, 2);
  fs::create_directories(Version("3/assets.extra"));
  std::ofstream(Version("3/batching_params.pbtxt")) << "x";
  std::vector<std::string> asked;
  shared_->warm_up = [&](const std::string& directory, const Servable&, absl::Span<const int64_t>) {
    asked.push_back("warm-up " + directory);
    return absl::OkStatus();
  };
  shared_->make_run_wrapper = [&](const ServableId&, const std::string& directory) {
    asked.push_back("batching " + directory);
    return nullptr;
  };
  Loaded(2, "2");
  Loaded(3, "3");
  EXPECT_THAT(asked, ElementsAre("batching " + Version("1"), "warm-up " + Version("1"),
                                 "batching " + Version("3"), "warm-up " + Version("3")));
}

// Says what was done with it.
class CountingWrapper : public RunWrapper {
 public:
  absl::StatusOr<std::shared_ptr<const Callable>> Wrap(std::shared_ptr<const Callable> callable,
                                                       RunRows) override {
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
  options_.make_run_wrapper = [&](const ServableId&, const std::string& directory) {
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
      [](const ServableId&, const std::string&) -> absl::StatusOr<std::shared_ptr<RunWrapper>> {
    return absl::InvalidArgumentError("no such size");
  };
  EXPECT_EQ(Load(kHalfPlusTwo), absl::InvalidArgumentError("no such size"));
  options_.make_run_wrapper = [](const ServableId&, const std::string&) { return nullptr; };
  EXPECT_TRUE(Load(kHalfPlusTwo).ok()) << "no batching";
}

}  // namespace
}  // namespace tessera::serving
