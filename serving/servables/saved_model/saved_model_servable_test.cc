#include "serving/servables/saved_model/saved_model_servable.h"

#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/servables/saved_model/signature_runs.h"
#include "serving/servables/saved_model/testing/linear_session.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SavedModelServableTest : public ::testing::Test {
 protected:
  using Inputs = std::vector<std::pair<std::string, Tensor>>;

  absl::Status Predict(const std::string& signature, const Inputs& inputs,
                       std::vector<std::string> filter = {}, CallOptions options = {}) {
    std::vector<absl::string_view> names, filter_views(filter.begin(), filter.end());
    for (const auto& [name, tensor] : inputs) names.push_back(name);
    decoded_ = 0;
    auto input = [&](size_t i) -> absl::StatusOr<Tensor> {
      ++decoded_;
      if (!inputs[i].second.has_value()) {
        return absl::InvalidArgumentError("tensor parsing error: " + inputs[i].first);
      }
      return inputs[i].second;
    };
    result_ = PredictResult();
    return servable_->Predict({signature, names, input, filter_views}, options, &result_);
  }
  template <typename Method, typename Result>
  absl::Status Ask(Method method, const std::string& signature, int num_examples, Result* result) {
    auto examples = [&] { return Tensor::Allocate(DType::kString, {num_examples}); };
    return (servable_.get()->*method)({signature, examples}, {}, result);
  }
  absl::Status Classify(const std::string& signature, int n, ClassifyResult* result) {
    return Ask(&SavedModelServable::Classify, signature, n, result);
  }
  absl::Status Regress(const std::string& signature, int n, RegressResult* result) {
    return Ask(&SavedModelServable::Regress, signature, n, result);
  }
  absl::Status MultiInference(std::vector<std::pair<const char*, absl::string_view>> tasks, int n,
                              std::vector<InferenceResult>* results) {
    std::vector<InferenceTask> list;
    for (const auto& [signature, method] : tasks) {
      list.push_back({{.name = "m", .signature_name = signature}, method});
    }
    auto examples = [&] { return Tensor::Allocate(DType::kString, {n}); };
    return servable_->MultiInference(list, examples, {}, results);
  }
  void Remake(const SavedModelServable::Options& options) {
    servable_ = *SavedModelServable::Create(MakeLinearBundle(&log_), options);
  }

  LinearSessionLog log_;
  std::unique_ptr<SavedModelServable> servable_ =
      *SavedModelServable::Create(MakeLinearBundle(&log_), {});
  PredictResult result_;
  int decoded_ = 0;
};

const Tensor kX = Tensor::Vector<float>({2, 4});
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

TEST_F(SavedModelServableTest, InfoDescribesTheSignatures) {
  Remake({.id = {"m", 3}});
  const ModelInfo& info = servable_->info();
  EXPECT_EQ(info.id, (ServableId{"m", 3}));
  EXPECT_EQ(info.platform, "tensorflow");
  const SignatureInfo* signature = info.FindSignature("");
  ASSERT_NE(signature, nullptr);
  EXPECT_EQ(signature->method_name, kPredictMethod);
  EXPECT_TRUE(signature->is_pure);
  EXPECT_EQ(signature->inputs.at("x").dtype, DType::kFloat);
  EXPECT_EQ(signature->outputs.at("y").shape, PartialShape({-1, 1}));
  EXPECT_EQ(info.FindSignature("absent"), nullptr);
  EXPECT_EQ(info.FindSignature("odd_method")->computation, signature->computation)
      << "both feed x:0 and fetch y:0 and z:0";
  EXPECT_NE(info.FindSignature("two_inputs")->computation, signature->computation);
  EXPECT_NE(signature->computation, "");
}

TEST_F(SavedModelServableTest, PredictGivesAllOutputsByDefault) {
  ASSERT_TRUE(Predict("", {{"x", kX}}).ok());
  EXPECT_EQ(result_.signature_name, "serving_default");
  ASSERT_EQ(result_.outputs.size(), 2);
  EXPECT_EQ(result_.outputs[0].name, "y");
  EXPECT_THAT(result_.outputs[0].tensor.flat<float>(), ElementsAre(3, 4));
  EXPECT_EQ(result_.outputs[1].name, "z");
  EXPECT_THAT(result_.outputs[1].tensor.flat<float>(), ElementsAre(2, 4));
}

