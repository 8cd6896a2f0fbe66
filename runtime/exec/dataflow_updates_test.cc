// Updates of variables in runs by dataflow: how many tasks they take, and that they stay the same.
#include <atomic>
#include <map>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/testing/executor_test_ops.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kVariables = 40;
constexpr int kThreads = 3;

// The closures that were given to the pool of the test in progress.
std::atomic<int> tasks{0};

Tensor Floats(float a, float b) { return Tensor::Vector<float>({a, b}); }

// A training step with a loop of TensorFlow 1: all variables are updated once the loop has ended.
class UpdatesTest : public ::testing::Test {
 protected:
  // while (i < limit) ++i; the result.
  Endpoint Loop(int limit) {
    const auto enter = [&](Endpoint value, bool is_constant) {
      return g_.Op("Enter", {value},
                   {{"T", DType::kInt32},
                    {"frame_name", std::string("loop")},
                    {"is_constant", is_constant},
                    {"parallel_iterations", int64_t{10}}});
    };
    const AttrMap int32 = {{"T", DType::kInt32}};
    Node* const merge = g_.OpNode("Merge", {enter(g_.Const(0), false), Endpoint{}},
                                  {{"T", DType::kInt32}, {"N", int64_t{2}}});
    const Endpoint less = g_.Op("TestLess", {{merge, 0}, enter(g_.Const(limit), true)});
    Node* const split = g_.OpNode("Switch", {{merge, 0}, g_.Op("LoopCond", {less})}, int32);
    const Endpoint next = g_.Op("TestAdd", {{split, 1}, g_.Const(1)});
    EXPECT_TRUE(g_.graph.Connect(g_.Op("NextIteration", {next}, int32), merge, 1).ok());
    return g_.Op("Exit", {{split, 0}}, int32);
  }

  Endpoint Float(Tensor value, Node* after = nullptr) {
    const Endpoint constant =
        g_.Op("Const", {}, {{"dtype", DType::kFloat}, {"value", std::move(value)}});
    if (after != nullptr) g_.graph.AddControlEdge(after, constant.node);
    return constant;
  }

  // A variable of two elements, which gets `value` in Initialize(); none: it has no value.
  Endpoint Variable(const std::string& name, absl::optional<Tensor> value) {
    initial_[name] = std::move(value);
    return g_.Op("VariableV2", {},
                 {{"dtype", DType::kFloat},
                  {"shape", PartialShape({2})},
                  {"container", std::string()},
                  {"shared_name", name}});
  }

  Node* ApplyMomentum(Endpoint variable, Endpoint slot, Endpoint gradient,
                      const std::string& name = "") {
    return g_.OpNode(
        "ApplyMomentum",
        {variable, slot, Float(Tensor::Scalar(0.1f)), gradient, Float(Tensor::Scalar(0.9f))},
        {{"T", DType::kFloat}, {"use_locking", false}, {"use_nesterov", false}}, name);
  }

  // Updates kVariables variables behind a loop. Result i is variable i after its update.
  void AddUpdates() {
    const Endpoint exit = Loop(5);
    for (int i = 0; i < kVariables; ++i) {
      const Endpoint variable = Variable(absl::StrCat("v", i), Floats(i, -i));
      const Endpoint slot = Variable(absl::StrCat("m", i), Floats(0, 0.5f * i));
      Node* const update = ApplyMomentum(variable, slot, Float(Floats(1 + i, 0.3f), exit.node));
      const Endpoint read = g_.Op("Identity", {variable}, {{"T", DType::kFloat}});
      g_.graph.AddControlEdge(update, read.node);
      g_.Result(i, read);
    }
  }

  // Makes variables in `resources` for Run().
  void Initialize(ResourceManager& resources) const {
    for (const auto& [name, value] : initial_) {
      auto variable = MakeRefCounted<tessera::Variable>(DType::kFloat, PartialShape({2}));
      if (value.has_value()) variable->Assign(*value);
      ASSERT_TRUE(
          resources.Create("", tessera::Variable::kRefTypeName, name, std::move(variable)).ok());
    }
  }

  absl::StatusOr<std::vector<Tensor>> Run(ResourceManager& resources, ThreadPool* pool) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, Compile(g_.graph, {}));
    TestStep step;
    step.context.resources = &resources;
    step.context.inter_op_pool = pool;
    std::vector<Tensor> results;
    RunArgs run;
    run.results = &results;
    RETURN_IF_ERROR(executor->Run(step.context, run));
    return results;
  }

  static Tensor Value(const ResourceManager& resources, const std::string& name) {
    absl::StatusOr<IntrusivePtr<Resource>> found =
        resources.Lookup("", tessera::Variable::kRefTypeName, name);
    EXPECT_TRUE(found.ok()) << found.status();
    return static_cast<tessera::Variable&>(**found).Read();
  }

  TestGraph g_;
  std::map<std::string, absl::optional<Tensor>> initial_;
};

