// A client for tests, which sends what it is told, byte by byte.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// One connection to this machine. If it cannot be made, nothing can be sent or read.
class HttpTestClient {
 public:
  struct Reply {
    int status = 0;
    std::string version;                         // "HTTP/1.1"
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };

  // Whether a connection can be made.
  static bool IsOpen(int port);

  explicit HttpTestClient(int port, bool ipv6 = false);
  ~HttpTestClient();
  HttpTestClient(const HttpTestClient&) = delete;
  HttpTestClient& operator=(const HttpTestClient&) = delete;

  // False if the server ended the connection.
  bool Send(absl::string_view bytes);
  // A request with the length of its body. `headers` are lines that end in "\r\n".
  bool Send(absl::string_view method, absl::string_view target, absl::string_view body,
            absl::string_view headers = "");
  // The next reply; nothing if the connection ended, or ten seconds went by, before all of it came.
  // One to HEAD has no body.
  std::optional<Reply> Read(bool is_head = false);
  // Both.
  std::optional<Reply> Ask(absl::string_view method, absl::string_view target,
                           absl::string_view body = "", absl::string_view headers = "");
  // Waits for the server to end the connection; false if it does not within ten seconds.
  bool WaitForEnd();

 private:
  // More bytes to buffer_; false if none will come.
  bool Receive();

  int socket_;
  std::string buffer_;
};

}  // namespace tessera::serving