TEST_F(SavedModelServableTest, FilterChoosesOutputsInItsOrder) {
  ASSERT_TRUE(Predict("", {{"x", kX}}, {"z", "y"}).ok());
  EXPECT_EQ(result_.outputs[0].name, "z");
  EXPECT_THAT(result_.outputs[0].tensor.flat<float>(), ElementsAre(2, 4));
  EXPECT_THAT(result_.outputs[1].tensor.flat<float>(), ElementsAre(3, 4));
  ASSERT_TRUE(Predict("", {{"x", kX}}, {"z"}).ok());
  ASSERT_EQ(result_.outputs.size(), 1);
  EXPECT_THAT(result_.outputs[0].tensor.flat<float>(), ElementsAre(2, 4));
}

TEST_F(SavedModelServableTest, EachSetOfOutputsIsCompiledOnce) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Predict("", {{"x", kX}}).ok());
    ASSERT_TRUE(Predict("", {{"x", kX}}, {"z", "y"}).ok());
    ASSERT_TRUE(Predict("", {{"x", kX}}, {"z"}).ok());
  }
  EXPECT_EQ(log_.callables_made, 2);
  EXPECT_EQ(log_.runs, 9);
}

TEST_F(SavedModelServableTest, RequestsFromAllThreadsShareTheCompiledRuns) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      const absl::string_view name = "x";
      auto input = [](size_t) -> absl::StatusOr<Tensor> { return kX; };
      for (int i = 0; i < 200; ++i) {
        PredictResult result;
        EXPECT_TRUE(servable_->Predict({"", {&name, 1}, input, {}}, {}, &result).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log_.callables_made, 1);
}

TEST_F(SavedModelServableTest, SignatureIsCheckedBeforeInputs) {
  ExpectError(Predict("zz", {}), absl::StatusCode::kFailedPrecondition,
              "Serving signature key \"zz\" not found. The model has: classify, ");
}

TEST_F(SavedModelServableTest, WrongNumberOfInputsNamesExtraAndMissing) {
  ExpectError(Predict("", {}), kInvalid,
              "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. "
              "Missing but required: {x}.");
  ExpectError(Predict("", {{"x", kX}, {"w", kX}}), kInvalid,
              "input size does not match signature: 2!=1 len({w,x}) != len({x}). Sent extra: {w}. "
              "Missing but required: {}.");
  EXPECT_EQ(decoded_, 0) << "wrong names cost no decoding";
}

TEST_F(SavedModelServableTest, AnotherNameIsAMissingInput) {
  ExpectError(Predict("", {{"w", kX}}), kInvalid, "Signature input alias: x(feed name: x:0)");
  ExpectError(Predict("two_inputs", {{"c", kX}, {"a", kX}}), kInvalid, "Signature input alias: b");
}

TEST_F(SavedModelServableTest, AnotherDtypeIsToldOfTheInput) {
  const absl::Status status = Predict("", {{"x", Tensor::Vector<std::string>({"a"})}});
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_EQ(status.message(),
            "signature 'serving_default' expects its input 'x' to be float but string is provided");
}

TEST_F(SavedModelServableTest, AnotherShapeIsToldWhenTheRunFails) {
  log_.on_run = [](const RunOptions&) { return absl::InvalidArgumentError("{{node a}} no"); };
  ExpectError(Predict("two_inputs", {{"a", kX}, {"b", Tensor::Of<float>({2, 1}, {1, 2})}}),
              kInvalid,
              "signature 'two_inputs' expects its input 'a' to have shape [?,1] but [2] is "
              "provided: {{node a}} no");
  // What fits is not blamed, nor is it for other errors.
  EXPECT_EQ(Predict("", {{"x", Tensor::Of<float>({2, 1}, {1, 2})}}).message(), "{{node a}} no");
  log_.on_run = [](const RunOptions&) { return absl::CancelledError("cancelled"); };
  EXPECT_EQ(Predict("", {{"x", kX}}).message(), "cancelled");
  // TensorFlow Serving runs any shape that the ops take.
  log_.on_run = nullptr;
  EXPECT_TRUE(Predict("", {{"x", kX}}).ok());
}

