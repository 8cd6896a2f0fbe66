// MakeTracedCallable: the runs of a model in traces.
#pragma once

#include <memory>

#include "runtime/profile/tracer.h"
#include "runtime/session/session.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// Returns a callable that runs `callable`. While `tracer` records, each run becomes an event of the
// category "run" on the calling thread, with the rows of its first feed, and each node that it
// executes one of the category "op", named "node:Op" as in TensorFlow's traces, on the thread that
// executed it. A run whose caller asked for metadata becomes no events. `tracer` must outlive the
// callable.
std::shared_ptr<const Callable> MakeTracedCallable(const ServableId& id, Tracer* tracer,
                                                   std::shared_ptr<const Callable> callable);

}  // namespace tessera::serving
