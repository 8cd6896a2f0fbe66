#include "serving/rollout/mirror.h"

#include <sched.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/host/background.h"
#include "runtime/host/host.h"
#include "serving/core/manager.h"
#include "serving/core/testing/wait_until.h"
#include "serving/servables/testing/servable_loader.h"

namespace tessera::serving {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const ServableId kLive{"m", 1};
const ServableId kCandidate{"m", 2};

// What the versions of a test's platform do. Set before requests come.
struct Behaviour {
  // Makes the answer "out" from the input "in".
  std::function<absl::StatusOr<Tensor>(const Tensor& in, const CallOptions&)> answer =
      [](const Tensor& in, const CallOptions&) { return in; };
};

// Has the signatures "serving_default", and "writes", which another run would notice.
class TestServable : public Servable {
 public:
  TestServable(const ServableId& id, const Behaviour* behaviour)
      : Servable({.id = id,
                  .platform = "test",
                  .signatures = {{"serving_default", MakeSignature(/*is_pure=*/true)},
                                 {"writes", MakeSignature(/*is_pure=*/false)}}}),
        behaviour_(behaviour) {}

  absl::Status Predict(const PredictRequest& request, const CallOptions& options,
                       PredictResult* result) const override {
    EXPECT_FALSE(options.may_be_sampled);
    absl::StatusOr<Tensor> out = behaviour_->answer(request.input(0).value(), options);
    if (!out.ok()) return out.status();
    result->outputs.push_back({"out", *std::move(out)});
    return absl::OkStatus();
  }
  // Answers the lengths of the examples.
  absl::Status Regress(const ExamplesRequest& request, const CallOptions&,
                       RegressResult* result) const override {
    result->values = LengthsOf(request.examples().value());
    return absl::OkStatus();
  }
  absl::Status Classify(const ExamplesRequest& request, const CallOptions&,
                        ClassifyResult* result) const override {
    result->scores = LengthsOf(request.examples().value());
    return absl::OkStatus();
  }
  absl::Status MultiInference(absl::Span<const InferenceTask> tasks,
                              absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                              const CallOptions&,
                              std::vector<InferenceResult>* results) const override {
    for (const InferenceTask& task : tasks) {
      EXPECT_EQ(task.model.name, "m");
      EXPECT_EQ(task.method_name, kRegressMethod);
      results->push_back(RegressResult{.values = LengthsOf(examples().value())});
    }
    return absl::OkStatus();
  }

 private:
  static Tensor LengthsOf(const Tensor& examples) {
    Tensor lengths = Tensor::Allocate(DType::kFloat, examples.shape()).value();
    for (int64_t i = 0; i < examples.num_elements(); ++i) {
      lengths.flat<float>()[i] = examples.flat<std::string>()[i].size();
    }
    return lengths;
  }
  static SignatureInfo MakeSignature(bool is_pure) {
    return {.inputs = {{"in", {DType::kFloat, PartialShape()}}},
            .outputs = {{"out", {DType::kFloat, PartialShape()}}},
            .method_name = std::string(kPredictMethod),
            .is_pure = is_pure};
  }

  const Behaviour* const behaviour_;
};

// A manager that has loaded the candidate, and a mirror that asks it.
class MirrorTest : public ::testing::Test {
 protected:
  ~MirrorTest() override { mirror_.reset(); }

