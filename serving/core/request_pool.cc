#include "serving/core/request_pool.h"

#include <chrono>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "runtime/base/cpu_count.h"

namespace tessera::serving {
namespace {

int64_t Now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

RequestPool::RequestPool(const Options& options)
    : host_(options.host != nullptr && options.host->yielding_pool() != nullptr ? options.host
                                                                                : nullptr),
      crowd_(AvailableCores()),
      usual_({.name = options.name, .max_threads = options.max_threads}),
      yielding_({.name = absl::StrCat("low ", options.name),
                 .max_threads = options.max_threads,
                 .priority = ThreadPriority::kLow}) {}

void RequestPool::Schedule(const Share* share, std::function<void()> closure) {
  if (host_ == nullptr || share == nullptr) return usual_.Schedule(share, std::move(closure));
  share->BeginRequest();
  if (!host_->shares().GivesWay(*share, crowd_, Now())) {
    YieldGate& gate = host_->yielding_pool()->gate();
    gate.BeginPreferred();
    return usual_.Schedule(share, [share, &gate, closure = std::move(closure)] {
      closure();
      share->EndRequest();
      gate.EndPreferred();
    });
  }
  yielding_.Schedule(share, [this, share, closure = std::move(closure)] {
    const YieldingScope scope(host_->yielding_pool());
    closure();
    share->EndRequest();
  });
}

}  // namespace tessera::serving
