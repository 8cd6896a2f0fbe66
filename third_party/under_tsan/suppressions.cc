// What ThreadSanitizer is to leave out, in every program of --config=tsan; TSAN_OPTIONS may name a
// file with more. Each line is for a library of the system that was compiled without the sanitizer
// and orders its threads by atomics, which nobody sees: memory that it takes from the heap, copies
// or reads from a socket looks unordered. `called_from_lib` leaves out only what the library itself
// makes the heap, memcpy() and the like touch; our own accesses, also to the same memory, are still
// checked. `race` leaves out what happens within the library's functions.
extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return
      // Calls go from a polling thread to the one that answers by a lock-free completion queue.
      "called_from_lib:libgrpc.so\n"
      // The allocation functions of the above, and its protos, which it keeps in its statuses.
      "called_from_lib:libgpr.so\n"
      "called_from_lib:libupb.so\n"
      // Makes the tag of the next call on one thread and frees it on another.
      "called_from_lib:libgrpc++.so\n"
      // Ends a call of the callback interface on a thread of its own once all reactions are over: a
      // lock-free queue of libgrpc++.so lies between them and the end, with which OnDone() of our
      // reactors is left out too. It only lets go of the reactor.
      "race:::CallOnDone\n"
      // Fills the context of a call, which the counter of calls allocated on the polling thread:
      // the same kind of queue lies between them.
      "race:CallbackUnaryHandler*::ServerCallbackUnaryImpl::ServerCallbackUnaryImpl\n"
      // Counts who shares a status; the last one frees it, on whatever thread. The texts in it are
      // strings, whose code the library finds in the program: the library is not the direct caller.
      "race:libabsl_status.so\n"
      // The library's function ends in a jump to the one that frees, which leaves our caller alone.
      "race:Status::Unref\n"
      // Copies what a status carries into a string that gRPC gives to another thread; likewise.
      "race:libabsl_cord.so\n"
      // Reads back the times that gRPC writes into statuses.
      "called_from_lib:libabsl_time.so\n"
      // The mutex of the time zones is made in a function's static variable, whose guard is unseen.
      "called_from_lib:libabsl_time_zone.so\n"
      // The graph in which mutexes look for deadlocks is under a spin lock.
      "called_from_lib:libabsl_graphcycles_internal.so\n"
      // Its cache of primitives is made in a function's static variable, whose guard is unseen.
      "called_from_lib:libdnnl.so\n";
}
