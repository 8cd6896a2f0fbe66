#include "serving/core/helper_thread.h"

#include <system_error>
#include <utility>

#include "runtime/base/logging.h"

namespace tessera::serving {

HelperThread::HelperThread(std::function<void()> work) : work_(std::move(work)) {
  try {
    thread_ = std::thread([this] { work_(); });
  } catch (const std::system_error& error) {
    LOG(WARNING) << "no thread can be started (" << error.what() << "): some work is done later";
  }
}

HelperThread::~HelperThread() { Join(); }

void HelperThread::Join() {
  if (thread_.joinable()) {
    thread_.join();
  } else if (work_ != nullptr) {
    work_();
  }
  work_ = nullptr;
}

}  // namespace tessera::serving
