#include "runtime/host/restore_priorities.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/numbers.h"

namespace tessera {

void RestoreThreadPriorities() {
  const pid_t main_thread = getpid();
  const int nice = getpriority(PRIO_PROCESS, main_thread);
  DIR* const threads = opendir("/proc/self/task");
  if (threads == nullptr) return;
  while (const dirent* const entry = readdir(threads)) {
    pid_t thread = 0;
    if (!absl::SimpleAtoi(entry->d_name, &thread)) continue;  // "." and ".."
    if (sched_getscheduler(thread) == SCHED_IDLE) {
      const sched_param none = {};
      sched_setscheduler(thread, SCHED_OTHER, &none);
    }
    if (getpriority(PRIO_PROCESS, thread) > nice) setpriority(PRIO_PROCESS, thread, nice);
  }
  closedir(threads);
}

}  // namespace tessera
