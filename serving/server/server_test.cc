#include "serving/server/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/core/testing/wait_until.h"
#include "tensorflow_serving/apis/prediction_service.grpc.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// What is written to stderr goes to a file while this exists.
class StderrToFile {
 public:
  explicit StderrToFile(std::string path) : path_(std::move(path)), stderr_(dup(STDERR_FILENO)) {
    const int file = open(path_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  ~StderrToFile() {
    dup2(stderr_, STDERR_FILENO);
    close(stderr_);
  }
  StderrToFile(const StderrToFile&) = delete;
  StderrToFile& operator=(const StderrToFile&) = delete;

  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  const std::string path_;
  const int stderr_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    // Not in TempDir(): a Unix socket's path has 107 bytes, and Bazel's folders can be longer.
    std::string pattern = "/tmp/server_XXXXXX";
    root_ = mkdtemp(pattern.data());
    options_.port = 0;
    options_.grpc_socket_path = JoinPath(root_, "socket");
    options_.max_num_load_retries = 0;
  }
  ~ServerTest() override { fs::remove_all(root_); }

  std::string HalfPlusTwo() const { return fs::absolute("tests/data/tfserving/half_plus_two"); }
  std::string WriteConfig(const std::vector<std::string>& names) {
    std::string text = "model_config_list {";
    for (const std::string& name : names) {
      absl::StrAppend(&text, " config { name: '", name, "' base_path: '", HalfPlusTwo(),
                      "' model_platform: 'tensorflow' }");
    }
    const std::string path = JoinPath(root_, "models.config");
    EXPECT_TRUE(WriteFileAtomically(path, text + " }").ok());
    return path;
  }
  std::unique_ptr<Server> MakeServer() {
    absl::StatusOr<ServerSettings> settings = ReadSettings(options_);
    EXPECT_TRUE(settings.ok()) << settings.status();
    auto host = std::make_shared<Host>(HostOptions(options_, *settings));
    return std::make_unique<Server>(options_, *std::move(settings), std::move(host));
  }
  // Returns y for x = 2, or the error.
  absl::StatusOr<float> Ask(const std::string& model) {
    auto stub = tensorflow::serving::PredictionService::NewStub(grpc::CreateChannel(
        "unix:" + options_.grpc_socket_path, grpc::InsecureChannelCredentials()));
    tensorflow::serving::PredictRequest request;
    request.mutable_model_spec()->set_name(model);
    auto& x = (*request.mutable_inputs())["x"];
    x.set_dtype(tensorflow::DT_FLOAT);
    x.mutable_tensor_shape()->add_dim()->set_size(1);
    x.add_float_val(2);
    tensorflow::serving::PredictResponse response;
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    const grpc::Status status = stub->Predict(&context, request, &response);
    if (!status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                          status.error_message());
    }
    return response.outputs().at("y").float_val(0);
  }

  std::string root_;
  ServerOptions options_;
};

TEST_F(ServerTest, ServesFromFlagsUntilShutDown) {
  options_.model_name = "m";
  options_.model_base_path = HalfPlusTwo();
  const std::unique_ptr<Server> server = MakeServer();
  const absl::Status status = server->Start();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(server->handler().IsReady());
  const auto y = Ask("m");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(*y, 3);
  server->Stop();
  server->WaitUntilStopped();
  server->Shutdown(absl::Seconds(5));
  EXPECT_TRUE(absl::IsUnavailable(Ask("m").status()));
}

TEST_F(ServerTest, FailsToStartWithAModelThatDoesNotLoad) {
  fs::create_directories(JoinPath(root_, "bad/7"));
  options_.model_base_path = JoinPath(root_, "bad");
  const std::unique_ptr<Server> server = MakeServer();
  const absl::Status status = server->Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 servable(s) did not become available: {{{name: default version: 7} due "
                        "to error: NOT_FOUND: Specified file path does not appear to contain"));
}

TEST_F(ServerTest, ALackOfDescriptorsIsToldBeforeModelsLoad) {
  options_.model_base_path = HalfPlusTwo();
  options_.access_log = JoinPath(root_, "access_log");  // made before models load
  const std::unique_ptr<Server> server = MakeServer();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const absl::Cleanup restore = [&] { setrlimit(RLIMIT_NOFILE, &before); };
  const int lowest_free = dup(STDERR_FILENO);
  close(lowest_free);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(lowest_free) + 4;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);

  const absl::Status status = server->Start();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("Too many open files: "));
  EXPECT_FALSE(FileExists(options_.access_log));
}

TEST_F(ServerTest, StopEndsAStartThatWaitsForAModel) {
  options_.model_base_path = JoinPath(root_, "absent");
  const std::unique_ptr<Server> server = MakeServer();
  const StderrToFile log(JoinPath(root_, "log"));
  std::thread stopper([&] {
    EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(log.text(), options_.model_base_path); }));
    server->Stop();
  });
  EXPECT_TRUE(absl::IsCancelled(server->Start()));
  stopper.join();
}

TEST_F(ServerTest, ATakenRestPortIsToldAndGrpcIsServed) {
  const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address = {.sin6_family = AF_INET6};
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  options_.rest_api_port = ntohs(address.sin6_port);
  options_.model_name = "m";
  options_.model_base_path = HalfPlusTwo();
  const std::unique_ptr<Server> server = MakeServer();
  const StderrToFile log(JoinPath(root_, "log"));
  ASSERT_TRUE(server->Start().ok());
  EXPECT_THAT(log.text(), HasSubstr("REST is not served: "));
  EXPECT_THAT(log.text(), HasSubstr(absl::StrCat(options_.rest_api_port)));
  EXPECT_EQ(*Ask("m"), 3);
  close(listener);
}

TEST_F(ServerTest, ConfigFileIsReadAgain) {
  options_.model_config_file = WriteConfig({"a"});
  options_.model_config_file_poll_wait_seconds = 1;
  const std::unique_ptr<Server> server = MakeServer();
  ASSERT_TRUE(server->Start().ok());
  EXPECT_TRUE(absl::IsNotFound(Ask("b").status()));
  const StderrToFile log(JoinPath(root_, "log"));
  ASSERT_TRUE(WriteFileAtomically(options_.model_config_file, "nonsense").ok());
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(log.text(), "were not applied"); }));
  EXPECT_TRUE(Ask("a").ok()) << "what was served stays";
  WriteConfig({"b"});
  EXPECT_TRUE(WaitUntil([&] { return Ask("b").ok(); }));
  EXPECT_TRUE(WaitUntil([&] { return absl::IsNotFound(Ask("a").status()); }));
}

TEST_F(ServerTest, OpLibraryThatIsNoneStopsTheStart) {
  options_.model_base_path = HalfPlusTwo();
  options_.op_library = "/no/such/library.so";
  EXPECT_TRUE(absl::IsNotFound(MakeServer()->Start()));
}

}  // namespace
}  // namespace tessera::serving
