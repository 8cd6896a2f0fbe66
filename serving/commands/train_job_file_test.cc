#include "serving/commands/train_job_file.h"

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

constexpr char kJob[] = R"(graph: {saved_model: model}
data:
  train: {files: [a.tfrecord], fields: [{name: x, shape: [64], dtype: float32}]}
  eval: {files: [b.tfrecord]}
batch: 32
steps: 100
eval:
  metrics:
    - {type: accuracy}
    - {type: top_k_accuracy, k: 3}
)";

class TrainJobFileTest : public ::testing::Test {
 protected:
  // Reads the text as a file and returns its findings, a line each.
  std::string Read(const std::string& text, const std::vector<std::string>& settings = {}) {
    const std::string path = JoinPath(::testing::TempDir(), "job.yaml");
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    ConfigReport report;
    job_.Clear();
    ReadTrainingJob(path, settings, &job_, &report);
    std::string findings;
    for (const ConfigFinding& finding : report.findings()) {
      findings += std::to_string(finding.place.line) + " " + finding.place.key + ": " +
                  finding.message + "\n";
    }
    return findings;
  }

  training::TrainingJob job_;
};

TEST_F(TrainJobFileTest, ReadsBlocksAndLists) {
  EXPECT_EQ(Read(kJob), "");
  EXPECT_EQ(job_.graph().saved_model(), "model");
  EXPECT_EQ(job_.data().train().fields(0).shape(0), 64);
  EXPECT_EQ(job_.eval().metrics(1).k(), 3);
}

TEST_F(TrainJobFileTest, FindsEverythingWithLineKeyAndNearestName) {
  EXPECT_EQ(Read("graf: {saved_model: m}\nsteps: many\nhooks:\n  checkpoint: {every_step: 1}\n"),
            "1 graf: unknown key 'graf' in job; did you mean 'graph'?\n"
            "2 job.steps: job.steps must be of type int64; 'many' is not\n"
            "4 every_step: unknown key 'every_step' in job.hooks.checkpoint; did you mean "
            "'every_steps'?\n");
}

TEST_F(TrainJobFileTest, RefusesAnotherDocument) {
  const std::string marked = std::string("---\n") + kJob + "---\n";
  EXPECT_EQ(Read(marked), "");
  EXPECT_EQ(Read(marked + "steps: 7\n"), "13 : another document begins here; a file has one\n");
}

TEST_F(TrainJobFileTest, ChecksSettingsTogetherAndFindsTheirLines) {
  EXPECT_EQ(Read("graph: {saved_model: m}\nsteps: 5\nepochs: 2\ndata: {train: {}}\nbatch: 1\n"
                 "hooks:\n  profiler:\n    from_step: 1\n"),
            "3 epochs: a job has either steps or epochs, not both\n"
            "7 hooks.profiler.steps: must be at least 1\n");
}

TEST_F(TrainJobFileTest, SettingsGoOverTheFile) {
  EXPECT_EQ(Read(kJob, {"hooks.checkpoint.every_steps=10", "eval.metrics[1].k=5",
                        "data.train.files=[c, d]", "graph.outputs.logits=dense/add:0",
                        "graph.forward=f.pb", "hooks.summary={histograms: true}", "seed=7"}),
            "");
  EXPECT_EQ(job_.hooks().checkpoint().every_steps(), 10);
  EXPECT_EQ(job_.eval().metrics(1).k(), 5);
  EXPECT_EQ(job_.data().train().files_size(), 2);
  EXPECT_EQ(job_.graph().outputs().at("logits"), "dense/add:0");
  EXPECT_EQ(job_.graph().forward(), "f.pb");
  EXPECT_TRUE(job_.hooks().summary().histograms());
  EXPECT_EQ(job_.seed(), 7);
}

TEST_F(TrainJobFileTest, SettingsWithoutAValueTakeOutWhatTheFileHas) {
  const std::string job = std::string(kJob) +
                          "export: {base_path: served, outputs: {a: a:0, b: b:0}, "
                          "metric: accuracy, at_least: 0.5}\n";
  EXPECT_EQ(Read(job, {"export=", "seed=", "eval.every_steps="}), "");
  EXPECT_FALSE(job_.has_export_());
  EXPECT_EQ(Read(job, {"export.metric=", "export.at_least=", "export.outputs.a=",
                       "export.outputs.c=", "eval.metrics="}),
            "");
  EXPECT_TRUE(job_.has_export_());
  EXPECT_FALSE(job_.export_().has_at_least());
  EXPECT_EQ(job_.export_().outputs_size(), 1);
  EXPECT_EQ(job_.export_().outputs().at("b"), "b:0");
  EXPECT_EQ(job_.eval().metrics_size(), 0);
  // A setting inside of a block that is not there makes none.
  EXPECT_EQ(Read(kJob, {"export.metric=", "export.outputs.a=", "hooks.profiler.steps="}), "");
  EXPECT_FALSE(job_.has_export_());
  EXPECT_FALSE(job_.hooks().has_profiler());
  // Nor does it take out another choice of the same kind.
  EXPECT_EQ(Read(kJob, {"graph.forward="}), "");
  EXPECT_EQ(job_.graph().saved_model(), "model");
  // What a job cannot do without is missed at its place.
  EXPECT_EQ(Read(kJob, {"batch="}), "0 set batch: is missing: the number of rows of a batch\n");
  EXPECT_EQ(Read(kJob, {"exports="}),
            "0 set exports: unknown key 'exports' in job; did you mean 'export'?\n");
}

