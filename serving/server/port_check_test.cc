#include "serving/server/port_check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

}  // namespace
}  // namespace tessera::serving
