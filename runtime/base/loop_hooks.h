// before_loop_piece and NumHelpingThreads(): for those who share out the cores between loops.
#pragma once

namespace tessera {

using LoopHook = void (*)();

// Null, which is the default: nothing. Otherwise the calling thread cuts what it runs of a parallel
// loop for the pool of its pool_redirect (thread_pool.h) into pieces, and calls this before each of
// them. A piece takes 0.1 ms by the loop's own estimate, or is one item. The call may block.
extern constinit thread_local LoopHook before_loop_piece;

// Returns how many threads of all pools help with loops now, or spin until the next loop comes.
// Pools whose threads have a nice value are not counted. Thread-safe.
int NumHelpingThreads();

}  // namespace tessera