  void Start(Mirror::Options options = {}) {
    options.metrics = &metrics_;
    Aspire({2});
    ASSERT_TRUE(WaitUntil([&] { return manager_.AvailableVersions("m").size() == 1; }));
    mirror_ = std::make_unique<Mirror>(options, [this](const ServableId& id) {
      return manager_.Acquire<const Servable>({id.name, id.version});
    });
  }
  void Aspire(const std::vector<int64_t>& versions) {
    AspiredVersions<std::unique_ptr<Loader>> aspired;
    for (const int64_t version : versions) {
      const ServableId id{"m", version};
      aspired.push_back({id, std::make_unique<ServableLoader>([this, id] {
                           return std::make_unique<const TestServable>(id, &behaviour_);
                         })});
    }
    manager_.SetAspiredVersions("m", std::move(aspired));
  }
  // Offers the request whose answer of live's is `out`.
  void Offer(const Tensor& in, const Tensor& out, absl::string_view signature = "",
             double percent = 100, const absl::Status& status = absl::OkStatus()) {
    const absl::string_view name = "in";
    const NamedOutput output{"out", out};
    mirror_->Offer(kCandidate, measurer_, percent,
                   {.id = kLive,
                    .signature_name = signature,
                    .input_names = {&name, 1},
                    .inputs = {&in, 1},
                    .output_filter = {},
                    .status = status,
                    .latency = absl::Milliseconds(1),
                    .outputs = {&output, 1}});
  }
  VersionMeasures Measures() const { return measurer_->Measures(absl::Now()); }

  MetricsRegistry metrics_;
  Behaviour behaviour_;
  AspiredVersionsManager manager_{{}};
  const std::shared_ptr<VersionMeasurer> measurer_ =
      std::make_shared<VersionMeasurer>(absl::Hours(1), "");
  std::unique_ptr<Mirror> mirror_;
};

TEST_F(MirrorTest, ComparesTheCandidatesAnswerWithLives) {
  Start();
  Offer(Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1, 4}));
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 1; }));
  EXPECT_EQ(Measures().mean_abs_difference(), 1);
  EXPECT_EQ(Measures().requests(), 0);
}

TEST_F(MirrorTest, AsksClassifyAndRegressWithTheirExamples) {
  Start();
  Tensor examples = Tensor::Allocate(DType::kString, {2}).value();
  examples.flat<std::string>()[1] = "four";  // the candidate answers 0 and 4
  const Tensor live = Tensor::Vector<float>({0, 1});
  const absl::Status ok;
  int64_t compared = 0;
  for (const RequestMethod method : {RequestMethod::kRegress, RequestMethod::kClassify}) {
    const NamedOutput output{method == RequestMethod::kRegress ? "outputs" : "scores", live};
    mirror_->Offer(kCandidate, measurer_, 100,
                   {.id = kLive,
                    .method = method,
                    .inputs = {&examples, 1},
                    .status = ok,
                    .latency = absl::Milliseconds(1),
                    .outputs = {&output, 1}});
    ++compared;
    ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == compared; }));
    EXPECT_EQ(Measures().mismatched(), 0);
    EXPECT_EQ(Measures().mean_abs_difference(), 1.5);
  }
}

TEST_F(MirrorTest, AsksMultiInferenceUnlessATaskHasEffects) {
  Start();
  Tensor examples = Tensor::Allocate(DType::kString, {2}).value();
  examples.flat<std::string>()[1] = "four";  // the candidate answers 0 and 4
  const NamedOutput live{"outputs", Tensor::Vector<float>({0, 1})};
  const std::vector<NamedOutput> outputs = {live, live};
  const absl::Status ok;
  for (const absl::string_view signature : {"writes", ""}) {
    const std::vector<InferenceTask> tasks = {
        {.model = {.name = "m"}, .method_name = kRegressMethod},
        {.model = {.name = "m", .signature_name = signature}, .method_name = kRegressMethod}};
    mirror_->Offer(kCandidate, measurer_, 100,
                   {.id = kLive,
                    .method = RequestMethod::kMultiInference,
                    .tasks = tasks,
                    .inputs = {&examples, 1},
                    .status = ok,
                    .latency = absl::Milliseconds(1),
                    .outputs = outputs});
  }
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 1; }));
  EXPECT_EQ(Measures().mismatched(), 0);
  EXPECT_EQ(Measures().mean_abs_difference(), 1.5);
  EXPECT_EQ(Measures().mirror_errors(), 0);
}

TEST_F(MirrorTest, CountsWhatTheCandidateAloneFails) {
  behaviour_.answer = [](const Tensor&, const CallOptions&) -> absl::StatusOr<Tensor> {
    return absl::InternalError("broken");
  };
  Start();
  Offer(Tensor::Scalar(1.0f), Tensor::Scalar(1.0f));
  ASSERT_TRUE(WaitUntil([&] { return Measures().mirror_errors() == 1; }));
  EXPECT_EQ(Measures().compared(), 0);
}

