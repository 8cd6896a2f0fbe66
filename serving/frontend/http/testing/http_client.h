// HttpTestClient: an HTTP client for tests, which sends any bytes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// One connection to a port of this machine. If it cannot be made, Send() and Read() fail.
class HttpTestClient {
 public:
  struct Reply {
    int status = 0;
    std::string version;                         // "HTTP/1.1"
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };

  // Returns true if a connection to the port can be made.
  static bool IsOpen(int port);

  // `receive_buffer` is the number of bytes that the system takes before they are read; 0: as many
  // as it likes.
  explicit HttpTestClient(int port, bool ipv6 = false, int receive_buffer = 0);
  ~HttpTestClient();
  HttpTestClient(const HttpTestClient&) = delete;
  HttpTestClient& operator=(const HttpTestClient&) = delete;

  // Sends bytes. Returns false if the server ended the connection.
  bool Send(absl::string_view bytes);
  // Sends a request with the length of its body. `headers` are lines that end in "\r\n".
  bool Send(absl::string_view method, absl::string_view target, absl::string_view body,
            absl::string_view headers = "");
  // Returns the next reply; nothing if the connection ended, or ten seconds passed, before all of
  // it came. `is_head` tells that it answers HEAD and has no body.
  std::optional<Reply> Read(bool is_head = false);
  // Returns what comes next, up to the end of the first `end`; nothing as for Read(). For replies
  // without a length, after Read().
  std::optional<std::string> ReadUntil(absl::string_view end);
  // Sends a request and returns its reply.
  std::optional<Reply> Ask(absl::string_view method, absl::string_view target,
                           absl::string_view body = "", absl::string_view headers = "");
  // Tells the server that no more bytes come.
  void CloseSending();
  // Waits for the server to end the connection. Returns false if it does not within ten seconds.
  bool WaitForEnd();

 private:
  // Appends received bytes to buffer_. Returns false if no more will come.
  bool Receive();

  int socket_;
  std::string buffer_;
};

}  // namespace tessera::serving
