#include "serving/server/descriptor_limit.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/logging.h"

namespace tessera::serving {

void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  LOG(WARNING) << "the process may have " << before
               << " files and connections open: " << std::strerror(errno);
}

}  // namespace tessera::serving
