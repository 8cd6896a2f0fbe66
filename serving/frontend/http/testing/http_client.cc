#include "serving/frontend/http/testing/http_client.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tessera::serving {
namespace {

constexpr int kWaitMilliseconds = 10'000;

// Returns a socket, or -1.
int Connect(int port, bool ipv6, int receive_buffer = 0) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr = in6addr_loopback;
  const int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (receive_buffer > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  const int result = ipv6 ? connect(fd, reinterpret_cast<sockaddr*>(&v6), sizeof(v6))
                          : connect(fd, reinterpret_cast<sockaddr*>(&v4), sizeof(v4));
  if (result == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

bool HttpTestClient::IsOpen(int port) {
  const int socket = Connect(port, /*ipv6=*/false);
  if (socket >= 0) close(socket);
  return socket >= 0;
}

HttpTestClient::HttpTestClient(int port, bool ipv6, int receive_buffer)
    : socket_(Connect(port, ipv6, receive_buffer)) {}

HttpTestClient::~HttpTestClient() {
  if (socket_ >= 0) close(socket_);
}

bool HttpTestClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(sent);
  }
  return true;
}

bool HttpTestClient::Send(absl::string_view method, absl::string_view target,
                          absl::string_view body, absl::string_view headers) {
  return Send(absl::StrCat(method, " ", target, " HTTP/1.1\r\nHost: localhost\r\nContent-Length: ",
                           body.size(), "\r\n", headers, "\r\n", body));
}

std::optional<HttpTestClient::Reply> HttpTestClient::Read(bool is_head) {
  constexpr absl::string_view kEnd = "\r\n\r\n";
  size_t head_end;
  while ((head_end = buffer_.find(kEnd.data())) == std::string::npos) {
    if (!Receive()) return std::nullopt;
  }
  Reply reply;
  bool is_first = true;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(buffer_).substr(0, head_end), "\r\n")) {
    if (is_first) {
      const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
      if (words.size() < 2 || !absl::SimpleAtoi(words[1], &reply.status)) return std::nullopt;
      reply.version = words[0];
      is_first = false;
      continue;
    }
    const std::pair<std::string, std::string> header =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    reply.headers[absl::AsciiStrToLower(header.first)] = header.second;
  }
  buffer_.erase(0, head_end + kEnd.size());
  size_t size = 0;
  const auto length = reply.headers.find("content-length");
  if (!is_head && length != reply.headers.end() && !absl::SimpleAtoi(length->second, &size)) {
    return std::nullopt;
  }
  while (buffer_.size() < size) {
    if (!Receive()) return std::nullopt;
  }
  reply.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return reply;
}

std::optional<std::string> HttpTestClient::ReadUntil(absl::string_view end) {
  size_t found;
  while ((found = buffer_.find(end.data(), 0, end.size())) == std::string::npos) {
    if (!Receive()) return std::nullopt;
  }
  const std::string text = buffer_.substr(0, found + end.size());
  buffer_.erase(0, text.size());
  return text;
}

std::optional<HttpTestClient::Reply> HttpTestClient::Ask(absl::string_view method,
                                                         absl::string_view target,
                                                         absl::string_view body,
                                                         absl::string_view headers) {
  if (!Send(method, target, body, headers)) return std::nullopt;
  return Read(method == "HEAD");
}

void HttpTestClient::CloseSending() { shutdown(socket_, SHUT_WR); }

bool HttpTestClient::WaitForEnd() {
  pollfd waited = {.fd = socket_, .events = POLLIN};
  char bytes[4096];
  while (poll(&waited, 1, kWaitMilliseconds) == 1) {
    if (recv(socket_, bytes, sizeof(bytes), 0) <= 0) return true;
  }
  return false;
}

bool HttpTestClient::Receive() {
  pollfd waited = {.fd = socket_, .events = POLLIN};
  if (poll(&waited, 1, kWaitMilliseconds) != 1) return false;
  char bytes[65536];
  const ssize_t received = recv(socket_, bytes, sizeof(bytes), 0);
  if (received <= 0) return false;
  buffer_.append(bytes, received);
  return true;
}

}  // namespace tessera::serving
