#include "serving/commands/bench/model_target.h"

#include <utility>

namespace tessera::serving {

ModelTarget::ModelTarget(const Servable* model, std::string signature_name,
                         const std::map<std::string, Tensor>& inputs, int num_threads)
    : model_(model), signature_name_(std::move(signature_name)) {
  for (const auto& [name, value] : inputs) {
    names_.push_back(name);
    values_.push_back(value);
  }
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { Work(); });
}

ModelTarget::~ModelTarget() {
  {
    absl::MutexLock lock(&mu_);
    stops_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status ModelTarget::Run() const {
  const std::vector<absl::string_view> names(names_.begin(), names_.end());
  const auto input = [this](size_t i) -> absl::StatusOr<Tensor> { return values_[i]; };
  PredictResult result;
  return model_->Predict({.signature_name = signature_name_, .input_names = names, .input = input},
                         {}, &result);
}

void ModelTarget::Send(size_t, OnReply on_reply) {
  absl::MutexLock lock(&mu_);
  queue_.push_back(std::move(on_reply));
}

void ModelTarget::Work() {
  while (true) {
    OnReply on_reply;
    {
      absl::MutexLock lock(&mu_, absl::Condition(this, &ModelTarget::HasWork));
      if (queue_.empty()) return;
      on_reply = std::move(queue_.front());
      queue_.pop_front();
    }
    on_reply(Run(), {});
  }
}

}  // namespace tessera::serving
