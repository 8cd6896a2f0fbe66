#include "runtime/host/mapping_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "runtime/base/logging.h"

namespace tessera {

void DropPages(char* begin, size_t size) {
  constexpr size_t kSlice = size_t{512} << 10;
  for (size_t offset = 0; offset < size; offset += kSlice) {
    madvise(begin + offset, std::min(kSlice, size - offset), MADV_DONTNEED);
  }
}

std::atomic<int> mapping_guard_internal::num_damaged{0};

namespace {

// Maps beyond that are refused: a signal handler can walk an array, but no container.
constexpr size_t kMaxMaps = 4096;
constexpr uintptr_t kPage = 4096;

// File systems of this machine alone, for which the kernel grants leases: with others, a writer on
// another machine asks nobody. The numbers are those of statfs(2).
constexpr int64_t kLocalFileSystems[] = {
    0xEF53,      // ext2 to ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0xF2F52010,  // F2FS
    0x2FC12FC1,  // ZFS
    0x01021994,  // tmpfs
    0x794C7630,  // overlayfs
};

// The signal of a lease that is to be given up; beyond those that glibc and most programs use.
int LeaseSignal() { return SIGRTMIN + 9; }

// A guarded map. The address is set last and cleared first, so that the signal handler, which takes
// no lock, sees whole entries.
struct Map {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> damaged{false};
  // Under Guard's mutex.
  int fd = -1;
  std::string path;
  bool holds_lease = false;
};

// Trivially destructible, for the handler may run at any time.
std::array<Map, kMaxMaps>& Maps() {
  static std::array<Map, kMaxMaps>* const maps = new std::array<Map, kMaxMaps>;
  return *maps;
}
std::atomic<std::array<Map, kMaxMaps>*> handler_maps{nullptr};
struct sigaction previous_handler;

// Counted before readers can see zeros.
void MarkDamaged(Map& map) {
  if (!map.damaged.exchange(true)) mapping_guard_internal::num_damaged.fetch_add(1);
}

// All that is left of the map from a page on becomes zeros: what one page lacks, the next ones tend
// to lack, too.
void HandleBusError(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  std::array<Map, kMaxMaps>* const maps = handler_maps.load(std::memory_order_acquire);
  for (Map& map : *maps) {
    const uintptr_t begin = map.begin.load(std::memory_order_acquire);
    const uintptr_t end = map.end.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= end) continue;
    MarkDamaged(map);
    const uintptr_t page = address & ~(kPage - 1);
    void* zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    errno = saved_errno;
    return;
  }
  errno = saved_errno;
  // None of ours: as if this handler were not there.
  if (previous_handler.sa_flags & SA_SIGINFO) {
    previous_handler.sa_sigaction(signal, info, context);
  } else if (previous_handler.sa_handler != SIG_DFL && previous_handler.sa_handler != SIG_IGN) {
    previous_handler.sa_handler(signal);
  } else {
    sigaction(SIGBUS, &previous_handler, nullptr);  // the access is tried again, and ends it
  }
}

bool IsLocal(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return false;
  const auto type = static_cast<int64_t>(static_cast<uint32_t>(info.f_type));
  return std::find(std::begin(kLocalFileSystems), std::end(kLocalFileSystems), type) !=
         std::end(kLocalFileSystems);
}

class Guard {
 public:
  Guard() {
    handler_maps.store(&Maps(), std::memory_order_release);
    struct sigaction action = {};
    action.sa_sigaction = HandleBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_handler);
    std::thread([this] { AnswerLeases(); }).detach();
    started_.WaitForNotification();
  }

  bool Add(int fd, const std::string& path, char* data, size_t size) {
    absl::MutexLock lock(&mu_);
    auto free = std::find_if(Maps().begin(), Maps().end(), [](const Map& map) {
      return map.begin.load(std::memory_order_relaxed) == 0;
    });
    if (free == Maps().end()) return false;
    used_ = std::max(used_, static_cast<size_t>(free - Maps().begin()) + 1);
    // Entered first: the lease may be asked for as soon as it is held.
    free->fd = fd;
    free->path = path;
    free->holds_lease = true;
    free->damaged = false;
    free->end.store(reinterpret_cast<uintptr_t>(data) + size, std::memory_order_release);
    free->begin.store(reinterpret_cast<uintptr_t>(data), std::memory_order_release);
    const f_owner_ex owner = {F_OWNER_TID, thread_};
    if (fcntl(fd, F_SETSIG, LeaseSignal()) == 0 && fcntl(fd, F_SETOWN_EX, &owner) == 0 &&
        fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
      return true;
    }
    Clear(*free);
    return false;
  }

  void Remove(const char* data) {
    absl::MutexLock lock(&mu_);
    for (Map& map : Maps()) {
      if (map.begin.load(std::memory_order_relaxed) != reinterpret_cast<uintptr_t>(data)) continue;
      close(map.fd);  // gives up the lease, too
      Clear(map);
      return;
    }
  }

