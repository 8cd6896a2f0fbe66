// The end of a process with threads of low priority.
#pragma once

namespace tessera {

// Gives all threads of the process the priority of its main thread back, as far as the system
// allows it: raising a priority takes CAP_SYS_NICE or a limit RLIMIT_NICE of 20.
//
// A process ends only once each of its threads has run to its end. On a machine that other
// processes keep busy, a thread at SCHED_IDLE gets next to no time, so that without this call a
// process of which no work is left, or that was told to end at once, may still take tens of
// seconds.
void RestoreThreadPriorities();

}  // namespace tessera
