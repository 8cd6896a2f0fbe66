#include "tests/conformance/tensor_compare.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

template <typename T>
bool IsClose(T got, T want, double rtol, double atol) {
  const double g = static_cast<double>(got), w = static_cast<double>(want);
  if (std::isnan(g) || std::isnan(w)) return std::isnan(g) && std::isnan(w);
  if (std::isinf(g) || std::isinf(w)) return g == w;
  return std::abs(g - w) <= atol + rtol * std::abs(w);
}

template <typename T>
bool IsClose(std::complex<T> got, std::complex<T> want, double rtol, double atol) {
  auto is_finite = [](std::complex<T> z) {
    return std::isfinite(z.real()) && std::isfinite(z.imag());
  };
  if (!is_finite(got) || !is_finite(want)) {
    return IsClose(got.real(), want.real(), rtol, atol) &&
           IsClose(got.imag(), want.imag(), rtol, atol);
  }
  const std::complex<double> g(got), w(want);
  return std::abs(g - w) <= atol + rtol * std::abs(w);
}

template <typename T>
int64_t FirstFar(const Tensor& got, const Tensor& want, double rtol, double atol) {
  const absl::Span<const T> g = got.flat<T>(), w = want.flat<T>();
  for (size_t i = 0; i < g.size(); ++i) {
    if (!IsClose(g[i], w[i], rtol, atol)) return static_cast<int64_t>(i);
  }
  return -1;
}

int64_t FirstUnequal(const Tensor& got, const Tensor& want) {
  if (got.dtype() == DType::kString) {
    const absl::Span<const std::string> g = got.flat<std::string>(), w = want.flat<std::string>();
    for (size_t i = 0; i < g.size(); ++i) {
      if (g[i] != w[i]) return static_cast<int64_t>(i);
    }
    return -1;
  }
  const size_t size = DTypeSize(got.dtype());
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    if (std::memcmp(got.raw() + i * size, want.raw() + i * size, size) != 0) return i;
  }
  return -1;
}

}  // namespace

std::string FirstDifference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (got.dtype() != want.dtype()) {
    return absl::StrCat("dtype is ", DTypeName(got.dtype()), ", want ", DTypeName(want.dtype()));
  }
  if (!(got.shape() == want.shape())) {
    return absl::StrCat("shape is ", got.shape().ToString(), ", want ", want.shape().ToString());
  }
  double default_tolerance = 1e-5;
  int64_t at = -1;
  auto rtol = [&] { return tolerance.rtol.value_or(default_tolerance); };
  auto atol = [&] { return tolerance.atol.value_or(default_tolerance); };
  switch (want.dtype()) {
    case DType::kFloat:
      at = FirstFar<float>(got, want, rtol(), atol());
      break;
    case DType::kComplex64:
      at = FirstFar<std::complex<float>>(got, want, rtol(), atol());
      break;
    case DType::kDouble:
      default_tolerance = 1e-12;
      at = FirstFar<double>(got, want, rtol(), atol());
      break;
    case DType::kComplex128:
      default_tolerance = 1e-12;
      at = FirstFar<std::complex<double>>(got, want, rtol(), atol());
      break;
    case DType::kHalf:
      default_tolerance = 1e-2;
      at = FirstFar<Eigen::half>(got, want, rtol(), atol());
      break;
    case DType::kBfloat16:
      default_tolerance = 1e-2;
      at = FirstFar<Eigen::bfloat16>(got, want, rtol(), atol());
      break;
    case DType::kResource:
    case DType::kVariant:
      return absl::StrCat("cannot compare ", DTypeName(want.dtype()));
    default:
      at = FirstUnequal(got, want);
      break;
  }
  if (at < 0) return "";
  std::string text = absl::StrCat("element ", at, " of ", want.num_elements(), " is ",
                                  ElementToString(got, at), ", want ", ElementToString(want, at));
  if (IsFloating(want.dtype()) || IsComplex(want.dtype())) {
    absl::StrAppend(&text, " (rtol ", rtol(), ", atol ", atol(), ")");
  }
  return text;
}

}  // namespace tessera
