// RequestPool: the threads that answer the requests of one front end.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "runtime/host/host.h"
#include "serving/core/elastic_pool.h"

namespace tessera::serving {

// Runs requests, which may block, by shares (ElasticPool). While a share has a crowd of requests
// under way, more than there are cores, and another one has not, the crowd's run at a low priority
// (YieldingScope): who asks one model now and then does not notice a flood of requests to another.
// The crowd keeps a tenth of the cores, and all of them when it is alone.
//
// Thread-safe. The destructor waits for all closures.
class RequestPool {
 public:
  struct Options {
    std::string name;  // as that of an ElasticPool
    // The most requests that run at once; as many again may run at a low priority.
    int max_threads = 1;
    // Has the shares, and the pool for work of low priority. Null: no request gives way. Must
    // outlive the pool.
    Host* host = nullptr;
  };
  explicit RequestPool(const Options& options);
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  // Runs a closure of a share, which may be null, and must outlive the pool.
  void Schedule(const Share* share, std::function<void()> closure);
  void Schedule(std::function<void()> closure) { Schedule(nullptr, std::move(closure)); }

  int num_threads() const { return usual_.num_threads() + yielding_.num_threads(); }
  // Returns the number of closures that wait for a thread.
  int num_queued() const { return usual_.num_queued() + yielding_.num_queued(); }

 private:
  Host* const host_;  // null: nothing gives way
  const int crowd_;
  ElasticPool usual_;
  ElasticPool yielding_;
};

}  // namespace tessera::serving
