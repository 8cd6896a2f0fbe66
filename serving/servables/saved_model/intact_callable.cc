#include "serving/servables/saved_model/intact_callable.h"

#include <utility>
#include <vector>

#include "runtime/host/mapping_guard.h"

namespace tessera::serving {
namespace {

class IntactCallable final : public Callable {
 public:
  IntactCallable(std::string directory, std::shared_ptr<const Callable> callable)
      : directory_(std::move(directory)), callable_(std::move(callable)) {}

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override {
    absl::Status status = callable_->Run(options, feeds, fetches, metadata);
    if (!AnyMappingDamaged()) [[likely]]
      return status;
    absl::Status intact = CheckMappings(directory_);
    if (intact.ok()) return status;
    if (fetches != nullptr) fetches->clear();
    return intact;
  }
  const RunSignature& signature() const override { return callable_->signature(); }

 private:
  const std::string directory_;
  const std::shared_ptr<const Callable> callable_;
};

}  // namespace

std::shared_ptr<const Callable> MakeIntactCallable(std::string directory,
                                                   std::shared_ptr<const Callable> callable) {
  return std::make_shared<IntactCallable>(std::move(directory), std::move(callable));
}

}  // namespace tessera::serving