TEST_F(SavedModelServableTest, WhatIsNoSingleTensorIsNamed) {
  ExpectError(Predict("sparse_input", {{"x", kX}}), kInvalid,
              "input 'x' of signature 'sparse_input' is made of several tensors");
  ExpectError(Predict("ragged_output", {{"x", kX}}), kInvalid,
              "output 'r' of signature 'ragged_output' is made of several tensors");
  ASSERT_TRUE(Predict("ragged_output", {{"x", kX}}, {"y"}).ok());
  EXPECT_THAT(result_.outputs.at(0).tensor.flat<float>(), ElementsAre(3, 4));
  // What TensorFlow calls a composite tensor has no dtype either.
  SavedModelBundle bundle = MakeLinearBundle(&log_);
  bundle.signatures["sparse_input"].inputs["x"].dtype = DType::kInvalid;
  servable_ = *SavedModelServable::Create(std::move(bundle), {});
  ExpectError(Predict("sparse_input", {{"x", kX}}), kInvalid, "is made of several tensors");
}

TEST_F(SavedModelServableTest, DefaultsFillAbsentInputs) {
  ASSERT_TRUE(Predict("with_default", {}).ok());
  EXPECT_THAT(result_.outputs[0].tensor.flat<float>(), ElementsAre(5));
  ASSERT_TRUE(Predict("with_default", {{"x", kX}}).ok());
  EXPECT_THAT(result_.outputs[0].tensor.flat<float>(), ElementsAre(3, 4));
  ExpectError(Predict("with_default", {{"w", kX}}), kInvalid, "Inputs contains invalid name.");
}

TEST_F(SavedModelServableTest, TensorsAreReadBeforeTheFilterIsChecked) {
  ExpectError(Predict("", {{"x", Tensor()}}, {"q"}), kInvalid, "tensor parsing error: x");
  ExpectError(Predict("", {{"x", kX}}, {"q"}), kInvalid,
              "output tensor alias not found in signature: q Outputs expected to be in the set "
              "{y,z}.");
  ExpectError(Predict("", {{"x", kX}}, {"y", "y"}), kInvalid, "duplicate output tensor alias: y");
  EXPECT_EQ(log_.runs, 0);
}

TEST_F(SavedModelServableTest, InputsAreMatchedByNameInAnyOrder) {
  const Tensor other = Tensor::Vector<float>({100});
  ASSERT_TRUE(Predict("two_inputs", {{"b", other}, {"a", kX}}).ok());
  EXPECT_THAT(result_.outputs[0].tensor.flat<float>(), ElementsAre(3, 4));
}

TEST_F(SavedModelServableTest, DeadlineBecomesTheRunsTimeout) {
  absl::Duration timeout;
  log_.on_run = [&](const RunOptions& options) {
    timeout = options.timeout;
    return absl::DeadlineExceededError("node slow/MatMul was not reached");
  };
  const absl::Time soon = absl::Now() + absl::Seconds(5);
  EXPECT_EQ(Predict("", {{"x", kX}}, {}, {.deadline = soon}),
            absl::DeadlineExceededError("Timed out waiting for notification"));
  EXPECT_GT(timeout, absl::Seconds(4));
  EXPECT_LE(timeout, absl::Seconds(5));
  const int runs = log_.runs;
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Predict("", {{"x", kX}}, {}, {.deadline = absl::Now() - absl::Seconds(1)})));
  EXPECT_EQ(log_.runs, runs) << "a late request does not run";
}

