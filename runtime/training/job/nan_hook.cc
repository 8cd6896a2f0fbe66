#include "runtime/training/job/nan_hook.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/training/job/failure.h"

namespace tessera {
namespace {

using Locate = std::function<absl::StatusOr<std::string>(const StepResult& result)>;

class NanHook final : public Hook {
 public:
  explicit NanHook(Locate locate) : locate_(std::move(locate)) {}

  absl::Status AfterStep(const StepResult& result) override {
    if (std::isfinite(result.loss)) [[likely]]
      return absl::OkStatus();
    std::string place = "hooks.nan.debug=true names the op that it comes from";
    if (locate_ != nullptr) {
      absl::StatusOr<std::string> located = locate_(result);
      place = located.ok()
                  ? *std::move(located)
                  : absl::StrCat("where it comes from was not found: ", located.status().message());
    }
    return WithFailure(absl::OutOfRangeError(
                           absl::StrCat("the loss of step ", result.step, " is ",
                                        std::isnan(result.loss) ? "NaN" : "infinite", "; ", place,
                                        ". Nothing was saved since the last checkpoint. A lower "
                                        "learning rate or graph.clip may help")),
                       RunFailure::kNotFinite);
  }

 private:
  const Locate locate_;
};

}  // namespace

std::unique_ptr<Hook> MakeNanHook(Locate locate) {
  return std::make_unique<NanHook>(std::move(locate));
}

}  // namespace tessera
