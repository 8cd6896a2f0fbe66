// Unicode normal forms of strings, by ICU: CaseFoldUTF8, NormalizeUTF8, and with a map of positions
// NormalizeUTF8WithOffsetsMap, FindSourceOffsets.
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/tensor/variant.h"
#include "unicode/bytestream.h"
#include "unicode/edits.h"
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

// What normalising a string has changed, which maps positions of the result to the original.
struct OffsetsMap : VariantValue {
  std::string TypeName() const override { return "(anonymous namespace)::OffsetsMap"; }
  std::string DebugString() const override {
    return absl::StrCat("changes of a normalised string by ", edits.lengthDelta(), " bytes");
  }

  icu::Edits edits;
};

// The form is an attribute, in letters of any case, or, of CaseFoldUTF8, NFKC with case folding.
// The second output, if there is one, is the map of each string.
class NormalizeKernel final : public OpKernel {
 public:
  explicit NormalizeKernel(const KernelBuild& build)
      : makes_maps_(build.op().name == "NormalizeUTF8WithOffsetsMap") {
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
    Variant* maps = nullptr;
    if (makes_maps_) {
      ASSIGN_OR_RETURN(Tensor* const tensor, ctx.AllocateOutput(1, ctx.input(0).shape()));
      maps = tensor->data<Variant>();
    }
    ctx.ParallelFor(static_cast<int64_t>(from.size()), 500, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        icu::StringByteSink<std::string> sink(&to[i]);
        UErrorCode error = U_ZERO_ERROR;
        const auto map = makes_maps_ ? std::make_shared<OffsetsMap>() : nullptr;
        normalizer_->normalizeUTF8(
            0, icu::StringPiece(from[i].data(), static_cast<int32_t>(from[i].size())), sink,
            map != nullptr ? &map->edits : nullptr, error);
        if (map != nullptr) maps[i] = Variant(map);
      }
    });
    return absl::OkStatus();
  }

 private:
  const bool makes_maps_;
  const icu::Normalizer2* normalizer_ = nullptr;
};
REGISTER_KERNEL("CaseFoldUTF8", kCpu, NormalizeKernel);
REGISTER_KERNEL("NormalizeUTF8", kCpu, NormalizeKernel);
REGISTER_KERNEL("NormalizeUTF8WithOffsetsMap", kCpu, NormalizeKernel);

// Inputs: maps of normalised strings, and positions in each of them, with row splits. Output: the
// positions in the strings as they were, that of the end for positions behind the end.
// Errors: INVALID_ARGUMENT for splits that do not fit, and for variants that are no maps.
class FindSourceOffsetsKernel final : public OpKernel {
 public:
  explicit FindSourceOffsetsKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const auto maps = ctx.input(0).flat<Variant>();
    const auto from = ctx.input(1).flat<int64_t>();
    ASSIGN_OR_RETURN(
        const auto splits,
        ReadRowSplits(ctx.input(2), static_cast<int64_t>(from.size()), "input_offsets_splits"));
    if (splits.size() != maps.size() + 1) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", maps.size(), " maps for ",
                                                     splits.size() - 1, " rows of offsets"));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(1).shape()));
    int64_t* const to = output->data<int64_t>();
    for (size_t row = 0; row < maps.size(); ++row) {
      const auto* const map = maps[row].get<OffsetsMap>();
      if (map == nullptr) {
        return absl::InvalidArgumentError("offsets_map must come from NormalizeUTF8WithOffsetsMap");
      }
      icu::Edits::Iterator changes = map->edits.getFineChangesIterator();
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        UErrorCode error = U_ZERO_ERROR;
        to[i] = changes.sourceIndexFromDestinationIndex(static_cast<int32_t>(from[i]), error);
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("FindSourceOffsets", kCpu, FindSourceOffsetsKernel);

}  // namespace
}  // namespace tessera
