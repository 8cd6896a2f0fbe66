#include "serving/frontend/grpc/port_check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

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

}  // namespace
}  // namespace tessera::serving
