// Captured runs of programs that read and write variables, and of functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CapturedStateTest : public ::testing::Test {
 protected:
  // A node without inputs of a function, by the text of its inputs and attributes.
  void Add(const std::string& name, const std::string& op, const std::string& inputs_and_attrs) {
    absl::StrAppend(&text_, "node { name: '", name, "' op: '", op, "' ", inputs_and_attrs, " }\n");
  }
  static std::string Type(const std::string& attr, const std::string& type = "DT_FLOAT") {
    return absl::StrCat(" attr { key: '", attr, "' value { type: ", type, " } }");
  }
  static std::string In(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) absl::StrAppend(&text, " input: '", name, "'");
    return text;
  }
  void AddFloat(const std::string& name, float value) {
    Add(name, "Const",
        absl::StrCat(Type("dtype"),
                     " attr { key: 'value' value { tensor { dtype: DT_FLOAT "
                     "float_val: ",
                     value, " tensor_shape {} } } }"));
  }
  // The variable `name` of two floats, its value `name`/read, and the target `name`/init that sets
  // it to what placeholder `first` is fed with.
  void AddVariable(const std::string& name) {
    Add(name, "VarHandleOp",
        Type("dtype") +
            " attr { key: 'shape' value { shape { dim { size: 2 } } } }"
            " attr { key: 'shared_name' value { s: '" +
            name + "' } }");
    Add(name + "_read", "ReadVariableOp", In({name}) + Type("dtype"));
    Add(name + "_init", "AssignVariableOp", In({name, "first"}) + Type("dtype"));
  }
  void Make(bool with_accelerator = true) {
    SessionOptions options;
    if (with_accelerator) options.devices.count["ACCEL"] = 1;
    options.inter_op_threads = 2;
    session_ = *Session::Create(options);
    tensorflow::GraphDef graph;
    CHECK(google::protobuf::TextFormat::ParseFromString(text_, &graph)) << text_;
    graph.MergeFrom(functions_);
    graph.mutable_versions()->set_producer(1000);
    const absl::Status extended = session_->Extend(graph);
    ASSERT_TRUE(extended.ok()) << extended;
  }
  int64_t NumCaptured() const {
    return static_cast<const TestAccelerator*>(session_->ListDevices()[0])->num_captured_enqueued();
  }
  static Tensor Pair(float a, float b) { return Tensor::Vector<float>({a, b}); }
  // Feeds "x" unless it has no value.
  absl::StatusOr<std::vector<Tensor>> Run(const Tensor& x, const std::vector<std::string>& fetches,
                                          const std::vector<std::string>& targets = {}) const {
    std::vector<NamedTensor> feeds;
    if (x.has_value()) feeds.emplace_back("x:0", x);
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(session_->Run(feeds, fetches, targets, &outputs));
    return outputs;
  }
  void Set(const std::string& variable, const Tensor& value) const {
    const absl::Status status =
        session_->Run({{"first:0", value}}, {}, {variable + "_init"}, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::vector<float> Value(const std::string& variable) const {
    const auto outputs = Run(Tensor(), {variable + "_read:0"});
    CHECK(outputs.ok()) << outputs.status();
    const auto flat = (*outputs)[0].flat<float>();
    return {flat.begin(), flat.end()};
  }

  // Momentum with the gradient w * x, and a count of the steps that is assigned anew each time.
  void AddTraining() {
    Add("first", "Placeholder", Type("dtype"));
    Add("x", "Placeholder", Type("dtype"));
    for (const char* name : {"w", "momentum", "count", "rate"}) AddVariable(name);
    AddFloat("one", 1);
    AddFloat("decay", 0.5);
    Add("axis", "Const",
        Type("dtype", "DT_INT32") +
            " attr { key: 'value' value { tensor { dtype: DT_INT32 int_val:"
            " 0 tensor_shape {} } } }");
    Add("gradient", "Mul", In({"w_read", "x"}) + Type("T"));
    Add("loss", "Sum", In({"gradient", "axis"}) + Type("T"));
    Add("lr", "Max", In({"rate_read", "axis"}) + Type("T"));
    Add("update", "ResourceApplyMomentum",
        In({"w", "momentum", "lr", "gradient", "decay"}) + Type("T"));
    Add("counted", "AddV2", In({"count_read", "one"}) + Type("T"));
    Add("count_up", "AssignVariableOp", In({"count", "counted"}) + Type("dtype"));
    Add("train", "NoOp", In({"^update", "^count_up"}));
  }
  void SetAll() const {
    Set("w", Pair(1, -2));
    Set("momentum", Pair(0, 0));
    Set("count", Pair(0, 10));
    Set("rate", Pair(0.1f, 0.01f));
  }

  std::string text_;
  tensorflow::GraphDef functions_;
  std::unique_ptr<Session> session_;
};

TEST_F(CapturedStateTest, StepsAreReplayedWithTheNumbersOfOtherDevices) {
  AddTraining();
  std::vector<std::vector<float>> curves[2], finals[2];
  for (const bool on_accelerator : {false, true}) {
    Make(on_accelerator);
    SetAll();
    for (int step = 0; step < 8; ++step) {
      const auto outputs = Run(Pair(0.1f * step, 1), {"loss:0", "count_read:0"}, {"train"});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      // What is fetched was read before it was written.
      EXPECT_THAT((*outputs)[1].flat<float>(), ElementsAre(step, step + 10));
      curves[on_accelerator].push_back({(*outputs)[0].scalar<float>()});
    }
    finals[on_accelerator] = {Value("w"), Value("momentum"), Value("count")};
  }
  EXPECT_EQ(curves[0], curves[1]);
  EXPECT_EQ(finals[0], finals[1]);
  EXPECT_THAT(finals[1][2], ElementsAre(8, 18));
  // All steps but the first.
  EXPECT_GE(NumCaptured(), 7);
}

TEST_F(CapturedStateTest, VariablesThatWereSetElsewhereAreCapturedAnew) {
  AddTraining();
  Make();
  SetAll();
  for (int round = 0; round < 3; ++round) {
    Set("w", Pair(round, 1));
    Set("momentum", Pair(0, 0));
    // No decay of an earlier momentum, and a rate that is another one each time.
    Set("rate", Pair(0.25f * round, 0));
    const int64_t before = NumCaptured();
    std::vector<float> w = {static_cast<float>(round), 1}, m = {0, 0};
    for (int step = 0; step < 5; ++step) {
      const auto outputs = Run(Pair(1, 2), {"loss:0"}, {"train"});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_NEAR((*outputs)[0].scalar<float>(), w[0] + 2 * w[1], 1e-4f);
      for (int i = 0; i < 2; ++i) {
        m[i] = m[i] * 0.5f + w[i] * (i == 0 ? 1 : 2);
        w[i] -= 0.25f * round * m[i];
      }
    }
    EXPECT_NEAR(Value("w")[1], w[1], 1e-4f);
    EXPECT_GT(NumCaptured(), before) << "in round " << round;
  }
}

TEST_F(CapturedStateTest, AVariableWithoutAValueIsAnErrorAndIsCapturedOnceItHasOne) {
  AddTraining();
  Make();
  for (int run = 0; run < 4; ++run) {
    const auto outputs = Run(Pair(1, 1), {"loss:0"}, {"train"});
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("no value yet"));
  }
  EXPECT_EQ(NumCaptured(), 0);
  SetAll();
  for (int run = 0; run < 5; ++run) ASSERT_TRUE(Run(Pair(1, 1), {"loss:0"}, {"train"}).ok());
  EXPECT_THAT(Value("count"), ElementsAre(5, 15));
  EXPECT_GT(NumCaptured(), 0);
}

