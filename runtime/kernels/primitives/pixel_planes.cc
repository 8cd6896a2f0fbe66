#include "runtime/kernels/primitives/pixel_planes.h"

#include <cstring>
#include <utility>

namespace tessera {
namespace {

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(16)));
  static constexpr int kLanes = 16 / sizeof(T);
};

// The shuffles of one block of pixels, which is `kChannels` vectors: as pixels they follow each
// other, as planes there is one for each channel. A vector of one side begins as the first vector
// of the other side, and takes its lanes from the vectors 1, 2, ... in turn.
template <typename T, int kChannels>
struct Block {
  using Vector = typename VectorOf<T>::Type;
  static constexpr int kLanes = VectorOf<T>::kLanes;
  static constexpr std::make_integer_sequence<int, kLanes> kAll{};

  // The lane that shuffle(plane so far, vector `source` of the pixels) takes for pixel `lane` of
  // the plane of `channel`.
  static constexpr int LaneOfPlane(int channel, int source, int lane) {
    const int element = lane * kChannels + channel;
    const int from = element / kLanes;
    if (from == source) return kLanes + element % kLanes;
    return source == 1 ? element % kLanes : lane;
  }
  // The lane that shuffle(pixels so far, plane `source`) takes for lane `lane` of vector `to` of
  // the pixels.
  static constexpr int LaneOfPixels(int to, int source, int lane) {
    const int element = to * kLanes + lane;
    const int pixel = element / kChannels, channel = element % kChannels;
    if (channel == source) return kLanes + pixel;
    return source == 1 ? pixel : lane;
  }

  template <int kChannel, int kSource, int... kLane>
  [[gnu::always_inline]] static Vector AddToPlane(Vector made, Vector source,
                                                  std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(made, source, LaneOfPlane(kChannel, kSource, kLane)...);
  }
  template <int kTo, int kSource, int... kLane>
  [[gnu::always_inline]] static Vector AddToPixels(Vector made, Vector source,
                                                   std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(made, source, LaneOfPixels(kTo, kSource, kLane)...);
  }

  // Returns the plane of one channel.
  template <int kChannel, int... kMore>
  [[gnu::always_inline]] static Vector Plane(const Vector* pixels,
                                             std::integer_sequence<int, kMore...>) {
    Vector made = pixels[0];
    ((made = AddToPlane<kChannel, kMore + 1>(made, pixels[kMore + 1], kAll)), ...);
    return made;
  }
  // Returns one of the vectors of the pixels.
  template <int kTo, int... kMore>
  [[gnu::always_inline]] static Vector Pixels(const Vector* planes,
                                              std::integer_sequence<int, kMore...>) {
    Vector made = planes[0];
    ((made = AddToPixels<kTo, kMore + 1>(made, planes[kMore + 1], kAll)), ...);
    return made;
  }
};

// Calls body.operator()<i>() for each i < kCount.
template <int kCount, typename Body>
[[gnu::always_inline]] inline void Unroll(const Body& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body.template operator()<i>(), ...); }
  (std::make_integer_sequence<int, kCount>());
}

template <typename T, int kChannels>
void SplitPixels(int64_t count, const char* from, char* to, int64_t plane_stride) {
  using Vectors = Block<T, kChannels>;
  constexpr auto kRest = std::make_integer_sequence<int, kChannels - 1>();
  constexpr int64_t kWidth = sizeof(T), kPixel = kChannels * kWidth;
  int64_t i = 0;
  for (; i + Vectors::kLanes <= count; i += Vectors::kLanes) {
    typename Vectors::Vector pixels[kChannels];
    std::memcpy(pixels, from + i * kPixel, sizeof(pixels));
    Unroll<kChannels>([&]<int channel>() {
      const typename Vectors::Vector plane = Vectors::template Plane<channel>(pixels, kRest);
      std::memcpy(to + channel * plane_stride + i * kWidth, &plane, sizeof(plane));
    });
  }
  for (; i < count; ++i) {
    for (int channel = 0; channel < kChannels; ++channel) {
      std::memcpy(to + channel * plane_stride + i * kWidth, from + i * kPixel + channel * kWidth,
                  sizeof(T));
    }
  }
}

template <typename T, int kChannels>
void JoinPixels(int64_t count, const char* from, char* to, int64_t plane_stride) {
  using Vectors = Block<T, kChannels>;
  constexpr auto kRest = std::make_integer_sequence<int, kChannels - 1>();
  constexpr int64_t kWidth = sizeof(T), kPixel = kChannels * kWidth;
  int64_t i = 0;
  for (; i + Vectors::kLanes <= count; i += Vectors::kLanes) {
    typename Vectors::Vector planes[kChannels];
    for (int channel = 0; channel < kChannels; ++channel) {
      std::memcpy(&planes[channel], from + channel * plane_stride + i * kWidth, sizeof(planes[0]));
    }
    Unroll<kChannels>([&]<int part>() {
      const typename Vectors::Vector pixels = Vectors::template Pixels<part>(planes, kRest);
      std::memcpy(to + i * kPixel + part * static_cast<int64_t>(sizeof(pixels)), &pixels,
                  sizeof(pixels));
    });
  }
  for (; i < count; ++i) {
    for (int channel = 0; channel < kChannels; ++channel) {
      std::memcpy(to + i * kPixel + channel * kWidth, from + channel * plane_stride + i * kWidth,
                  sizeof(T));
    }
  }
}

// Returns visit.operator()<T, channels>(), or null if there is no loop for them.
template <typename Visitor>
PixelLoop VisitPixels(int64_t channels, int64_t channel_bytes, const Visitor& visit) {
  const auto of_width = [&]<typename T>() -> PixelLoop {
    switch (channels) {
      case 2:
        return visit.template operator()<T, 2>();
      case 3:
        return visit.template operator()<T, 3>();
      case 4:
        return visit.template operator()<T, 4>();
      default:
        return nullptr;
    }
  };
  switch (channel_bytes) {
    case 1:
      return of_width.template operator()<uint8_t>();
    case 2:
      return of_width.template operator()<uint16_t>();
    case 4:
      return of_width.template operator()<uint32_t>();
    case 8:
      return of_width.template operator()<uint64_t>();
    default:
      return nullptr;
  }
}

}  // namespace

PixelLoop SplitPixelsLoop(int64_t channels, int64_t channel_bytes) {
  return VisitPixels(channels, channel_bytes,
                     []<typename T, int kChannels>() { return SplitPixels<T, kChannels>; });
}

PixelLoop JoinPixelsLoop(int64_t channels, int64_t channel_bytes) {
  return VisitPixels(channels, channel_bytes,
                     []<typename T, int kChannels>() { return JoinPixels<T, kChannels>; });
}

}  // namespace tessera
