// The GPU's Fourier transforms beside those of the CPU: lengths that are a power of two and others,
// lines that fit into shared memory and longer ones, whole blocks in place.
#include "runtime/kernels/primitives/fourier.h"

#include <complex>
#include <memory>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cuda/testing/both_devices.h"

namespace tessera {
namespace {

class FourierTest : public BothDevicesTest {
 protected:
  // Transforms `from`, of complex or real numbers as floats, on both devices.
  void ExpectAlike(FourierLines<float> lines, const Tensor& from, int64_t floats_out,
                   float tolerance) {
    Tensor to[2] = {Empty(DType::kFloat, {floats_out}), Empty(DType::kFloat, {floats_out})};
    OnBoth<FourierTransform>([&](auto* make, int device) {
      lines.from = from.data<float>();
      lines.to = to[device].data<float>();
      return make()->Run(ctx_, lines);
    });
    float greatest = 0;
    for (const float x : to[0].flat<float>()) greatest = std::max(greatest, std::abs(x));
    for (int64_t i = 0; i < floats_out; ++i) {
      ASSERT_NEAR(to[0].flat<float>()[i], to[1].flat<float>()[i], tolerance * (greatest + 1e-6f))
          << "at " << i << ", length " << lines.length;
    }
  }
};

constexpr int64_t kLengths[] = {1, 2, 3, 7, 12, 64, 100, 600, 2048, 2049, 4096};

TEST_F(FourierTest, ComplexLinesBothWays) {
  for (const int64_t length : kLengths) {
    for (const bool inverse : {false, true}) {
      const int64_t count = length > 1000 ? 2 : 5;
      ExpectAlike({.inverse = inverse,
                   .length = length,
                   .count = count,
                   .from_offset = LineOffsets::Every(length),
                   .to_offset = LineOffsets::Every(length)},
                  Floats({count * length * 2}), count * length * 2, 3e-6f);
    }
  }
}

TEST_F(FourierTest, RealLinesToTheirSpectraAndBack) {
  for (const int64_t length : kLengths) {
    const int64_t count = 3, half = length / 2 + 1;
    ExpectAlike({.kind = FourierKind::kRealToComplex,
                 .length = length,
                 .count = count,
                 .from_offset = LineOffsets::Every(length),
                 .to_offset = LineOffsets::Every(half)},
                Floats({count * length}), count * half * 2, 3e-6f);
    ExpectAlike({.kind = FourierKind::kComplexToReal,
                 .inverse = true,
                 .length = length,
                 .count = count,
                 .from_offset = LineOffsets::Every(half),
                 .to_offset = LineOffsets::Every(length)},
                Floats({count * half * 2}), count * length, 3e-6f);
  }
}

TEST_F(FourierTest, ColumnsOfBlocksInPlace) {
  constexpr int64_t kBlocks = 3, kRows = 20, kColumns = 6;
  const LineOffsets columns{.extents = {kColumns, 1}, .strides = {1, 0}, .outer = kRows * kColumns};
  const Tensor x = Floats({kBlocks * kRows * kColumns * 2});
  Tensor y[2] = {Copy(x), Copy(x)};
  OnBoth<FourierTransform>([&](auto* make, int device) {
    return make()->Run(ctx_, FourierLines<float>{.length = kRows,
                                                 .count = kBlocks * kColumns,
                                                 .from_offset = columns,
                                                 .to_offset = columns,
                                                 .adjacent = kColumns,
                                                 .stride = kColumns,
                                                 .from = y[device].data<float>(),
                                                 .to = y[device].data<float>()});
  });
  ExpectNear(y[0], y[1], 2e-6f);
}

TEST_F(FourierTest, NoLinesAreNoError) {
  OnBoth<FourierTransform>([&](auto* make, int) {
    return make()->Run(ctx_, FourierLines<double>{.length = 8, .count = 0});
  });
}

}  // namespace
}  // namespace tessera
