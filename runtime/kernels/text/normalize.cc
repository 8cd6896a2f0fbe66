// Unicode normal forms of strings, by ICU: CaseFoldUTF8, NormalizeUTF8.
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "unicode/bytestream.h"
#include "unicode/normalizer2.h"

namespace tessera {
namespace {

constexpr char kCasefold[] = "NFKC_Casefold";

// Errors: INVALID_ARGUMENT for an unknown form.
absl::StatusOr<const icu::Normalizer2*> NormalizerOf(absl::string_view form) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = nullptr;
  if (form == "NFC") {
    normalizer = icu::Normalizer2::getNFCInstance(error);
  } else if (form == "NFD") {
    normalizer = icu::Normalizer2::getNFDInstance(error);
  } else if (form == "NFKC") {
    normalizer = icu::Normalizer2::getNFKCInstance(error);
  } else if (form == "NFKD") {
    normalizer = icu::Normalizer2::getNFKDInstance(error);
  } else if (form == kCasefold) {
    normalizer = icu::Normalizer2::getNFKCCasefoldInstance(error);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown normalization_form '", form, "': it must be NFC, NFD, NFKC or NFKD"));
  }
  if (U_SUCCESS(error)) return normalizer;
  return absl::InternalError(
      absl::StrCat("ICU cannot load its data of ", form, ": ", u_errorName(error)));
}

// The form is an attribute, in letters of any case, or, of CaseFoldUTF8, NFKC with case folding.
class NormalizeKernel final : public OpKernel {
 public:
  explicit NormalizeKernel(const KernelBuild& build) {
    std::string form = kCasefold;
    if (build.has_attr("normalization_form")) {
      form = absl::AsciiStrToUpper(build.attr<std::string>("normalization_form"));
    }
    const absl::StatusOr<const icu::Normalizer2*> normalizer = NormalizerOf(form);
    if (normalizer.ok()) {
      normalizer_ = *normalizer;
    } else {
      build.Fail(normalizer.status());
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const auto from = ctx.input(0).flat<std::string>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    auto to = output->flat<std::string>();
    ctx.ParallelFor(static_cast<int64_t>(from.size()), 500, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        icu::StringByteSink<std::string> sink(&to[i]);
        UErrorCode error = U_ZERO_ERROR;
        normalizer_->normalizeUTF8(
            0, icu::StringPiece(from[i].data(), static_cast<int32_t>(from[i].size())), sink,
            nullptr, error);
      }
    });
    return absl::OkStatus();
  }

 private:
  const icu::Normalizer2* normalizer_ = nullptr;
};
REGISTER_KERNEL("CaseFoldUTF8", kCpu, NormalizeKernel);
REGISTER_KERNEL("NormalizeUTF8", kCpu, NormalizeKernel);

}  // namespace
}  // namespace tessera
