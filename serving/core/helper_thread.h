// HelperThread: work that goes on beside the caller, where the system has a thread for it.
//
//   HelperThread rest([&] { rest_server.Shutdown(deadline); });
//   grpc_server.Shutdown(deadline);
//   rest.Join();
#pragma once

#include <functional>
#include <thread>

namespace tessera::serving {

// Used by one thread.
class HelperThread {
 public:
  // Starts a thread that runs `work`. Without one, Join() runs it.
  explicit HelperThread(std::function<void()> work);
  // Calls Join().
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // Returns when the work is done.
  void Join();

 private:
  std::function<void()> work_;  // null once it was joined
  std::thread thread_;
};

}  // namespace tessera::serving
