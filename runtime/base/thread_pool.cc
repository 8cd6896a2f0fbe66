#include "runtime/base/thread_pool.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/loop_hooks.h"
#include "runtime/base/thread_share.h"

#define EIGEN_USE_THREADS
#include "unsupported/Eigen/CXX11/ThreadPool"

namespace tessera {

constinit thread_local ThreadPool* pool_redirect = nullptr;
constinit thread_local LoopHook before_loop_piece = nullptr;

namespace {

// A share of work below this is not worth waking a thread for: a wake-up costs some microseconds.
constexpr double kMinNanosPerShare = 10e3;
// Blocks a thread claims in a loop: enough that a thread which started late, or lost its core, does
// not hold up the end.
constexpr int64_t kBlocksPerThread = 4;
// How long a piece of a loop takes by the loop's own estimate.
constexpr double kPieceNanos = 100e3;
// How long who waits looks for a change before it goes to sleep: a few times what a wake-up costs
// on a virtual machine, and what lies between two parallel loops of a model.
constexpr std::chrono::microseconds kSpin(50);

// How Eigen's pool makes its threads: named, and at their nice value.
struct ThreadEnvironment {
  struct Task {
    std::function<void()> f;
  };

  class EnvThread {
   public:
    explicit EnvThread(std::function<void()> body) : thread_(std::move(body)) {}
    ~EnvThread() { thread_.join(); }
    void OnCancel() {}

   private:
    std::thread thread_;
  };

  EnvThread* CreateThread(std::function<void()> body) {
    return new EnvThread([name = name, nice = nice, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.c_str());
      if (nice != 0) {
        // On Linux this is the thread's own value, not the process's.
        const auto tid = static_cast<id_t>(syscall(SYS_gettid));
        setpriority(PRIO_PROCESS, tid, getpriority(PRIO_PROCESS, tid) + nice);
      }
      body();
    });
  }
  Task CreateTask(std::function<void()> f) { return Task{std::move(f)}; }
  void ExecuteTask(const Task& task) { task.f(); }