TEST_F(UpdatesTest, TakeAsManyTasksAsThereAreThreads) {
  AddUpdates();
  ThreadPool pool({.name = "test",
                   .num_threads = kThreads,
                   .around_redirected = [](absl::FunctionRef<void()> closure) {
                     ++tasks;
                     closure();
                   }});
  pool_redirect = &pool;
  const absl::Cleanup end = [] { pool_redirect = nullptr; };
  tasks = 0;
  ResourceManager resources;
  Initialize(resources);
  ASSERT_TRUE(Run(resources, &pool).ok());
  // The thread of the run is one of them.
  EXPECT_EQ(tasks, kThreads - 1);
}

TEST_F(UpdatesTest, AreTheSameOnAPoolAndAlone) {
  AddUpdates();
  ThreadPool pool({.name = "test", .num_threads = kThreads});
  ResourceManager alone, shared;
  Initialize(alone);
  Initialize(shared);
  for (int step = 0; step < 3; ++step) {
    const absl::StatusOr<std::vector<Tensor>> expected = Run(alone, nullptr);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> results = Run(shared, &pool);
    ASSERT_TRUE(results.ok()) << results.status();
    for (int i = 0; i < kVariables; ++i) {
      EXPECT_EQ((*results)[i].flat<float>(), (*expected)[i].flat<float>()) << i;
      EXPECT_NE((*results)[i].flat<float>(), initial_.at(absl::StrCat("v", i))->flat<float>());
    }
  }
}

TEST_F(UpdatesTest, ThatDependOnEachOtherKeepTheirOrder) {
  const Endpoint variable = Variable("v", Floats(1, 2));
  const Endpoint slot = Variable("m", Floats(0, 0));
  // The gradient of each update is the variable after the one before.
  Node* last = Loop(3).node;
  for (int i = 0; i < 10; ++i) {
    const Endpoint read = g_.Op("Identity", {variable}, {{"T", DType::kFloat}});
    g_.graph.AddControlEdge(last, read.node);
    last = ApplyMomentum(variable, slot, read);
  }
  const Endpoint end = g_.Op("Identity", {variable}, {{"T", DType::kFloat}});
  g_.graph.AddControlEdge(last, end.node);
  g_.Result(0, end);
  float value = 1, momentum = 0;
  for (int i = 0; i < 10; ++i) {
    momentum = momentum * 0.9f + value;
    value -= momentum * 0.1f;
  }
  ThreadPool pool({.name = "test", .num_threads = kThreads});
  ResourceManager resources;
  Initialize(resources);
  const absl::StatusOr<std::vector<Tensor>> results = Run(resources, &pool);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT((*results)[0].flat<float>(),
              ElementsAre(::testing::FloatEq(value), ::testing::FloatEq(2 * value)));
}

TEST_F(UpdatesTest, OfABranchThatIsNotTakenDoNotRun) {
  const Endpoint exit = Loop(5);
  const Endpoint is_large = g_.Op("TestLess", {exit, g_.Const(1)});
  const Endpoint gradient = Float(Floats(1, 1));
  Node* const split = g_.OpNode("Switch", {gradient, is_large}, {{"T", DType::kFloat}});
  const Endpoint kept = Variable("kept", Floats(1, 2));
  const Endpoint changed = Variable("changed", Floats(1, 2));
  ApplyMomentum(kept, Variable("kept/m", Floats(0, 0)), {split, 1});
  ApplyMomentum(changed, Variable("changed/m", Floats(0, 0)), {split, 0});
  ThreadPool pool({.name = "test", .num_threads = kThreads});
  ResourceManager resources;
  Initialize(resources);
  ASSERT_TRUE(Run(resources, &pool).ok());
  EXPECT_THAT(Value(resources, "kept").flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT(Value(resources, "changed").flat<float>(), ElementsAre(0.9f, 1.9f));
}

TEST_F(UpdatesTest, AnErrorInOneNamesItsNode) {
  AddUpdates();
  ApplyMomentum(Variable("empty", absl::nullopt), Variable("empty/m", absl::nullopt),
                Float(Floats(1, 1), Loop(2).node), "culprit");
  ThreadPool pool({.name = "test", .num_threads = kThreads});
  ResourceManager resources;
  Initialize(resources);
  const absl::Status status = Run(resources, &pool).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node culprit}}"));
}

}  // namespace
}  // namespace tessera
