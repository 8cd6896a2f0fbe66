// Limits how long idle OpenMP threads spin before they sleep. Only custom ops have such threads,
// since oneDNN runs on the thread that calls it.
//
// By default libgomp spins for milliseconds at the start and at the end of a region. That is faster
// only where every thread has a core to itself. As soon as other threads want the cores, requests
// wait for spinning threads, and a loop takes several times as long. A thousand iterations are
// about twenty microseconds, which is enough from one loop to the next.
//
// libgomp reads its environment once, when it is initialised. It is linked statically (see
// @system//:dnnl), so that this initialiser runs first. A setting of the user's own takes
// precedence.
#include <cstdlib>

namespace tessera {
namespace {

constexpr int kBeforeOtherInitialisers = 101;

__attribute__((constructor(kBeforeOtherInitialisers))) void LimitSpinning() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", /*replace=*/0);
}

}  // namespace
}  // namespace tessera
