#include "serving/core/rcu.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace tessera::serving::rcu {

namespace {

long Membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

struct Slots {
  absl::Mutex mu;
  std::vector<ReaderSlot*> slots ABSL_GUARDED_BY(mu);
};

// Never destroyed, because threads may end after main() has.
Slots& AllSlots() {
  static Slots* const slots = new Slots;
  return *slots;
}

class Registration {
 public:
  Registration() {
    Slots& all = AllSlots();
    absl::MutexLock lock(&all.mu);
    all.slots.push_back(&slot_);
  }
  ~Registration() {
    Slots& all = AllSlots();
    absl::MutexLock lock(&all.mu);
    all.slots.erase(std::find(all.slots.begin(), all.slots.end(), &slot_));
  }
  ReaderSlot& slot() { return slot_; }

 private:
  ReaderSlot slot_;
};

}  // namespace

// Registers before main(), because the system call takes milliseconds once there are several
// threads.
std::atomic<bool> readers_need_no_fence{Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0};

ReaderSlot& ThreadSlot() {
  thread_local Registration registration;
  return registration.slot();
}

void Synchronize() {
  Slots& all = AllSlots();
  absl::MutexLock lock(&all.mu);
  // After the barrier, either this thread sees the marks of readers on other cores, or those
  // readers see the new pointer.
  if (readers_need_no_fence.load()) Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  for (const ReaderSlot* slot : all.slots) {
    const uint64_t seen = slot->sections.load(std::memory_order_seq_cst);
    if (seen % 2 == 0) continue;
    for (int spins = 0; slot->sections.load(std::memory_order_acquire) == seen; ++spins) {
      if (spins < 100) {
        std::this_thread::yield();
      } else {
        absl::SleepFor(absl::Microseconds(50));
      }
    }
  }
}

}  // namespace tessera::serving::rcu