TEST_F(SavedModelServableTest, TypicalRunTimeFollowsTheRuns) {
  EXPECT_EQ(servable_->TypicalRunTime(""), absl::InfiniteDuration());
  ASSERT_TRUE(Predict("", {{"x", kX}}).ok());
  EXPECT_LT(servable_->TypicalRunTime(""), absl::Seconds(1));
  EXPECT_EQ(servable_->TypicalRunTime("classify"), absl::InfiniteDuration());
}

TEST_F(SavedModelServableTest, ARunThatTookVeryLongIsRemembered) {
  ASSERT_TRUE(Predict("", {{"x", kX}}).ok());
  log_.on_run = [](const RunOptions&) {
    absl::SleepFor(absl::Milliseconds(25));
    return absl::CancelledError("the client has gone");
  };
  EXPECT_TRUE(absl::IsCancelled(Predict("", {{"x", kX}})));
  log_.on_run = nullptr;
  int quick_runs = 0;
  for (; servable_->TypicalRunTime("") == absl::InfiniteDuration() && quick_runs < 1 << 20;
       ++quick_runs) {
    ASSERT_TRUE(Predict("", {{"x", kX}}).ok());
  }
  EXPECT_GE(quick_runs, 200);
  EXPECT_LT(servable_->TypicalRunTime(""), absl::Seconds(1));
}

TEST_F(SavedModelServableTest, OpenEndedRunsAreNeverShort) {
  SavedModelBundle bundle = MakeLinearBundle(&log_);
  bundle.signatures["serving_default"].is_open_ended = true;
  servable_ = *SavedModelServable::Create(std::move(bundle), {});
  ASSERT_TRUE(Predict("", {{"x", kX}}).ok());
  EXPECT_EQ(servable_->TypicalRunTime(""), absl::InfiniteDuration());
}

TEST_F(SavedModelServableTest, RunsThatMayWaitAreNeverShort) {
  bool may_wait = true;
  servable_ = *SavedModelServable::Create(MakeLinearBundle(&log_),
                                          {.runs_may_wait = [&] { return may_wait; }});
  ASSERT_TRUE(Predict("", {{"x", kX}}).ok());
  EXPECT_EQ(servable_->TypicalRunTime(""), absl::InfiniteDuration());
  may_wait = false;
  EXPECT_LT(servable_->TypicalRunTime(""), absl::Seconds(1));
}

TEST_F(SavedModelServableTest, EndlessOutputSetsShareTheRunForAll) {
  SavedModelBundle bundle = MakeLinearBundle(&log_);
  Signature& wide = bundle.signatures["wide"];
  wide = bundle.signatures["serving_default"];
  wide.outputs.clear();
  for (char c = 'a'; c <= 'j'; ++c) {
    wide.outputs[std::string(1, c)] =
        bundle.signatures["serving_default"].outputs[c < 'f' ? "y" : "z"];
  }
  servable_ = *SavedModelServable::Create(std::move(bundle), {});
  for (int set = 1; set < 1024; ++set) {
    std::vector<std::string> filter;
    for (int i = 0; i < 10; ++i) {
      if (set & (1 << i)) filter.emplace_back(1, static_cast<char>('a' + i));
    }
    ASSERT_TRUE(Predict("wide", {{"x", kX}}, filter).ok());
    for (const NamedOutput& output : result_.outputs) {
      EXPECT_EQ(output.tensor.flat<float>()[0], output.name < "f" ? 3 : 2);
    }
  }
  EXPECT_LE(log_.callables_made, SignatureRuns::kMaxOutputSets + 1);
}

TEST_F(SavedModelServableTest, MethodNamesAreCheckedOnlyIfAskedFor) {
  EXPECT_TRUE(Predict("odd_method", {{"x", kX}}).ok());
  ClassifyResult classified;
  RegressResult regressed;
  Remake({.check_method_names = true});
  ExpectError(Predict("odd_method", {{"x", kX}}), absl::StatusCode::kInternal,
              "Expected prediction signature method_name to be one of");
  ExpectError(Classify("regress", 1, &classified), kInvalid,
              "Expected classification signature method_name to be "
              "tensorflow/serving/classify. Was: tensorflow/serving/regress");
  ExpectError(Regress("classify", 1, &regressed), kInvalid,
              "Expected regression signature method_name to be tensorflow/serving/regress");
}