class JobErrorTest : public ::testing::Test {
 protected:
  // Returns the place of the finding for an error with this message.
  std::string PlaceOf(const std::string& message, const std::vector<std::string>& settings = {}) {
    const std::string path = JoinPath(::testing::TempDir(), "job.yaml");
    EXPECT_TRUE(WriteFileAtomically(path, kJob).ok());
    ConfigReport report;
    AddJobError(path, settings, absl::InvalidArgumentError(message), &report);
    EXPECT_EQ(report.findings().size(), 1);
    const ConfigFinding& finding = report.findings()[0];
    EXPECT_EQ(finding.message, message);
    return finding.place.file.empty() ? finding.place.key : std::to_string(finding.place.line);
  }
};

TEST_F(JobErrorTest, StandsAtTheSettingThatItsMessageNames) {
  EXPECT_EQ(PlaceOf("graph: graph.saved_model: 'm' is not there"), "1");
  EXPECT_EQ(PlaceOf("data.train: fields[0]: field 'x': dtype: 'flaot' is no dtype"), "3");
  EXPECT_EQ(PlaceOf("data.eval: files: no file matches 'b.tfrecord'"), "4");
  EXPECT_EQ(PlaceOf("eval: metrics[1]: the metric 'k': the graph has no output"), "10");
  EXPECT_EQ(PlaceOf("graph and data.train: the input 'x' is float"), "3");
}

TEST_F(JobErrorTest, StandsAtTheNearestBlockIfTheFileLacksTheSetting) {
  EXPECT_EQ(PlaceOf("graph: graph.loss.type is '', which is no loss"), "1");
  EXPECT_EQ(PlaceOf("eval: metrics[7]: the metric 'loss': it is too large"), "8");
}

TEST_F(JobErrorTest, TakesNoNameThatItsMessageQuotesForASetting) {
  EXPECT_EQ(PlaceOf("eval: the data have no field 'graph.saved_model'"), "7");
  EXPECT_EQ(PlaceOf("the graph's input 'data.train' is fed by nothing"), "0");
  EXPECT_EQ(PlaceOf("the graph's inputs differ from data.train's: see data.train"), "3");
  EXPECT_EQ(PlaceOf("no file matches 'data.train"), "0") << "a quote without its end";
}

TEST_F(JobErrorTest, HasNoLineIfItsMessageNamesNoSetting) {
  EXPECT_EQ(PlaceOf("there is no such thing: 'foo.bar'"), "0");
  EXPECT_EQ(PlaceOf(""), "0");
}

TEST_F(JobErrorTest, StandsAtTheOptionThatGaveTheSetting) {
  EXPECT_EQ(PlaceOf("graph.optimizer.type is 'x'", {"steps=3", "graph.optimizer={type: x}"}),
            "set graph.optimizer");
  EXPECT_EQ(PlaceOf("data.train: files: none", {"data.train.files=[c]"}), "set data.train.files");
  EXPECT_EQ(PlaceOf("data.train: files: none", {"data.train.file=[c]", "data.tr=1"}), "3");
}

TEST_F(TrainJobFileTest, WrongSettingsAreToldByTheirKeys) {
  EXPECT_EQ(Read(kJob, {"stepz=1"}),
            "0 set stepz: unknown key 'stepz' in job; did you mean 'steps'?\n");
  EXPECT_EQ(Read(kJob, {"steps.x=1"}), "0 set steps.x: job.steps has no keys\n");
  EXPECT_EQ(Read(kJob, {"steps=x"}), "0 set steps: job.steps must be of type int64; 'x' is not\n");
  EXPECT_EQ(Read(kJob, {"eval.metrics[2].k=1"}),
            "0 set eval.metrics[2].k: job.eval.metrics is a list of 2; name one of them: "
            "metrics[0]\n");
  EXPECT_EQ(Read(kJob, {"eval.metrics[0]={type: auc}"}),
            "0 set eval.metrics[0]: set a key of the element, such as eval.metrics[0].type=VALUE, "
            "or the whole list: KEY=[A, B]\n");
  EXPECT_EQ(Read(kJob, {"data.train.files[0]=b"}),
            "0 set data.train.files[0]: a list is set as a whole: KEY=[A, B]\n");
  EXPECT_EQ(Read(kJob, {"steps"}),
            "0 set steps: it must be KEY=VALUE, such as hooks.checkpoint.every_steps=10\n");
  EXPECT_EQ(Read(kJob, {"steps=-1"}), "0 set steps: must not be negative\n");
  EXPECT_EQ(Read(kJob, {"hooks.nan={off: true, debug: true}"}),
            "0 set hooks.nan: hooks.nan.debug: has no effect with off: true\n");
}

TEST_F(TrainJobFileTest, TellsWhatIsNoYamlOrNoFile) {
  EXPECT_EQ(Read("a: [1").substr(0, 2), "1 ");
  EXPECT_NE(Read("just a text"), "");
  ConfigReport report;
  ReadTrainingJob("/nowhere/job.yaml", {}, &job_, &report);
  EXPECT_EQ(report.FirstError().code(), absl::StatusCode::kNotFound);
  ConfigReport of_folder;
  ReadTrainingJob(::testing::TempDir(), {}, &job_, &of_folder);
  EXPECT_EQ(of_folder.FirstError().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tessera::serving
