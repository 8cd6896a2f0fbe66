// What becomes of the models on an accelerator that is lost while they are served.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/device/testing/late_stream.h"
#include "serving/core/testing/wait_until.h"
#include "serving/servables/saved_model/saved_model_loader.h"
#include "serving/servables/served_models.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHalfPlusTwo[] = "tests/data/tfserving/half_plus_two";

// Each model has an accelerator of its own.
class LostDeviceTest : public ::testing::Test {
 protected:
  LostDeviceTest() {
    auto loading = std::make_shared<SavedModelLoader::Options>();
    loading->session.devices.count["ACCEL"] = 1;
    ServedModels::Options options;
    options.manager.health_interval = absl::Milliseconds(5);
    options.manager.max_load_retries = 0;
    options.source = {.poll_interval = absl::Milliseconds(5), .settle_time = absl::ZeroDuration()};
    options.metrics = &registry_;
    options.platforms["tensorflow"] =
        [loading](const ServableId& id,
                  const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<SavedModelLoader>(id, directory, loading);
    };
    models_ = std::make_unique<ServedModels>(std::move(options));
    tensorflow::serving::ModelServerConfig config;
    for (const char* name : {"lost", "other"}) {
      auto* const model = config.mutable_model_config_list()->add_config();
      model->set_name(name);
      model->set_base_path(fs::absolute(kHalfPlusTwo));
      model->set_model_platform("tensorflow");
    }
    const absl::Status applied = models_->ApplyConfig(config);
    EXPECT_TRUE(applied.ok()) << applied;
  }

  absl::Status Predict(const std::string& name) {
    auto handle = models_->Acquire({.name = name});
    if (!handle.ok()) return handle.status();
    const absl::string_view input = "x";
    const auto value = [](size_t) -> absl::StatusOr<Tensor> {
      return Tensor::Vector<float>({2, 10});
    };
    PredictResult result;
    const absl::Status status = (*handle)->Predict({"", {&input, 1}, value, {}}, {}, &result);
    if (status.ok()) {
      EXPECT_THAT(result.outputs[0].tensor.flat<float>(), ElementsAre(3, 7));
    }
    return status;
  }

  // Returns once the accelerator of the model has been lost by a fault in the work on it.
  void LoseDeviceOf(const std::string& name) {
    const auto handle = models_->Acquire({.name = name});
    ASSERT_TRUE(handle.ok()) << handle.status();
    const auto* const servable = static_cast<const SavedModelServable*>(handle->get());
    Stream* const stream = servable->session().ListDevices()[0]->stream();
    static_cast<LateStream*>(stream)->Lose();
    EXPECT_EQ(stream->Synchronize().code(), absl::StatusCode::kUnavailable);
  }

  // Returns false if the server stays ready.
  bool WaitUntilNotReady() {
    return WaitUntil([&] { return !models_->IsReady(); });
  }

  MetricsRegistry registry_;
  std::unique_ptr<ServedModels> models_;
};

TEST_F(LostDeviceTest, HealthGoesRedItsModelIsUnavailableAndOthersAnswer) {
  ASSERT_TRUE(Predict("lost").ok());
  ASSERT_TRUE(Predict("other").ok());
  ASSERT_TRUE(models_->IsReady());

  LoseDeviceOf("lost");
  // At first the version that is there fails, then it is taken out of service.
  EXPECT_EQ(Predict("lost").code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(WaitUntilNotReady());
  const absl::Status status = Predict("lost");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("device:ACCEL:0 is lost"));

  const absl::Status other = Predict("other");
  EXPECT_TRUE(other.ok()) << other;
}

}  // namespace
}  // namespace tessera::serving
