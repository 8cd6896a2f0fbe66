#include "serving/frontend/grpc/profiler_service.h"

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using tensorflow::MonitorRequest;
using tensorflow::MonitorResponse;
using tensorflow::ProfileRequest;
using tensorflow::ProfileResponse;
using tensorflow::profiler::XSpace;

// Longer than a test may take: what ends such a call ends it early.
constexpr int kLongMs = 600'000;

class ProfilerServiceTest : public ::testing::Test {
 protected:
  ProfilerServiceTest() {
    std::string pattern = "/tmp/prof_XXXXXX";
    root_ = mkdtemp(pattern.data());
    const std::string address = "unix:" + root_ + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = tensorflow::ProfilerService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  ~ProfilerServiceTest() override {
    server_->Shutdown();
    std::filesystem::remove_all(root_);
  }

  ProfileRequest Request(int duration_ms) {
    ProfileRequest request;
    request.set_duration_ms(duration_ms);
    request.set_emit_xspace(true);
    return request;
  }
  grpc::Status Profile(const ProfileRequest& request) {
    grpc::ClientContext context;
    return stub_->Profile(&context, request, &response_);
  }
  // Profiles on another thread, and returns once that records.
  std::thread StartProfile(const ProfileRequest& request, grpc::ClientContext* context,
                           grpc::Status* status) {
    std::thread thread([=, this] { *status = stub_->Profile(context, request, &response_); });
    AwaitRecording(true);
    return thread;
  }
  void AwaitRecording(bool records) {
    while (tracer_.Records(TraceLevel::kRuns) != records) absl::SleepFor(absl::Milliseconds(1));
  }
  void Record(const char* name, const char* category, int64_t milliseconds) {
    const int64_t now = Tracer::Now();
    tracer_.Record({.name = name,
                    .category = category,
                    .thread = CurrentThreadId(),
                    .start = now,
                    .end = now + milliseconds * 1'000'000});
  }

  Tracer tracer_;
  ProfilerService service_{&tracer_};
  std::string root_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<tensorflow::ProfilerService::Stub> stub_;
  ProfileResponse response_;
};

TEST_F(ProfilerServiceTest, TerminateEndsItsSessionWithWhatWasRecorded) {
  ProfileRequest request = Request(kLongMs);
  request.set_session_id("mine");
  grpc::ClientContext context;
  grpc::Status status;
  std::thread call = StartProfile(request, &context, &status);
  Record("an op", "op", 1);
  for (const char* session : {"another", "mine"}) {
    EXPECT_TRUE(tracer_.Records(TraceLevel::kOps));
    tensorflow::TerminateRequest terminate;
    terminate.set_session_id(session);
    grpc::ClientContext terminating;
    tensorflow::TerminateResponse nothing;
    EXPECT_TRUE(stub_->Terminate(&terminating, terminate, &nothing).ok());
  }
  call.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response_.empty_trace());
  const XSpace& space = response_.xspace();
  ASSERT_EQ(space.planes_size(), 1);
  EXPECT_EQ(space.planes(0).event_metadata().begin()->second.name(), "an op");
  ASSERT_EQ(space.hostnames_size(), 1);
  EXPECT_NE(space.hostnames(0), "");
}

TEST_F(ProfilerServiceTest, ATraceMayBeAFileOfXSpace) {
  ProfileRequest request = Request(1);
  request.set_emit_xspace(false);
  request.mutable_opts()->set_override_hostname("elsewhere");
  ASSERT_TRUE(Profile(request).ok());
  EXPECT_TRUE(response_.empty_trace());
  EXPECT_FALSE(response_.has_xspace());
  ASSERT_EQ(response_.tool_data_size(), 1);
  EXPECT_EQ(response_.tool_data(0).name(), "xplane.pb");
  XSpace space;
  ASSERT_TRUE(space.ParseFromString(response_.tool_data(0).data()));
  ASSERT_EQ(space.hostnames_size(), 1);
  EXPECT_EQ(space.hostnames(0), "elsewhere");
}

