// The Fourier transform.
#include "absl/strings/str_cat.h"
#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {
namespace {

// In the order of the format's enumeration.
enum FftType { kFft, kInverseFft, kRealFft, kInverseRealFft };

// Over the last one to three dimensions. The result is scaled as TensorFlow scales it: only the
// inverse transforms are, by the number of their elements.
void Fft(Translator& t, const Operation& op) {
  if (op.operands.size() != 1) return t.Fail("it has another number of operands");
  const Dims lengths = t.IntsAttr(op, "fft_length");
  const int64_t type = t.IntAttr(op, "fft_type");
  if (!t.status().ok()) return;
  const std::string suffixes[] = {"", "2D", "3D"};
  if (lengths.empty() || lengths.size() > 3) {
    return t.Fail(absl::StrCat(lengths.size(), " dimensions are not supported"));
  }
  const std::string& suffix = suffixes[lengths.size() - 1];
  const Expr x = t.Full(op.operands[0]);
  const AttrMap real = {{"Treal", t.type(op.results[0]).dtype}};
  const AttrMap complex = {{"Tcomplex", t.type(op.results[0]).dtype}};
  switch (type) {
    case kFft:
      return t.Set(op.results[0], Call(absl::StrCat("FFT", suffix), {x}));
    case kInverseFft:
      return t.Set(op.results[0], Call(absl::StrCat("IFFT", suffix), {x}));
    case kRealFft:
      return t.Set(op.results[0],
                   Call(absl::StrCat("RFFT", suffix), {x, t.Ints(lengths)}, complex));
    case kInverseRealFft:
      return t.Set(op.results[0], Call(absl::StrCat("IRFFT", suffix), {x, t.Ints(lengths)}, real));
    default:
      return t.Fail(absl::StrCat("there is no transform of type ", type));
  }
}

constexpr NamedHandler kHandlers[] = {
    {"fft", Fft},
};

}  // namespace

absl::Span<const NamedHandler> FourierHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
