// Feeds that come to an accelerator before the run that takes them.
#include "runtime/session/feed_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/logging.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// y = 2 x on the device, reshaped to `dims`, which the host reads.
constexpr char kGraph[] = R"(
  x = Placeholder() {dtype: float}
  dims = Placeholder() {dtype: int32}
  sum = AddV2(x, x) {T: float}
  y = Reshape(sum, dims) {T: float, Tshape: int32}
)";

class FeedUploadTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Callable> Make(const RunSignature& signature, int num_accelerators = 1) {
    SessionOptions options;
    if (num_accelerators > 0) options.devices.count["ACCEL"] = num_accelerators;
    session_ = *Session::Create(options);
    tensorflow::GraphDef graph = GraphFromText(kGraph);
    graph.mutable_versions()->set_producer(1000);
    CHECK(session_->Extend(graph).ok());
    return *session_->MakeCallable(signature);
  }

  std::unique_ptr<Session> session_;
};

TEST_F(FeedUploadTest, WhatADeviceAloneReadsComesToIt) {
  // Not in the order in which a session keeps feeds.
  const auto callable = Make({.feeds = {"x:0", "dims:0"}, .fetches = {"y:0"}});
  const auto* const uploader = dynamic_cast<const FeedUploader*>(callable.get());
  ASSERT_NE(uploader, nullptr);
  EXPECT_TRUE(uploader->UploadsFeeds());
  for (int run = 0; run < 4; ++run) {
    const float a = static_cast<float>(run);
    const auto feeds =
        uploader->UploadFeeds({Tensor::Vector<float>({a, 2}), Tensor::Vector<int32_t>({2, 1})});
    ASSERT_TRUE(feeds.ok()) << feeds.status();
    EXPECT_EQ((*feeds)[0].memory_kind(), MemoryKind::kDevice);
    EXPECT_TRUE(IsHostAccessible((*feeds)[1].memory_kind()));
    std::vector<Tensor> fetches;
    const absl::Status status = callable->Run({}, *feeds, &fetches);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(fetches[0].shape(), Shape({2, 1}));
    EXPECT_THAT(fetches[0].flat<float>(), ElementsAre(2 * a, 4));
  }
}

TEST_F(FeedUploadTest, CapturedRunsTakeUploadedFeeds) {
  const auto callable = Make({.feeds = {"x:0"}, .fetches = {"sum:0"}});
  const auto* const uploader = dynamic_cast<const FeedUploader*>(callable.get());
  std::vector<Tensor> next = *uploader->UploadFeeds({Tensor::Vector<float>({0})});
  for (int run = 0; run < 6; ++run) {
    const std::vector<Tensor> feeds = std::move(next);
    std::thread upload([&] {
      next = *uploader->UploadFeeds({Tensor::Vector<float>({static_cast<float>(run + 1)})});
    });
    std::vector<Tensor> fetches;
    const absl::Status status = callable->Run({}, feeds, &fetches);
    upload.join();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(fetches[0].flat<float>(), ElementsAre(2 * run));
  }
  EXPECT_GT(
      static_cast<const TestAccelerator*>(session_->ListDevices()[0])->num_captured_enqueued(), 0);
}

TEST_F(FeedUploadTest, EmptyAndWrongFeeds) {
  const auto callable = Make({.feeds = {"x:0"}, .fetches = {"sum:0"}});
  const auto* const uploader = dynamic_cast<const FeedUploader*>(callable.get());
  EXPECT_TRUE(uploader->UploadFeeds({Tensor::Vector<float>({})}).ok());
  EXPECT_EQ(uploader->UploadFeeds({Tensor::Scalar(int32_t{1})}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(uploader->UploadFeeds({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FeedUploadTest, WithoutADeviceFeedsStayWhereTheyAre) {
  const auto callable = Make({.feeds = {"x:0"}, .fetches = {"sum:0"}}, 0);
  EXPECT_FALSE(dynamic_cast<const FeedUploader*>(callable.get())->UploadsFeeds());
}

}  // namespace
}  // namespace tessera