  // Whole pages. Under the lock, for a copy in the map's place would be lost.
  void Release(uintptr_t begin, uintptr_t end) {
    absl::MutexLock lock(&mu_);
    for (size_t i = 0; i < used_; ++i) {
      const Map& map = Maps()[i];
      if (begin < map.begin.load(std::memory_order_relaxed) ||
          end > map.end.load(std::memory_order_relaxed)) {
        continue;
      }
      if (map.holds_lease) DropPages(reinterpret_cast<char*>(begin), end - begin);
      return;
    }
  }

  absl::Status Check(absl::string_view directory) {
    while (absl::ConsumeSuffix(&directory, "/")) {
    }
    absl::MutexLock lock(&mu_);
    for (const Map& map : Maps()) {
      if (!map.damaged.load(std::memory_order_relaxed)) continue;
      absl::string_view path = map.path;
      if (!absl::ConsumePrefix(&path, directory)) continue;
      if (!absl::StartsWith(path, "/") && !absl::StartsWith(path, ".data-")) continue;
      return absl::DataLossError(absl::StrCat("cannot read ", map.path,
                                              " any more, whose data is in use: the file was "
                                              "cut short, or its disk fails"));
    }
    return absl::OkStatus();
  }

 private:
  static void Clear(Map& map) {
    map.begin.store(0, std::memory_order_release);
    map.end.store(0, std::memory_order_release);
    if (map.damaged.exchange(false)) mapping_guard_internal::num_damaged.fetch_sub(1);
    map.holds_lease = false;
    map.fd = -1;
    map.path.clear();
  }

  // Body of the guard's thread.
  void AnswerLeases() {
    pthread_setname_np(pthread_self(), "mapping_guard");
    sigset_t signals;
    sigfillset(&signals);
    // Faults of this thread are to be handled; all else is other threads' business.
    sigdelset(&signals, SIGBUS);
    sigdelset(&signals, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &signals, nullptr);
    sigemptyset(&signals);
    sigaddset(&signals, LeaseSignal());
    sigaddset(&signals, SIGIO);  // comes when more signals are waiting than the kernel queues
    thread_ = static_cast<pid_t>(syscall(SYS_gettid));
    started_.Notify();
    while (true) {
      siginfo_t info;
      const int signal = sigwaitinfo(&signals, &info);
      if (signal < 0) continue;
      absl::MutexLock lock(&mu_);
      for (Map& map : Maps()) {
        if (map.holds_lease && (signal == SIGIO || map.fd == info.si_fd) && IsAskedFor(map)) {
          Preserve(map);
        }
      }
    }
  }

  // Somebody waits for the lease: the kernel tells the kind it is to become.
  static bool IsAskedFor(const Map& map) { return fcntl(map.fd, F_GETLEASE) != F_RDLCK; }

  // Puts a copy in the map's place, then lets the writer go on.
  static void Preserve(Map& map) {
    const uintptr_t begin = map.begin.load(std::memory_order_relaxed);
    const size_t size = map.end.load(std::memory_order_relaxed) - begin;
    void* const place = reinterpret_cast<void*>(begin);
    LOG(WARNING) << map.path << " is about to be written while it is in use; keeping its " << size
                 << " bytes in memory. Replace files by renaming new ones";
    void* copy = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy != MAP_FAILED) {
      std::memcpy(copy, place, size);
      mprotect(copy, size, PROT_READ);
      // Readers see the map or its copy, and wait in between.
      if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) {
        munmap(copy, size);
        copy = MAP_FAILED;
      }
    }
    if (copy == MAP_FAILED) {
      LOG(ERROR) << "there is no memory for a copy of " << map.path;
      MarkDamaged(map);
    }
    fcntl(map.fd, F_SETLEASE, F_UNLCK);
    map.holds_lease = false;
  }

  absl::Mutex mu_;
  size_t used_ ABSL_GUARDED_BY(mu_) = 0;  // entries from there on never were
  absl::Notification started_;
  pid_t thread_ = 0;  // set before started_
};

// Made with the first map, and never destroyed: maps may outlive everything.
Guard& TheGuard() {
  static Guard* const guard = new Guard;
  return *guard;
}

}  // namespace

void StartMappingGuard() { TheGuard(); }

bool GuardMapping(int fd, const std::string& path, char* data, size_t size) {
  return IsLocal(fd) && TheGuard().Add(fd, path, data, size);
}

void UnguardMapping(char* data) {
  // Before the first map there is nothing to remove, and no guard to be made for it.
  if (handler_maps.load(std::memory_order_acquire) != nullptr) TheGuard().Remove(data);
}

void ReleaseMappedPages(absl::string_view bytes) {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (address + kPage - 1) & ~(kPage - 1);
  const uintptr_t end = (address + bytes.size()) & ~(kPage - 1);
  if (begin < end && handler_maps.load(std::memory_order_acquire) != nullptr) {
    TheGuard().Release(begin, end);
  }
}

absl::Status CheckMappings(absl::string_view directory) {
  return mapping_guard_internal::num_damaged.load(std::memory_order_relaxed) > 0
             ? TheGuard().Check(directory)
             : absl::OkStatus();
}

}  // namespace tessera
