// MakeTracedCallable: runs and their nodes in traces.
#pragma once

#include <memory>
#include <string>

#include "runtime/profile/tracer.h"
#include "runtime/session/session.h"

namespace tessera {

// Returns a callable that runs `callable`. While `tracer` records, each run becomes an event `name`
// of the category "run" on the calling thread, with the rows of its first feed, and each node that
// it executes one of the category "op", named "node:Op" as in TensorFlow's traces, on the thread
// that executed it. A run whose caller asked for metadata becomes no events. `tracer` must outlive
// the callable.
std::shared_ptr<const Callable> MakeTracedCallable(std::string name, Tracer* tracer,
                                                   std::shared_ptr<const Callable> callable);

}  // namespace tessera
