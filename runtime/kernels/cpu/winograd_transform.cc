#include "runtime/kernels/cpu/winograd_transform.h"

#include <cstring>

namespace tessera::winograd {
namespace {

typedef float Vector __attribute__((vector_size(64)));
constexpr int kLanes = 16;

inline Vector Load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
inline void Store(const Vector& v, float* to) { std::memcpy(to, &v, sizeof(v)); }

// Rows of the paper's matrix B^T times x.
inline void InputRow(const Vector (&x)[6], Vector (&y)[6]) {
  const Vector even = x[4] - 4.0f * x[2], odd = x[3] - 4.0f * x[1];
  const Vector difference = x[4] - x[2], twice = 2.0f * (x[3] - x[1]);
  y[0] = 4.0f * x[0] - 5.0f * x[2] + x[4];
  y[1] = even + odd;
  y[2] = even - odd;
  y[3] = difference + twice;
  y[4] = difference - twice;
  y[5] = 4.0f * x[1] - 5.0f * x[3] + x[5];
}

// Rows of A^T times m.
inline void OutputRow(const Vector (&m)[6], Vector (&y)[4]) {
  const Vector sum12 = m[1] + m[2], difference12 = m[1] - m[2];
  const Vector sum34 = m[3] + m[4], difference34 = m[3] - m[4];
  y[0] = m[0] + sum12 + sum34;
  y[1] = difference12 + 2.0f * difference34;
  y[2] = sum12 + 4.0f * sum34;
  y[3] = difference12 + 8.0f * difference34 + m[5];
}

}  // namespace

void TransformInput(const float* const (&points)[kPoints], int64_t channels, int64_t point_step,
                    float* out) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    Vector half[6][6];  // by column, then transformed row
    for (int column = 0; column < 6; ++column) {
      Vector x[6];
      for (int row = 0; row < 6; ++row) x[row] = Load(points[row * 6 + column] + c);
      InputRow(x, half[column]);
    }
    for (int row = 0; row < 6; ++row) {
      Vector x[6], y[6];
      for (int column = 0; column < 6; ++column) x[column] = half[column][row];
      InputRow(x, y);
      for (int column = 0; column < 6; ++column) {
        Store(y[column], out + (row * 6 + column) * point_step + c);
      }
    }
  }
}

void TransformOutput(const float* in, int64_t point_step, int64_t channels, const Ending& ending,
                     float* const (&points)[kOutputTile * kOutputTile]) {
  const Vector low = Vector{} + ending.low, high = Vector{} + ending.high;
  for (int64_t c = 0; c < channels; c += kLanes) {
    Vector half[6][4];  // by column, then output row
    for (int column = 0; column < 6; ++column) {
      Vector m[6];
      for (int row = 0; row < 6; ++row) m[row] = Load(in + (row * 6 + column) * point_step + c);
      OutputRow(m, half[column]);
    }
    const Vector bias = ending.bias != nullptr ? Load(ending.bias + c) : Vector{};
    for (int row = 0; row < 4; ++row) {
      Vector m[6], y[4];
      for (int column = 0; column < 6; ++column) m[column] = half[column][row];
      OutputRow(m, y);
      for (int column = 0; column < 4; ++column) {
        float* const to = points[row * 4 + column];
        if (to == nullptr) continue;
        Vector value = y[column] + bias;
        if (ending.add) value += Load(to + c);
        // A NaN is neither below nor above, and stays.
        value = value < low ? low : value;
        value = value > high ? high : value;
        Store(value, to + c);
      }
    }
  }
}

void TransformFilter(const float* filter, int64_t in_channels, int64_t out_channels, float* out) {
  static constexpr double kG[6][3] = {
      {1.0 / 4, 0, 0},
      {-1.0 / 6, -1.0 / 6, -1.0 / 6},
      {-1.0 / 6, 1.0 / 6, -1.0 / 6},
      {1.0 / 24, 1.0 / 12, 1.0 / 6},
      {1.0 / 24, -1.0 / 12, 1.0 / 6},
      {0, 0, 1},
  };
  const int64_t matrix = in_channels * out_channels;
  for (int64_t i = 0; i < matrix; ++i) {
    double half[6][3];
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 3; ++column) {
        half[row][column] = 0;
        for (int tap = 0; tap < 3; ++tap) {
          half[row][column] += kG[row][tap] * filter[(tap * 3 + column) * matrix + i];
        }
      }
    }
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 6; ++column) {
        double sum = 0;
        for (int tap = 0; tap < 3; ++tap) sum += half[row][tap] * kG[column][tap];
        out[(row * 6 + column) * matrix + i] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace tessera::winograd