TEST_F(MirrorTest, CopiesAShareOfTheRequestsThatSucceeded) {
  Start({.max_requests = 10'000});
  const Tensor one = Tensor::Scalar(1.0f);
  for (int i = 0; i < 100; ++i) {
    Offer(one, one, "", 0);
    Offer(one, one, "", 100, absl::InternalError("live failed"));
  }
  for (int i = 0; i < 2000; ++i) Offer(one, one, "", 25);
  const auto offered = [&] { return Measures().compared() + Measures().mirror_dropped(); };
  ASSERT_TRUE(WaitUntil([&] { return offered() >= 380; }));  // 500 with a deviation of 19
  EXPECT_LE(offered(), 620);
}

TEST_F(MirrorTest, DoesNotRunWhatAnotherRunWouldNotice) {
  std::atomic<int> runs{0};
  behaviour_.answer = [&](const Tensor& in, const CallOptions&) {
    ++runs;
    return in;
  };
  Start();
  const Tensor one = Tensor::Scalar(1.0f);
  Offer(one, one, "writes");
  Offer(one, one, "serving_default");  // comes after the other
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 1; }));
  EXPECT_EQ(runs, 1);
}

TEST_F(MirrorTest, DropsAndCountsWhatFindsTheQueueFull) {
  absl::Notification release;
  std::atomic<int> runs{0};
  behaviour_.answer = [&](const Tensor& in, const CallOptions&) {
    ++runs;
    release.WaitForNotification();
    return in;
  };
  Start({.max_requests = 2});
  const Tensor one = Tensor::Scalar(1.0f);
  Offer(one, one);
  ASSERT_TRUE(WaitUntil([&] { return runs == 1; }));  // runs, and waits no more
  for (int i = 0; i < 7; ++i) Offer(one, one);
  EXPECT_EQ(Measures().mirror_dropped(), 5);
  release.Notify();
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 3; }));
  Offer(one, one);
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 4; }));
  mirror_.reset();
  const std::string name = ":tessera:serving:rollout_mirrored_requests{model_name=\"m\",outcome=";
  EXPECT_THAT(metrics_.RenderMetrics(),
              AllOf(HasSubstr(name + "\"compared\"} 4\n"), HasSubstr(name + "\"dropped\"} 5\n")));
}

TEST_F(MirrorTest, DropsWhatIsLargerThanTheQueueHolds) {
  Start({.max_bytes = int64_t{1} << 20});
  const Tensor large = Tensor::Zeros(DType::kFloat, {1 << 18}).value();
  const Tensor text = Tensor::Vector<std::string>({std::string(1 << 20, 'x')});
  Offer(large, large);
  Offer(text, text);
  EXPECT_EQ(Measures().mirror_dropped(), 2);
  Offer(large.Slice(0, 1 << 16), large.Slice(0, 1 << 16));
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 1; }));
}

TEST_F(MirrorTest, CopiesOutliveTheMemoryOfTheRequest) {
  absl::Notification release;
  behaviour_.answer = [&](const Tensor& in, const CallOptions&) {
    release.WaitForNotification();
    return in;
  };
  Start();
  // The bytes of a small input and of the answer are written over once they were offered, as if
  // their memory were used again.
  Tensor small = Tensor::Vector<float>({1, 2});
  Offer(small, small);
  for (float& value : small.flat<float>()) value = 1e9f;
  // A large input is shared, and lives on although its request is gone.
  const int64_t n = 2 * Mirror::kMaxCopiedBytes / sizeof(float);
  Tensor large = Tensor::Zeros(DType::kFloat, {n}).value();
  Offer(large, large);
  EXPECT_FALSE(large.CanWriteInPlace());
  large = Tensor();
  release.Notify();
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 2; }));
  EXPECT_EQ(Measures().mean_abs_difference(), 0);
}

