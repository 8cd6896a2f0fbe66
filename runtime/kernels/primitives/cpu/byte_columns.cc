#include "runtime/kernels/primitives/cpu/byte_columns.h"

#include <immintrin.h>

#include <algorithm>

namespace tessera {

ByteColumns::ByteColumns(const ResampleTaps& columns, int64_t width, int64_t channels) {
  const int64_t total = columns.size() * channels;
  is_possible_ = width * channels >= kWindow;
  if (!is_possible_) return;
  vectors_.resize((total + kLanes - 1) / kLanes);
  for (size_t i = 0; i < vectors_.size(); ++i) {
    for (int group = 0; group < kGroups; ++group) {
      const int64_t begin = static_cast<int64_t>(i) * kLanes + group * kGroup;
      is_possible_ = FillGroup(columns, width, channels, begin, group, &vectors_[i]);
      if (!is_possible_) return;
    }
  }
}

bool ByteColumns::FillGroup(const ResampleTaps& columns, int64_t width, int64_t channels,
                            int64_t begin, int group, Vector* vector) {
  constexpr uint32_t kZeroBytes = 0xffffff00;
  const int64_t last = columns.size() * channels - 1;
  std::array<int64_t, kGroup> first, second;
  for (int i = 0; i < kGroup; ++i) {
    const int64_t number = std::min(begin + i, last);  // repeats the last float at the end
    const int64_t column = number / channels, channel = number % channels;
    first[i] = columns.index[2 * column] * channels + channel;
    second[i] = columns.index[2 * column + 1] * channels + channel;
    vector->weights[group * kGroup + i] = columns.weight[2 * column + 1];
  }
  const int64_t window =
      std::min({*std::min_element(first.begin(), first.end()),
                *std::min_element(second.begin(), second.end()), width * channels - kWindow});
  for (int i = 0; i < kGroup; ++i) {
    if (std::max(first[i], second[i]) - window >= kWindow) return false;
    vector->first[group * kGroup + i] = kZeroBytes | static_cast<uint32_t>(first[i] - window);
    vector->second[group * kGroup + i] = kZeroBytes | static_cast<uint32_t>(second[i] - window);
  }
  vector->windows[group] = static_cast<int32_t>(window);
  return true;
}

void ByteColumns::Blend(const uint8_t* row, float* to) const {
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const auto pick = [](__m256i bytes, const std::array<uint32_t, kLanes>& places) {
    const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places.data()));
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, mask));
  };
  for (const Vector& vector : vectors_) {
    const __m256i bytes = _mm256_inserti128_si256(
        _mm256_castsi128_si256(load(row + vector.windows[0])), load(row + vector.windows[1]), 1);
    const __m256 first = pick(bytes, vector.first), second = pick(bytes, vector.second);
    const __m256 change =
        _mm256_mul_ps(_mm256_sub_ps(second, first), _mm256_loadu_ps(vector.weights.data()));
    _mm256_storeu_ps(to, _mm256_add_ps(first, change));
    to += kLanes;
  }
}

}  // namespace tessera
