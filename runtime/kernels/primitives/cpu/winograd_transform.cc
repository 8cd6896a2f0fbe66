#include "runtime/kernels/primitives/cpu/winograd_transform.h"

#include <cstring>

#include "runtime/kernels/primitives/cpu/simd_vectors.h"

namespace tessera::winograd::TESSERA_VECTOR_ABI {
namespace {

// Channels are transformed a cache line at a time, which is one vector or two. The next line of a
// point often lies in the same few sets of the first-level cache as those of the other points, so
// that half a line would be gone when the other half is needed.
constexpr int kStep = 16, kVectors = kStep / kLanes;

// Half a vector of floats, converted to doubles.
typedef double Doubles __attribute__((vector_size(sizeof(Vector))));
typedef float HalfVector __attribute__((vector_size(sizeof(Vector) / 2)));
constexpr int kDoubles = kLanes / 2;

inline Doubles LoadDoubles(const float* from) {
  HalfVector v;
  std::memcpy(&v, from, sizeof(v));
  return __builtin_convertvector(v, Doubles);
}
inline void StoreFloats(const Doubles& v, float* to) {
  const HalfVector half = __builtin_convertvector(v, HalfVector);
  std::memcpy(to, &half, sizeof(half));
}

// The tile of m = 4 interpolates polynomials at 0, +-kPointA, +-kPointB and infinity. Rounding
// errors grow with the ratios between the powers of the points, and these points keep them small:
// the largest error is a quarter of that of the paper's 1 and 2. All coefficients of the transforms
// are exact in float.
constexpr float kPointA = 11.0f / 16, kPointB = 11.0f / 8;

// Multiplies x by the paper's matrix B^T, for m = 2 and m = 4.
inline void InputRow(const Vector (&x)[4], Vector (&y)[4]) {
  y[0] = x[0] - x[2];
  y[1] = x[1] + x[2];
  y[2] = x[2] - x[1];
  y[3] = x[1] - x[3];
}
inline void InputRow(const Vector (&x)[6], Vector (&y)[6]) {
  constexpr float a2 = kPointA * kPointA, b2 = kPointB * kPointB;
  const Vector even_a = x[4] - b2 * x[2], odd_a = kPointA * (x[3] - b2 * x[1]);
  const Vector even_b = x[4] - a2 * x[2], odd_b = kPointB * (x[3] - a2 * x[1]);
  y[0] = a2 * b2 * x[0] - (a2 + b2) * x[2] + x[4];
  y[1] = even_a + odd_a;
  y[2] = even_a - odd_a;
  y[3] = even_b + odd_b;
  y[4] = even_b - odd_b;
  y[5] = a2 * b2 * x[1] - (a2 + b2) * x[3] + x[5];
}

// Multiplies m by the paper's matrix A^T.
inline void OutputRow(const Vector (&m)[4], Vector (&y)[2]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}
inline void OutputRow(const Vector (&m)[6], Vector (&y)[4]) {
  constexpr float a2 = kPointA * kPointA, b2 = kPointB * kPointB;
  const Vector sum_a = m[1] + m[2], difference_a = m[1] - m[2];
  const Vector sum_b = m[3] + m[4], difference_b = m[3] - m[4];
  y[0] = m[0] + sum_a + sum_b;
  y[1] = kPointA * difference_a + kPointB * difference_b;
  y[2] = a2 * sum_a + b2 * sum_b;
  y[3] = a2 * kPointA * difference_a + b2 * kPointB * difference_b + m[5];
}

// The paper's matrix G.
template <int kTile>
constexpr double kG[kTile][3] = {};
template <>
constexpr double kG<4>[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
// Row i of G<6> is {1, p, p^2} / prod(p - q) for point p and all other points q.
constexpr double kA2 = kPointA * kPointA, kB2 = kPointB * kPointB;
constexpr double kScaleA = 1 / (2 * kA2 * (kA2 - kB2)), kScaleB = 1 / (2 * kB2 * (kB2 - kA2));
template <>
constexpr double kG<6>[6][3] = {
    {1 / (kA2 * kB2), 0, 0},
    {kScaleA, kScaleA* kPointA, kScaleA* kA2},
    {kScaleA, -kScaleA* kPointA, kScaleA* kA2},
    {kScaleB, kScaleB* kPointB, kScaleB* kB2},
    {kScaleB, -kScaleB* kPointB, kScaleB* kB2},
    {0, 0, 1},
};

template <int kTile>
void TransformInput(const float* const* points, int64_t channels, int64_t point_stride,
                    float* out) {
  for (int64_t c = 0; c < channels; c += kStep) {
    Vector half[kVectors][kTile][kTile];  // by column, then transformed row
    for (int column = 0; column < kTile; ++column) {
      for (int v = 0; v < kVectors; ++v) {
        Vector x[kTile];
        for (int row = 0; row < kTile; ++row) {
          x[row] = Load(points[row * kTile + column] + c + v * kLanes);
        }
        InputRow(x, half[v][column]);
      }
    }
    for (int row = 0; row < kTile; ++row) {
      for (int v = 0; v < kVectors; ++v) {
        Vector x[kTile], y[kTile];
        for (int column = 0; column < kTile; ++column) x[column] = half[v][column][row];
        InputRow(x, y);
        for (int column = 0; column < kTile; ++column) {
          Store(y[column], out + (row * kTile + column) * point_stride + c + v * kLanes);
        }
      }
    }
  }
}

template <int kTile>
bool AreFinite(const float* in, int64_t point_stride) {
  Vector even{}, odd{};
  for (int v = 0; v < kVectors; ++v, in += kLanes) {
    for (int p = 0; p < kTile * kTile; p += 2) {
      even += 0.0f * Load(in + p * point_stride);
      odd += 0.0f * Load(in + (p + 1) * point_stride);
    }
  }
  const Vector sum = even + odd, zeros{};
  return std::memcmp(&sum, &zeros, sizeof(sum)) == 0;
}

template <int kTile>
bool TransformOutput(const float* in, int64_t point_stride, int64_t channels,
                     const Epilogue& epilogue, float* const* points) {
  if (!AreFinite<kTile>(in, point_stride)) return false;
  constexpr int kOutputs = kTile - 2;
  const Vector low = Broadcast(epilogue.low), high = Broadcast(epilogue.high);
  for (int64_t c = 0; c < channels; c += kStep) {
    Vector half[kVectors][kTile][kOutputs];  // by column, then output row
    for (int column = 0; column < kTile; ++column) {
      for (int v = 0; v < kVectors; ++v) {
        Vector m[kTile];
        for (int row = 0; row < kTile; ++row) {
          m[row] = Load(in + (row * kTile + column) * point_stride + c + v * kLanes);
        }
        OutputRow(m, half[v][column]);
      }
    }
    for (int row = 0; row < kOutputs; ++row) {
      for (int v = 0; v < kVectors; ++v) {
        const int64_t channel = c + v * kLanes;
        Vector m[kTile], y[kOutputs];
        for (int column = 0; column < kTile; ++column) m[column] = half[v][column][row];
        OutputRow(m, y);
        const Vector bias = epilogue.bias != nullptr ? Load(epilogue.bias + channel) : Vector{};
        for (int column = 0; column < kOutputs; ++column) {
          float* const to = points[row * kOutputs + column];
          if (to == nullptr) continue;
          Vector value = y[column] + bias;
          if (epilogue.add) value += Load(to + channel);
          Store(Min(high, Max(low, value)), to + channel);  // NaN passes through
        }
      }
    }
  }
  return true;
}

template <int kTile>
void TransformFilter(const float* filter, int point, int64_t in_channels, int64_t out_channels,
                     float* out) {
  const double* const rows = kG<kTile>[point / kTile];
  const double* const columns = kG<kTile>[point % kTile];
  // One term of a transformed filter. Half of the factors are zero, and their positions are not
  // read.
  struct Term {
    double factor;
    const float* from;
  };
  Term terms[9];
  int term_count = 0;
  const int64_t matrix = in_channels * out_channels;
  for (int position = 0; position < 9; ++position) {
    const double factor = rows[position / 3] * columns[position % 3];
    if (factor != 0) terms[term_count++] = {factor, filter + position * matrix};
  }
  for (int64_t i = 0; i < matrix; i += kDoubles) {
    Doubles sum{};
    for (int term = 0; term < term_count; ++term)
      sum += terms[term].factor * LoadDoubles(terms[term].from + i);
    StoreFloats(sum, out + i);
  }
}

}  // namespace

const Transforms kTransformsOf2{2, 4, TransformInput<4>, TransformOutput<4>, TransformFilter<4>};
const Transforms kTransformsOf4{4, 6, TransformInput<6>, TransformOutput<6>, TransformFilter<6>};

}  // namespace tessera::winograd::TESSERA_VECTOR_ABI
