// HttpTunnel: hands a connection with TLS to code that reads and writes a plain socket. Only
// http_connection.cc should include this header, which includes Boost.Asio.
#pragma once

#include <array>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <utility>

#include "serving/frontend/http/http_socket.h"

namespace tessera::serving {

// Carries bytes between a client and one end of a pair of sockets until either side ends, and then
// ends the other. It reads no more from a side than the other one takes. It lives while it reads or
// writes, and all of its callbacks run on the thread of the client's socket.
class HttpTunnel : public std::enable_shared_from_this<HttpTunnel> {
 public:
  // Returns the other end of the pair, which is non-blocking and the caller's; -1 if the system has
  // no more sockets, and then the client's is closed. Requires that the handshake is over and that
  // no operation of the socket is under way.
  static int Begin(std::unique_ptr<HttpSocket> client);

  HttpTunnel(std::unique_ptr<HttpSocket> client, int plain);
  HttpTunnel(const HttpTunnel&) = delete;
  HttpTunnel& operator=(const HttpTunnel&) = delete;

 private:
  using Error = boost::system::error_code;
  using Plain =
      boost::asio::basic_stream_socket<boost::asio::local::stream_protocol, HttpWorker::Executor>;

  void ReadClient();
  void ReadPlain();
  void End();

  const std::unique_ptr<HttpSocket> client_;
  Plain plain_;
  std::array<char, 16 << 10> from_client_, from_plain_;  // a TLS record holds as much
};

}  // namespace tessera::serving
