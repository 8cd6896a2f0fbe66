// Tells ThreadSanitizer that what a thread did before it started an operation of gRPC comes before
// what the thread does that is given the operation's end. The completion queue between them is a
// lock-free one of Debian's gRPC, which is compiled without the sanitizer. Linked, compiled and
// standing in front of the library's functions as absl_locks.cc.
#include <dlfcn.h>
#include <grpc/grpc.h>

extern "C" {

void __tsan_acquire(void* address);
void __tsan_release(void* address);

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t num_ops,
                                      void* tag, void* reserved) {
  static const auto real =
      reinterpret_cast<decltype(&grpc_call_start_batch)>(dlsym(RTLD_NEXT, "grpc_call_start_batch"));
  __tsan_release(tag);
  return real(call, ops, num_ops, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static const auto real = reinterpret_cast<decltype(&grpc_completion_queue_next)>(
      dlsym(RTLD_NEXT, "grpc_completion_queue_next"));
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

}  // extern "C"