TEST_F(CapturedStateTest, VariablesMayGetEachOthersValues) {
  Add("first", "Placeholder", Type("dtype"));
  AddVariable("a");
  AddVariable("b");
  Add("to_a", "AssignVariableOp", In({"a", "b_read", "^a_read"}) + Type("dtype"));
  Add("to_b", "AssignVariableOp", In({"b", "a_read", "^b_read"}) + Type("dtype"));
  Add("swap", "NoOp", In({"^to_a", "^to_b"}));
  Make();
  Set("a", Pair(1, 2));
  Set("b", Pair(3, 4));
  for (int run = 1; run <= 6; ++run) {
    ASSERT_TRUE(Run(Tensor(), {}, {"swap"}).ok());
    EXPECT_THAT(Value("a"), run % 2 == 1 ? ElementsAre(3, 4) : ElementsAre(1, 2)) << run;
    EXPECT_THAT(Value("b"), run % 2 == 1 ? ElementsAre(1, 2) : ElementsAre(3, 4)) << run;
  }
}

TEST_F(CapturedStateTest, RunsAtOnceKeepVariablesWhole) {
  Add("first", "Placeholder", Type("dtype"));
  Add("x", "Placeholder", Type("dtype"));
  AddVariable("sum");
  Add("add", "AssignAddVariableOp", In({"sum", "x"}) + Type("dtype"));
  Make();
  Set("sum", Pair(0, 0));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int run = 0; run < 50; ++run) {
        const auto status = Run(Pair(1, t), {}, {"add"}).status();
        ASSERT_TRUE(status.ok()) << status;
        if (run % 10 == 0) Value("sum");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Value("sum"), ElementsAre(200, 50 * (0 + 1 + 2 + 3)));
}

// While n < 6: n += 1, x = x * w, in functions. `w` is a variable.
constexpr char kLoop[] = R"(
  def cond(n: float, x: float, w: resource) -> (go_on: bool):
    limit = Const() {dtype: float, value: float(6)}
    less = Less(n, limit:output:0) {T: float}
  return (go_on = less:z:0)

  def body(n: float, x: float, w: resource) -> (n_out: float, x_out: float, w_out: resource):
    one = Const() {dtype: float, value: float(1)}
    next = AddV2(n, one:output:0) {T: float}
    factor = ReadVariableOp(w) {dtype: float}
    scaled = Mul(x, factor:value:0) {T: float}
  return (n_out = next:z:0, x_out = scaled:z:0, w_out = w)
)";

TEST_F(CapturedStateTest, BodiesOfLoopsAreCaptured) {
  Add("first", "Placeholder", Type("dtype"));
  Add("x", "Placeholder", Type("dtype"));
  AddVariable("w");
  AddFloat("zero", 0);
  Add("loop", "While",
      In({"zero", "x", "w"}) +
          " attr { key: 'T' value { list { type: [DT_FLOAT, DT_FLOAT, DT_RESOURCE] } } }"
          " attr { key: 'cond' value { func { name: 'cond' } } }"
          " attr { key: 'body' value { func { name: 'body' } } }"
          " attr { key: '_lower_using_switch_merge' value { b: false } }");
  *functions_.mutable_library() = GraphFromText(kLoop).library();
  Make();
  for (const float w : {2.0f, 3.0f}) {
    Set("w", Pair(w, 1));
    for (int run = 1; run <= 3; ++run) {
      const auto outputs = Run(Pair(run, run), {"loop:1"});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_THAT((*outputs)[0].flat<float>(), ElementsAre(run * std::pow(w, 6), run));
    }
  }
  // Two functions, six or seven calls a loop, of which the first few are not captured.
  EXPECT_GE(NumCaptured(), 40);
}

}  // namespace
}  // namespace tessera
