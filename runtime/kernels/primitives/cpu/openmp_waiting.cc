// How long OpenMP's threads spin before they sleep: those of custom ops, for oneDNN's loops run on
// their callers here.
//
// By default libgomp spins for milliseconds, at a region's start and at its end. That is quicker
// only where every thread has a core to itself: as soon as other threads want the cores, requests
// wait for spinning that waits for them, and a loop takes several times as long. A thousand turns
// are some twenty microseconds: enough from one loop to the next.
//
// libgomp reads its environment once, when it is initialised. It is linked statically (see
// @system//:dnnl), so that this comes before; a setting of the user's own wins.
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
