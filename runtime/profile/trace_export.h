// The formats in which traces leave the process.
#pragma once

#include <string>

#include "runtime/profile/tracer.h"

namespace tensorflow::profiler {
class XSpace;
}  // namespace tensorflow::profiler

namespace tessera {

// Fills an empty XSpace, TensorFlow's form, which TensorBoard reads (tsl/profiler/protobuf/
// xplane.proto): one plane "/host:CPU" with a line for each thread, in which events are nested.
// Events outside of threads are in lines of their own, in which none overlap.
void ToXSpace(const Trace& trace, tensorflow::profiler::XSpace* space);

// Returns a trace as JSON in the Chrome trace event format ("JSON Object Format", complete events),
// which Perfetto and chrome://tracing open. Times are microseconds since the start of the first
// line.
std::string ToChromeTrace(const tensorflow::profiler::XSpace& space);

}  // namespace tessera
