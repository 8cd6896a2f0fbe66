#include "runtime/host/background.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/thread_pool.h"

namespace tessera {
namespace {

constexpr int kLowestNice = 19;

// On Linux a nice value is the thread's own, not the process's.
void AddNice(int levels) {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + levels);
}

}  // namespace

void SetThreadPriority(ThreadPriority priority) {
  switch (priority) {
    case ThreadPriority::kNormal:
      return;
    case ThreadPriority::kLow:
      AddNice(kLowNice);
      return;
    case ThreadPriority::kIdle: {
      const sched_param none = {};
      // 0: the calling thread. A kernel that refuses still gets the next best.
      if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) AddNice(kLowestNice);
      return;
    }
  }
}

BackgroundScope::BackgroundScope(ThreadPool* pool) : outer_(pool_redirect) {
  if (pool != nullptr) pool_redirect = pool;
}

BackgroundScope::~BackgroundScope() { pool_redirect = outer_; }

ThreadPool* BackgroundPool() { return pool_redirect; }

}  // namespace tessera
