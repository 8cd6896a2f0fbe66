#include "serving/frontend/grpc/port_check.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

// Returns the error of binding a socket of this family to the port on all addresses, such as that
// too many files are open; 0 if it could be bound or there is no such family.
int BindError(int family, const sockaddr* address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno == EMFILE || errno == ENFILE ? errno : 0;
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

absl::Status CheckDescriptorsAreFree(int count) {
  std::vector<int> opened;
  int error = 0;
  while (error == 0 && static_cast<int>(opened.size()) < count) {
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      opened.push_back(fd);
    } else {
      error = errno;
    }
  }
  for (const int fd : opened) close(fd);
  // A machine without /dev/null tells nothing about descriptors.
  if (error != EMFILE && error != ENFILE) return absl::OkStatus();
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return absl::ResourceExhaustedError(absl::StrCat(
      std::strerror(error), ": ", opened.size(), " more may be opened and ", count,
      " are needed; the process may have ", limit.rlim_cur, ", raise that with ulimit -n"));
}

}  // namespace tessera::serving
