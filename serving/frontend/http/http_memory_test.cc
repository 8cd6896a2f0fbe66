// An HTTP server without memory for the body of a request.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/http/testing/http_client.h"

namespace tessera::serving {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Returns the size of this process's address space in bytes.
size_t AddressSpace() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(HttpMemoryTest, ABodyThatDoesNotFitIsRefusedAndOthersAreRead) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end a process that has no memory";
#endif
  HttpServer::Options options;
  options.max_body_bytes = 4096 * kMiB;
  const std::unique_ptr<HttpServer> server =
      *HttpServer::Start(options, [](HttpRequest request, HttpResponder respond) {
        respond({.body = absl::StrCat(request.body.size())});
      });
  const std::string chunk(kMiB, 'x');
  HttpTestClient client(server->port()), other(server->port());
  ASSERT_EQ(other.Ask("POST", "/", "abc")->body, "3");

  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const absl::Cleanup restore = [&] { setrlimit(RLIMIT_AS, &before); };
  rlimit low = before;
  low.rlim_cur = AddressSpace() + 200 * kMiB;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &low), 0);

  ASSERT_TRUE(
      client.Send(absl::StrCat("POST / HTTP/1.1\r\nContent-Length: ", 1024 * kMiB, "\r\n\r\n")));
  for (int i = 0; i < 400 && client.Send(chunk); ++i) continue;
  const auto reply = client.Read();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 429);
  EXPECT_EQ(other.Ask("POST", "/", "abcd")->body, "4");
}

}  // namespace
}  // namespace tessera::serving