TEST_F(MirrorTest, CopiesThatWaitKeepNoVersionLoaded) {
  absl::Notification release;
  std::atomic<int> runs{0};
  behaviour_.answer = [&](const Tensor& in, const CallOptions&) {
    ++runs;
    release.WaitForNotification();
    return in;
  };
  Start();
  const Tensor one = Tensor::Scalar(1.0f);
  for (int i = 0; i < 10; ++i) Offer(one, one);
  ASSERT_TRUE(WaitUntil([&] { return runs == 1; }));
  Aspire({});
  ASSERT_TRUE(WaitUntil([&] { return manager_.AvailableVersions("m").empty(); }));
  release.Notify();
  ASSERT_TRUE(WaitUntil([&] { return manager_.MemoryInUse().empty(); }));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(Measures().compared(), 1);
}

TEST_F(MirrorTest, ARunThatIsOutOfTimeCountsAsDropped) {
  behaviour_.answer = [](const Tensor&, const CallOptions& options) -> absl::StatusOr<Tensor> {
    EXPECT_LE(options.deadline, absl::Now() + absl::Seconds(7));
    return absl::DeadlineExceededError("late");
  };
  Start({.timeout = absl::Seconds(7)});
  Offer(Tensor::Scalar(1.0f), Tensor::Scalar(1.0f));
  ASSERT_TRUE(WaitUntil([&] { return Measures().mirror_dropped() == 1; }));
  EXPECT_EQ(Measures().mirror_errors(), 0);
}

TEST_F(MirrorTest, StopsAtOnceWithCopiesThatRunAndWait) {
  absl::Notification runs;
  behaviour_.answer = [&](const Tensor&, const CallOptions& options) -> absl::StatusOr<Tensor> {
    runs.Notify();
    absl::Notification cancelled;
    CancellationManager::Token token;
    if (options.cancellation->Register([&] { cancelled.Notify(); }, &token)) {
      cancelled.WaitForNotification();
      options.cancellation->Deregister(token);
    }
    return absl::CancelledError("cancelled");
  };
  Start();
  const Tensor one = Tensor::Scalar(1.0f);
  for (int i = 0; i < 10; ++i) Offer(one, one);
  runs.WaitForNotification();
  mirror_.reset();
  EXPECT_EQ(Measures().mirror_errors(), 0);
  EXPECT_EQ(Measures().compared(), 0);
}

TEST_F(MirrorTest, RunsInTheBackgroundOfTheHost) {
  Host host({.intra_op_threads = 2, .background = Host::Background{.cpu_share = 0.5}});
  std::atomic<bool> in_background{false};
  behaviour_.answer = [&](const Tensor& in, const CallOptions&) {
    in_background = BackgroundPool() == host.background_pool() &&
                    CoreSet::OfThisThread() == host.background_cores() &&
                    sched_getscheduler(0) == SCHED_IDLE;
    return in;
  };
  Start({.background_pool = host.background_pool(),
         .cores = host.background_cores(),
         .priority = ThreadPriority::kIdle,
         .pacer = &host.pacer()});
  Offer(Tensor::Scalar(1.0f), Tensor::Scalar(1.0f));
  ASSERT_TRUE(WaitUntil([&] { return Measures().compared() == 1; }));
  EXPECT_TRUE(in_background);
  mirror_.reset();
}

TEST_F(MirrorTest, ThreadsOfferWhileVersionsComeAndGo) {
  constexpr int kThreads = 4, kOffers = 2'000;
  Start();
  std::atomic<bool> done{false};
  std::thread swaps([&] {
    while (!done) {
      Aspire({});
      Aspire({2});
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const Tensor value = Tensor::Vector<float>({1, 2, 3});
      for (int i = 0; i < kOffers; ++i) Offer(value, value);
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  swaps.join();
  const VersionMeasures measures = Measures();
  EXPECT_LE(measures.compared() + measures.mirror_dropped(), kThreads * kOffers);
  EXPECT_EQ(measures.mirror_errors(), 0);
}

}  // namespace
}  // namespace tessera::serving
