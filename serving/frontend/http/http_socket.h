// HttpSocket: the socket of one client, plain or with TLS. Only http_connection.h should include
// this header, which includes Boost.Asio.
#pragma once

#include <linux/sockios.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "serving/frontend/http/http_worker.h"
#include "serving/frontend/tls/tls_context.h"

namespace tessera::serving {

// Handlers have the signatures that Boost.Asio documents for the operations of these names, and run
// on the thread of the socket's context. Not thread-safe.
class HttpSocket {
 public:
  // Null for `tls`: plain.
  HttpSocket(HttpWorker::Socket socket, const TlsContext& tls) : socket_(std::move(socket)) {
    if (tls == nullptr) return;
    SSL_CTX_up_ref(tls.get());
    boost::asio::ssl::context context(tls.get());
    tls_ = std::make_unique<Tls>(socket_, context);
  }
  // Lets the handshake agree on HTTP/2, too. Requires is_encrypted().
  void OfferHttp2() { serving::OfferHttp2(tls_->native_handle()); }
  // Whether it did.
  bool speaks_http2() { return is_encrypted() && ChoseHttp2(tls_->native_handle()); }
  HttpSocket(const HttpSocket&) = delete;  // TLS refers to the socket below it
  HttpSocket& operator=(const HttpSocket&) = delete;

  HttpWorker::Executor get_executor() { return socket_.get_executor(); }
  // The socket below TLS.
  HttpWorker::Socket& tcp() { return socket_; }
  bool is_encrypted() const { return tls_ != nullptr && !is_raw_; }

  // Agrees with the client on keys, before all other operations. Requires is_encrypted().
  template <typename Handler>
  void AsyncHandshake(Handler handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(handler));
  }
  // Tells the client that no more bytes come, and waits until it has said the same. Requires
  // is_encrypted().
  template <typename Handler>
  void AsyncEndEncryption(Handler handler) {
    tls_->async_shutdown(std::move(handler));
  }
  // Reads and writes without encryption from now on. Requires that no operation is under way.
  void LeaveEncryption() { is_raw_ = true; }

  template <typename Buffers, typename Handler>
  void AsyncReadSome(const Buffers& buffers, Handler handler) {
    if (is_encrypted()) return tls_->async_read_some(buffers, std::move(handler));
    socket_.async_read_some(buffers, std::move(handler));
  }
  // Writes all bytes. With TLS, each buffer takes a record and a system call of its own.
  template <typename Buffers, typename Handler>
  void AsyncWrite(const Buffers& buffers, Handler handler) {
    if (is_encrypted()) return boost::asio::async_write(*tls_, buffers, std::move(handler));
    boost::asio::async_write(socket_, buffers, std::move(handler));
  }
  // The same, with *written kept at the number of bytes that the system took so far. It must
  // outlive the operation.
  template <typename Buffers, typename Handler>
  void AsyncWrite(const Buffers& buffers, uint64_t* written, Handler handler) {
    const auto most = [written](const boost::system::error_code& error, size_t bytes) -> size_t {
      constexpr size_t kMostAtOnce = 64 << 10;
      *written = bytes;
      return error ? 0 : kMostAtOnce;
    };
    if (is_encrypted()) return boost::asio::async_write(*tls_, buffers, most, std::move(handler));
    boost::asio::async_write(socket_, buffers, most, std::move(handler));
  }
  // Returns the number of bytes that were written and not yet taken by the client's system.
  uint64_t num_unacknowledged() {
    int bytes = 0;
    return ::ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) == 0 ? std::max(bytes, 0) : 0;
  }

 private:
  using Tls = boost::asio::ssl::stream<HttpWorker::Socket&>;

  HttpWorker::Socket socket_;
  std::unique_ptr<Tls> tls_;
  bool is_raw_ = false;
};

}  // namespace tessera::serving
