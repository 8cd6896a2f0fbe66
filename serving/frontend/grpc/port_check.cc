#include "serving/frontend/grpc/port_check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

// Returns the error of binding a socket of this family to the port on all addresses; 0 if it could
// be bound or there is no such family.
int BindError(int family, const sockaddr* address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  // As servers do: connections of one that has ended do not keep the port.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  const int error = bind(fd, address, size) == 0 ? 0 : errno;
  close(fd);
  return error == EADDRNOTAVAIL ? 0 : error;
}

// Returns true if somebody accepts connections to the socket at this path.
bool IsListenedOn(const std::string& path) {
  sockaddr_un address = {};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return false;
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  // A listener whose queue is full makes it EAGAIN.
  const bool connects =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno == EAGAIN;
  close(fd);
  return connects;
}

}  // namespace

absl::Status CheckPortIsFree(int port) {
  if (port == 0) return absl::OkStatus();
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  int error = BindError(AF_INET, reinterpret_cast<const sockaddr*>(&v4), sizeof(v4));
  if (error == 0) error = BindError(AF_INET6, reinterpret_cast<const sockaddr*>(&v6), sizeof(v6));
  if (error == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot listen on port ", port, ": ", std::strerror(error),
                   error == EADDRINUSE ? "; another server has it, choose another one" : ""));
}

absl::Status CheckSocketIsFree(const std::string& path) {
  if (!IsListenedOn(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cannot listen on socket ", path,
                                                 ": another server has it, choose another path"));
}

}  // namespace tessera::serving
