#include "serving/frontend/grpc/port_check.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

TEST(PortCheckTest, APortIsFreeUntilSomebodyListensOnIt) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  ASSERT_EQ(listen(listener, 1), 0);
  const absl::Status status = CheckPortIsFree(port);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("cannot listen on port ", port, ": Address already in use")));
  close(listener);
  EXPECT_TRUE(CheckPortIsFree(port).ok());
  EXPECT_TRUE(CheckPortIsFree(0).ok());
}

TEST(PortCheckTest, ASocketIsFreeUnlessSomebodyListensOnIt) {
  std::string folder = "/tmp/port_check_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/s";
  EXPECT_TRUE(CheckSocketIsFree(path).ok());
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  EXPECT_THAT(std::string(CheckSocketIsFree(path).message()), HasSubstr("another server has it"));
  close(listener);  // as a crash does, this leaves the file behind
  EXPECT_TRUE(CheckSocketIsFree(path).ok());
  EXPECT_TRUE(CheckSocketIsFree("/tmp/" + std::string(200, 's')).ok());
  unlink(path.c_str());
  rmdir(folder.c_str());
}

TEST(PortCheckTest, SaysThatTooManyFilesAreOpen) {
  EXPECT_TRUE(CheckDescriptorsAreFree(8).ok());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const absl::Cleanup restore = [&] { setrlimit(RLIMIT_NOFILE, &before); };
  // Descriptors are numbered from the lowest free one, and none may reach the limit.
  const int lowest_free = dup(0);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(lowest_free);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);

  const absl::Status descriptors = CheckDescriptorsAreFree(8);
  EXPECT_TRUE(absl::IsResourceExhausted(descriptors)) << descriptors;
  EXPECT_THAT(std::string(descriptors.message()),
              HasSubstr("Too many open files: 0 more may be opened and 8 are needed"));
  EXPECT_THAT(std::string(CheckPortIsFree(1).message()),
              HasSubstr("cannot listen on port 1: Too many open files"));
}

}  // namespace
}  // namespace tessera::serving
