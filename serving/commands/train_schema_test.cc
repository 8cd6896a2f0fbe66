// config/train.schema.json says what ReadTrainingJob() takes.
#include <utility>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/commands/train_job_file.h"
#include "serving/server/testing/schema_file.h"
#include "tessera/training/job.pb.h"

namespace tessera::serving {
namespace {

// Returns "" if the job is read without an error, else the first one.
std::string Refusal(const std::string& yaml) {
  const std::string path = JoinPath(::testing::TempDir(), "schema.yaml");
  EXPECT_TRUE(WriteFileAtomically(path, yaml).ok());
  training::TrainingJob job;
  ConfigReport report;
  ReadTrainingJob(path, {}, &job, &report);
  return std::string(report.FirstError().message());
}

TEST(TrainSchemaTest, HasTheFieldsOfTheMessages) {
  const SchemaFile schema("config/train.schema.json");
  schema.CheckMessage(schema.json(), *training::TrainingJob::descriptor());
}

TEST(TrainSchemaTest, SamplesAreValidAndTheirSettingsGood) {
  const SchemaFile schema("config/train.schema.json");
  for (const char* path : {"config/train.yaml", "serving/commands/digits/job.yaml"}) {
    const std::string sample = *ReadFile(path);
    EXPECT_EQ(schema.Broken(sample), "") << path;
    EXPECT_EQ(Refusal(sample), "") << path;
  }
}

TEST(TrainSchemaTest, TheSampleHasEveryBlock) {
  training::TrainingJob job;
  ConfigReport report;
  ReadTrainingJob("config/train.yaml", {}, &job, &report);
  const auto* descriptor = job.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    if (field->name() == "epochs" || field->name() == "threads") continue;  // 0 there
    EXPECT_TRUE(job.GetReflection()->HasField(job, field)) << field->name();
  }
}

TEST(TrainSchemaTest, RefusesWhatTheCommandRefuses) {
  const SchemaFile schema("config/train.schema.json");
  const std::pair<const char*, const char*> kBad[] = {
      {"{graph: {saved_model: m}, stepz: 1}", "additionalProperties"},
      {"{steps: 1}", "required"},
      {"{graph: {saved_model: m}, steps: many}", "type"},
      {"{graph: {saved_model: m}, steps: -1}", "minimum"},
      {"{graph: {saved_model: m}, hooks: {checkpoint: {every: 1}}}", "additionalProperties"},
      {"{graph: {saved_model: m}, eval: {metrics: {type: auc}}}", "type"},
      {"{graph: {clip: {norm: 1, value: 2}}}", "maxProperties"},
  };
  for (const auto& [yaml, keyword] : kBad) {
    EXPECT_EQ(schema.Broken(yaml), keyword) << yaml;
    EXPECT_NE(Refusal(yaml), "") << yaml;
  }
}

}  // namespace
}  // namespace tessera::serving
