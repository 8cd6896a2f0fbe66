// A model in this process as the target of load.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "runtime/tensor/tensor.h"
#include "serving/commands/load/request_target.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

// Runs one request of a signature again and again, on threads of its own, as many at a time as
// there are threads. Answers are not encoded: `on_reply` gets none. Thread-safe.
class ModelTarget final : public RequestTarget {
 public:
  // `model` must outlive the target.
  ModelTarget(const Servable* model, std::string signature_name,
              const std::map<std::string, Tensor>& inputs, int num_threads);
  ~ModelTarget() override;

  // Runs the request on the calling thread. Errors: those of Servable::Predict().
  absl::Status Run() const;
  // There is one request, 0.
  void Send(size_t request, OnReply on_reply) override;

 private:
  void Work();
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return stops_ || !queue_.empty(); }

  const Servable* const model_;
  const std::string signature_name_;
  std::vector<std::string> names_;
  std::vector<Tensor> values_;
  absl::Mutex mu_;
  std::deque<OnReply> queue_ ABSL_GUARDED_BY(mu_);
  bool stops_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera::serving