TEST_F(ProfilerServiceTest, OneCallRecordsAtATime) {
  grpc::ClientContext context;
  grpc::Status first;
  std::thread call = StartProfile(Request(kLongMs), &context, &first);
  EXPECT_EQ(Profile(Request(1)).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  MonitorRequest monitor;
  monitor.set_duration_ms(1);
  MonitorResponse figures;
  grpc::ClientContext monitoring;
  EXPECT_EQ(stub_->Monitor(&monitoring, monitor, &figures).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(tracer_.Records(TraceLevel::kOps)) << "the first one goes on";
  service_.EndCalls();
  call.join();
  EXPECT_TRUE(first.ok()) << first.error_message();
  EXPECT_TRUE(Profile(Request(1)).ok());
}

TEST_F(ProfilerServiceTest, ACallThatIsGivenUpStopsRecording) {
  grpc::ClientContext context;
  grpc::Status status;
  std::thread call = StartProfile(Request(kLongMs), &context, &status);
  context.TryCancel();
  call.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  AwaitRecording(false);
}

TEST_F(ProfilerServiceTest, ACallThatIsGivenUpBeforeItsStartNeverRecords) {
  ProfileRequest request = Request(1);
  request.mutable_opts()->set_start_timestamp_ns(
      absl::ToUnixNanos(absl::Now() + absl::Minutes(30)));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(10)));
  EXPECT_EQ(stub_->Profile(&context, request, &response_).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_FALSE(tracer_.Records(TraceLevel::kRuns));
}

TEST_F(ProfilerServiceTest, LevelsAndLimitsAreThoseOfTheRequest) {
  ProfileRequest request = Request(kLongMs);
  request.set_max_events(2);
  request.mutable_opts()->set_version(1);
  request.mutable_opts()->set_host_tracer_level(1);
  grpc::ClientContext context;
  grpc::Status status;
  std::thread call = StartProfile(request, &context, &status);
  EXPECT_FALSE(tracer_.Records(TraceLevel::kOps));
  for (int i = 0; i < 5; ++i) Record("run m/1", "run", 1);
  service_.EndCalls();
  call.join();
  ASSERT_TRUE(status.ok());
  int num_events = 0;
  for (const auto& line : response_.xspace().planes(0).lines()) num_events += line.events_size();
  EXPECT_EQ(num_events, 2);
  ASSERT_EQ(response_.xspace().warnings_size(), 1);
  EXPECT_TRUE(absl::StartsWith(response_.xspace().warnings(0), "3 events"));
}

TEST_F(ProfilerServiceTest, RefusesTimesThatAreOutOfBounds) {
  for (const int64_t milliseconds : {int64_t{0}, int64_t{3'600'001}, int64_t{-1}}) {
    EXPECT_EQ(Profile(Request(static_cast<int>(milliseconds))).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << milliseconds;
    MonitorRequest monitor;
    monitor.set_duration_ms(milliseconds);
    MonitorResponse figures;
    grpc::ClientContext context;
    EXPECT_EQ(stub_->Monitor(&context, monitor, &figures).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << milliseconds;
  }
  ProfileRequest request = Request(1);
  request.mutable_opts()->set_start_timestamp_ns(absl::ToUnixNanos(absl::Now() + absl::Hours(2)));
  EXPECT_EQ(Profile(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ProfilerServiceTest, MonitorTellsRatesAndTimes) {
  MonitorRequest request;
  request.set_duration_ms(kLongMs);
  request.set_monitoring_level(2);
  MonitorResponse response;
  grpc::Status status;
  std::thread call([&] {
    grpc::ClientContext context;
    status = stub_->Monitor(&context, request, &response);
  });
  AwaitRecording(true);
  Record("predict m/1", "request", 3);
  Record("run m/1", "run", 1);
  Record("run m/1", "run", 2);
  service_.EndCalls();
  call.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(absl::StrContains(response.data(), "  predict m/1: ")) << response.data();
  EXPECT_TRUE(absl::StrContains(response.data(),
                                "1.500 ms on average, 1.000 ms at least, 2.000 ms at most\nCPU: "))
      << response.data();
  EXPECT_EQ(response.monitor_result().step_time_ms_avg(), 1.5);
  EXPECT_EQ(response.monitor_result().step_time_ms_max(), 2);
}

}  // namespace
}  // namespace tessera::serving