TEST_F(SavedModelServableTest, ClassifyGivesLabelsAndScores) {
  ClassifyResult result;
  ASSERT_TRUE(Classify("classify", 2, &result).ok());
  EXPECT_EQ(result.num_examples, 2);
  EXPECT_EQ(result.num_classes, 2);
  EXPECT_EQ(result.label(1, 1), "c1");
  EXPECT_EQ(result.score(1, 1), 1.5f);
  ClassifyResult scores_alone;
  ASSERT_TRUE(Classify("classify_scores", 3, &scores_alone).ok());
  EXPECT_EQ(scores_alone.label(2, 0), "");
  EXPECT_EQ(scores_alone.score(2, 0), 2);
}

TEST_F(SavedModelServableTest, ClassifyRefusesSignaturesThatDoNotFit) {
  ClassifyResult result;
  ExpectError(Classify("zz", 1, &result), kInvalid, "No signature was found with the name: zz");
  ExpectError(Classify("two_inputs", 1, &result), kInvalid, "Expected one input Tensor.");
  ExpectError(Classify("", 0, &result), kInvalid, "No classification inputs found in SignatureDef");
  ExpectError(Classify("regress", 1, &result), kInvalid,
              "at least one of \"classes\" or \"scores\"");
  ExpectError(Classify("classify", 0, &result), kInvalid, "Input is empty.");
  EXPECT_EQ(log_.runs, 0);
}

TEST_F(SavedModelServableTest, RegressTakesVectorsAndColumns) {
  RegressResult result;
  ASSERT_TRUE(Regress("regress", 3, &result).ok());
  EXPECT_THAT(result.values.flat<float>(), ElementsAre(0, 10, 20));
  ASSERT_TRUE(Regress("regress_flat", 2, &result).ok());
  EXPECT_THAT(result.values.flat<float>(), ElementsAre(0, 10));
  ExpectError(Regress("regress_wide", 2, &result), kInvalid, "[batch_size] or [batch_size, 1]");
  ExpectError(Regress("classify_scores", 2, &result), kInvalid,
              "No regression outputs found in SignatureDef");
  ExpectError(Regress("regress", 0, &result), kInvalid, "Input is empty.");
}

TEST_F(SavedModelServableTest, MultiInferenceRunsAllTasksAtOnce) {
  for (int i = 0; i < 2; ++i) {
    std::vector<InferenceResult> results;
    ASSERT_TRUE(
        MultiInference({{"regress", kRegressMethod}, {"classify", kClassifyMethod}}, 2, &results)
            .ok());
    ASSERT_EQ(results.size(), 2);
    EXPECT_EQ(std::get<RegressResult>(results[0]).signature_name, "regress");
    EXPECT_THAT(std::get<RegressResult>(results[0]).values.flat<float>(), ElementsAre(0, 10));
    EXPECT_EQ(std::get<ClassifyResult>(results[1]).label(0, 1), "c1");
    EXPECT_EQ(std::get<ClassifyResult>(results[1]).score(1, 0), 1);
  }
  EXPECT_EQ(log_.runs, 2);
  EXPECT_EQ(log_.callables_made, 1);
}

TEST_F(SavedModelServableTest, MultiInferenceRefusals) {
  std::vector<InferenceResult> results;
  ExpectError(
      MultiInference({{"regress", kRegressMethod}, {"regress", kRegressMethod}}, 1, &results),
      kInvalid, "Duplicate evaluation of signature: regress");
  ExpectError(MultiInference({{"zz", kRegressMethod}}, 1, &results), kInvalid,
              "Requested signature not found in model graph: zz");
  ExpectError(MultiInference({{"regress", kPredictMethod}}, 1, &results),
              absl::StatusCode::kUnimplemented,
              "Unsupported signature method_name: tensorflow/serving/predict");
  ExpectError(MultiInference({{"regress", kRegressMethod}}, 0, &results), kInvalid,
              "Input is empty.");
}

}  // namespace
}  // namespace tessera::serving
