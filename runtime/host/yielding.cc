#include "runtime/host/yielding.h"

namespace tessera {
namespace {

thread_local int yielding_scopes = 0;

}  // namespace

YieldingScope::YieldingScope(ThreadPool* pool) : redirect_(pool) { ++yielding_scopes; }

YieldingScope::~YieldingScope() { --yielding_scopes; }

void RunYielding(absl::FunctionRef<void()> closure) {
  ++yielding_scopes;
  closure();
  --yielding_scopes;
}

bool Yields() { return yielding_scopes > 0; }

bool InBackground() { return BackgroundPool() != nullptr && !Yields(); }

}  // namespace tessera
