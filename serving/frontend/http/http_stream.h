// HttpStream: the body of a reply that goes on after its head was sent, such as server-sent events.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// A handler asks for a stream with HttpReply::stream, keeps it, and writes to it from any thread.
// The body ends when the last pointer to the stream is dropped. Holds no thread while nothing is
// written. Thread-safe. May outlive the server, as a closed stream.
class HttpStream {
 public:
  // A client that is further behind than this many bytes is dropped.
  static constexpr size_t kMaxUnsentBytes = 1 << 20;

  virtual ~HttpStream() = default;

  // Sends bytes soon, in the order of the calls. Never waits. Returns false if the stream is
  // closed, because the client has gone or is too far behind, or the server has stopped; the caller
  // should drop the stream then.
  virtual bool Write(absl::string_view bytes) = 0;
};

}  // namespace tessera::serving