  std::string name;
  int nice = 0;
};

using EigenPool = Eigen::ThreadPoolTempl<ThreadEnvironment>;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Looks for up to kSpin whether something is so.
template <typename Condition>
bool SpinUntil(const Condition& condition) {
  constexpr int kTurnsBetweenClocks = 16;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int turn = 0; turn < kTurnsBetweenClocks; ++turn) {
      if (condition()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// One ParallelFor in progress. Counted, because a helper that starts late finds no block left and
// must still be able to see that, after the caller has returned.
class Loop {
 public:
  using Body = absl::FunctionRef<void(int64_t, int64_t)>;

  Loop(int64_t total, int64_t num_blocks, int threads, Body body)
      : total_(total),
        num_blocks_(num_blocks),
        threads_(threads),
        owners_(threads),
        body_(body),
        shares_(threads),
        unfinished_(num_blocks) {
    for (int i = 0; i < threads; ++i) {
      shares_[i].next = num_blocks * i / threads;
      shares_[i].end = num_blocks * (i + 1) / threads;
    }
  }

  // What the caller and what its helpers run. A helper calls `on_last` when it has no more to do
  // but say so, before the caller can know.
  void Lead() {
    RunBlocks(0, [] {});
  }
  template <typename OnLast>
  void Help(const OnLast& on_last) {
    RunBlocks(helpers_.fetch_add(1, std::memory_order_relaxed) + 1, on_last);
  }

  // Returns the first exception of the body, null if there was none.
  std::exception_ptr Wait() {
    if (!SpinUntil([&] { return done_.load(std::memory_order_acquire) != 0; })) {
      done_.wait(0, std::memory_order_acquire);
    }
    return exception_;
  }

  void Release() {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  // Blocks that one thread takes first.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  // Runs blocks until none is unclaimed: those of share `mine`, then what others have left. Blocks
  // beside each other, and the same ones in each loop, find in this core's cache what the loop
  // before has left there. `body_` refers to the caller's frame, which lives until all claimed
  // blocks are done: it is touched after a successful claim only.
  template <typename OnLast>
  void RunBlocks(int mine, const OnLast& on_last) {
    int64_t finished = 0;
    for (int i = 0; i < threads_; ++i) {
      Share& share = shares_[(mine + i) % threads_];
      for (int64_t at; (at = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;) {
        try {
          body_(FirstOf(at), FirstOf(at + 1));
        } catch (...) {
          if (!has_failed_.test_and_set()) exception_ = std::current_exception();
        }
        ++finished;
      }
    }
    on_last();
    if (finished > 0 && unfinished_.fetch_sub(finished, std::memory_order_acq_rel) == finished) {
      done_.store(1, std::memory_order_release);
      done_.notify_one();
    }
  }

  // The first item of a block. No block is longer than another by more than one item, and no share.
  int64_t FirstOf(int64_t block) const { return total_ * block / num_blocks_; }

  const int64_t total_;
  const int64_t num_blocks_;
  const int threads_;
  std::atomic<int> owners_;
  std::atomic<int> helpers_{0};
  std::atomic<int> done_{0};
  Body body_;
  std::vector<Share> shares_;
  std::atomic<int64_t> unfinished_;
  std::atomic_flag has_failed_;
  std::exception_ptr exception_;  // written by who set the flag, read when all blocks are done
};

// Threads that have just helped with a loop, and look for the next one before they go back to the
// pool's queue: from there, a thread that sleeps takes longer to come than many a loop takes.
class Lingerers {
 public:
  explicit Lingerers(int num_threads) : seats_(num_threads) {}

  // Gives `loop` to up to `wanted` threads that wait for one. Returns to how many.
  int Give(Loop* loop, int wanted) {
    int given = 0;
    if (count_.load(std::memory_order_relaxed) == 0) return given;
    for (Seat& seat : seats_) {
      if (given == wanted) break;
      Loop* expected = Waiting();
      if (seat.loop.load(std::memory_order_relaxed) == expected &&
          seat.loop.compare_exchange_strong(expected, loop, std::memory_order_acq_rel)) {
        ++given;
      }
    }
    return given;
  }

  // Sends everybody back to the queue, where something else is to be done.
  void Dismiss() {
    if (count_.load(std::memory_order_relaxed) != 0) {
      dismissals_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // Runs `loop` on thread `id` of the pool, then those that are given to it until none comes for a
  // while. It waits for the next loop before the caller of the one at hand knows that this is done:
  // that caller finds it waiting, however soon another loop follows.
  void Run(int id, Loop* loop) {
    std::atomic<Loop*>& seat = seats_[id].loop;
    const int64_t dismissals = dismissals_.load(std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
    while (loop != nullptr) {
      loop->Help([&] { seat.store(Waiting(), std::memory_order_release); });
      loop->Release();
      SpinUntil([&] {
        return seat.load(std::memory_order_relaxed) != Waiting() ||
               dismissals_.load(std::memory_order_relaxed) != dismissals;
      });
      loop = seat.exchange(nullptr, std::memory_order_acq_rel);
      if (loop == Waiting()) loop = nullptr;
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  // Null: the thread is elsewhere. Waiting(): it looks for a loop.
  struct alignas(64) Seat {
    std::atomic<Loop*> loop{nullptr};
  };
  Loop* Waiting() { return reinterpret_cast<Loop*>(this); }

  std::vector<Seat> seats_;
  std::atomic<int> count_{0};
  std::atomic<int64_t> dismissals_{0};
};

constinit std::atomic<int> num_helping_threads{0};

int NumThreads(int asked) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

// The body of a loop, with before_loop_piece before each of its pieces.
class InPieces {
 public:
  InPieces(int64_t total, double cost_per_item, absl::FunctionRef<void(int64_t, int64_t)> body)
      : items_(static_cast<int64_t>(std::clamp(kPieceNanos / std::max(1.0, cost_per_item), 1.0,
                                               static_cast<double>(total)))),
        body_(body) {}

  void operator()(int64_t begin, int64_t end) const {
    for (; begin < end; begin += items_) {
      // A helping thread may have none, if its pool sets none.
      if (before_loop_piece != nullptr) before_loop_piece();
      body_(begin, std::min(begin + items_, end));
    }
  }

 private:
  const int64_t items_;
  const absl::FunctionRef<void(int64_t, int64_t)> body_;
};

int NumHelpingThreads() { return num_helping_threads.load(std::memory_order_relaxed); }

class ThreadPool::Impl {
 public:
  explicit Impl(const Options& options)
      // A pool that yields to others must not spin while it has nothing to do.
      : spins(options.nice == 0),
        around_redirected(options.around_redirected),
        lingerers(NumThreads(options.num_threads)),
        pool(NumThreads(options.num_threads), spins,
             ThreadEnvironment{options.name.substr(0, 15), options.nice}) {}

  void Schedule(std::function<void()> closure) {
    lingerers.Dismiss();
    pool.Schedule(std::move(closure));
  }

  // Runs `closure`, which comes from a thread whose redirect was `redirect`: null, or this pool.
  void RunFor(ThreadPool* redirect, absl::FunctionRef<void()> closure) {
    if (redirect == nullptr) {
      closure();
      return;
    }
    ThreadPool* const outer = std::exchange(pool_redirect, redirect);
    if (around_redirected != nullptr) {
      around_redirected(closure);
    } else {
      closure();
    }
    pool_redirect = outer;
  }

  // ThreadPool::ParallelFor() on this pool, for a thread whose redirect is `redirect`.
  void RunLoop(int64_t total, double cost_per_item, ThreadPool* redirect, Loop::Body body) {
    const double shares =
        std::min(static_cast<double>(total) * cost_per_item / kMinNanosPerShare, 1e6);
    // Written so that a cost that is no number runs on the caller.
    const int64_t threads = shares >= 2 ? std::min<int64_t>({static_cast<int64_t>(shares),
                                                             ThreadShare(pool.NumThreads()), total})
                                        : 1;
    if (threads <= 1) {
      body(0, total);
      return;
    }
    const int64_t blocks_a_thread =
        std::min(kBlocksPerThread, static_cast<int64_t>(shares) / threads);
    // As many for each, or single items.
    const int64_t num_blocks = std::min(total, threads * blocks_a_thread);

    Loop* loop = new Loop(total, num_blocks, static_cast<int>(threads), body);
    Share(loop, threads - 1, redirect);
    loop->Lead();
    const std::exception_ptr exception = loop->Wait();
    loop->Release();
    if (exception != nullptr) std::rethrow_exception(exception);
  }

  // Has `helpers` threads run blocks of the loop.
  void Share(Loop* loop, int64_t helpers, ThreadPool* redirect) {
    for (int64_t i = lingerers.Give(loop, helpers); i < helpers; ++i) {
      pool.Schedule([this, loop, redirect] { RunFor(redirect, [this, loop] { Help(loop); }); });
    }
  }

  // Runs blocks of the loop on the calling thread.
  void Help(Loop* loop) {
    // When its queue is full, Eigen's pool runs a closure on the thread that schedules it.
    const int id = pool.CurrentThreadId();
    if (spins && id >= 0) {
      num_helping_threads.fetch_add(1, std::memory_order_relaxed);
      lingerers.Run(id, loop);
      num_helping_threads.fetch_sub(1, std::memory_order_relaxed);
    } else {
      loop->Help([] {});
      loop->Release();
    }
  }

  const bool spins;
  void (*const around_redirected)(absl::FunctionRef<void()> closure);
  Lingerers lingerers;
  EigenPool pool;
};

ThreadPool::ThreadPool(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::num_threads() const { return impl_->pool.NumThreads(); }

void ThreadPool::Schedule(std::function<void()> closure) {
  ThreadPool* const redirect = pool_redirect;
  if (redirect == nullptr) [[likely]] {
    impl_->Schedule(std::move(closure));
    return;
  }
  redirect->impl_->Schedule(
      [redirect, closure = std::move(closure)] { redirect->impl_->RunFor(redirect, closure); });
}

void ThreadPool::ParallelFor(int64_t total, double cost_per_item,
                             absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (total <= 0) return;
  ThreadPool* const redirect = pool_redirect;
  if (redirect == nullptr) [[likely]] {
    impl_->RunLoop(total, cost_per_item, nullptr, body);
  } else if (before_loop_piece == nullptr) {
    redirect->impl_->RunLoop(total, cost_per_item, redirect, body);
  } else {
    redirect->impl_->RunLoop(total, cost_per_item, redirect, InPieces(total, cost_per_item, body));
  }
}

}  // namespace tessera
