#include "runtime/kernels/primitives/cuda/testing/emulation.h"

#include <ucontext.h>

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/logging.h"

namespace tessera::emulation {
namespace {

std::atomic<int64_t> num_launches{0};

constexpr size_t kStackSize = 64 << 10;

enum class State { kRunnable, kWaitsForBlock, kWaitsForWarp, kDone };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStackSize]};
  State state = State::kDone;
  // The words that a thread last gave to its warp. A thread is at most one exchange ahead of
  // another, so that two places suffice.
  uint32_t words[2] = {0, 0};
  unsigned exchanges = 0;
};

// The block that a host thread runs.
struct Block {
  std::vector<Fiber> fibers;
  unsigned threads = 0;
  unsigned current = 0;
  ucontext_t scheduler;
  const absl::FunctionRef<void()>* body = nullptr;
};

Block& ThisBlock() {
  static thread_local Block block;
  return block;
}

void FiberMain() {
  Block& block = ThisBlock();
  (*block.body)();
  Fiber& fiber = block.fibers[block.current];
  fiber.state = State::kDone;
  ::swapcontext(&fiber.context, &block.scheduler);
}

void GiveWay(State state) {
  Block& block = ThisBlock();
  Fiber& fiber = block.fibers[block.current];
  fiber.state = state;
  ::swapcontext(&fiber.context, &block.scheduler);
}

// Makes the fibers in [begin, end) runnable if all that are not done wait in `state`.
bool Release(Block& block, unsigned begin, unsigned end, State state) {
  bool any = false;
  for (unsigned t = begin; t < end; ++t) {
    if (block.fibers[t].state == State::kDone) continue;
    if (block.fibers[t].state != state) return false;
    any = true;
  }
  for (unsigned t = begin; any && t < end; ++t) {
    if (block.fibers[t].state == state) block.fibers[t].state = State::kRunnable;
  }
  return any;
}

// Runs all runnable fibers until they wait. The order alternates, so that no kernel can rely on it.
bool RunFibers(Block& block, bool backwards) {
  bool ran = false;
  for (unsigned i = 0; i < block.threads; ++i) {
    const unsigned t = backwards ? block.threads - 1 - i : i;
    Fiber& fiber = block.fibers[t];
    if (fiber.state != State::kRunnable) continue;
    ran = true;
    block.current = t;
    thread_index.x = t;
    ::swapcontext(&block.scheduler, &fiber.context);
  }
  return ran;
}

void RunBlock(Block& block) {
  for (unsigned t = 0; t < block.threads; ++t) {
    Fiber& fiber = block.fibers[t];
    CHECK(::getcontext(&fiber.context) == 0);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackSize;
    fiber.context.uc_link = nullptr;
    ::makecontext(&fiber.context, &FiberMain, 0);
    fiber.state = State::kRunnable;
    fiber.exchanges = 0;
  }
  bool backwards = block_index.x % 2 == 1;
  while (RunFibers(block, backwards)) {
    backwards = !backwards;
    for (unsigned w = 0; w < block.threads; w += kWarpSize) {
      Release(block, w, std::min(block.threads, w + kWarpSize), State::kWaitsForWarp);
    }
    Release(block, 0, block.threads, State::kWaitsForBlock);
  }
  for (unsigned t = 0; t < block.threads; ++t) {
    CHECK(block.fibers[t].state == State::kDone) << "thread " << t << " of block " << block_index.x
                                                 << " waits at a barrier that others miss";
  }
}

}  // namespace

void Launch(unsigned blocks, unsigned threads, absl::FunctionRef<void()> body) {
  ++num_launches;
  Block& block = ThisBlock();
  if (block.fibers.size() < threads) block.fibers = std::vector<Fiber>(threads);
  block.threads = threads;
  block.body = &body;
  grid_dim = {blocks};
  block_dim = {threads};
  for (unsigned b = 0; b < blocks; ++b) {
    block_index = {b};
    RunBlock(block);
  }
}

void LaunchIndependent(unsigned blocks, unsigned threads, absl::FunctionRef<void()> body) {
  ++num_launches;
  grid_dim = {blocks};
  block_dim = {threads};
  for (unsigned b = 0; b < blocks; ++b) {
    block_index = {b};
    for (unsigned t = 0; t < threads; ++t) {
      thread_index.x = t;
      body();
    }
  }
}

int64_t NumLaunches() { return num_launches; }

void WaitForBlock() { GiveWay(State::kWaitsForBlock); }

uint32_t Shuffle(uint32_t word, int lane) {
  Block& block = ThisBlock();
  const unsigned self = block.current;
  Fiber& fiber = block.fibers[self];
  const unsigned place = fiber.exchanges++ % 2;
  fiber.words[place] = word;
  GiveWay(State::kWaitsForWarp);
  return block.fibers[self - self % kWarpSize + lane].words[place];
}

}  // namespace tessera::emulation
