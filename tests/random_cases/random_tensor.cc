#include "tests/random_cases/random_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 20;

// Calls visit.operator()<T>() with the C++ type that holds an element of `dtype`. Returns false for
// dtypes whose elements have no C++ type here: strings and numbers of 8 bits or less that no
// compiler knows.
template <typename Visitor>
bool VisitElementType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kBool:
      visit.template operator()<bool>();
      return true;
    case DType::kQint8:
      visit.template operator()<int8_t>();
      return true;
    case DType::kQuint8:
      visit.template operator()<uint8_t>();
      return true;
    case DType::kQint16:
      visit.template operator()<int16_t>();
      return true;
    case DType::kQuint16:
      visit.template operator()<uint16_t>();
      return true;
    case DType::kQint32:
      visit.template operator()<int32_t>();
      return true;
    default:
      return VisitNumericType(dtype,
                              [&]<typename T>() {
                                visit.template operator()<T>();
                                return absl::OkStatus();
                              })
          .ok();
  }
}

template <typename T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}
template <>
double FromDouble<double>(double value) {
  return value;
}
template <>
std::complex<double> FromDouble<std::complex<double>>(double value) {
  return value;
}

template <typename T>
double ToDouble(T value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return static_cast<double>(value.real());
  } else {
    return static_cast<double>(value);
  }
}

template <typename T>
void Store(Tensor* tensor, int64_t i, T value) {
  std::memcpy(tensor->mutable_raw() + i * sizeof(T), &value, sizeof(T));
}
template <typename T>
T Load(const Tensor& tensor, int64_t i) {
  T value;
  std::memcpy(&value, tensor.raw() + i * sizeof(T), sizeof(T));
  return value;
}

// One distribution for all elements of a tensor, so that ops which want positive numbers, or
// numbers in [0, 1], get them often.
enum class Distribution { kNormal, kUnit, kInteger, kPositive, kEighths, kConstant };

double DrawFloat(Random& random, Distribution distribution) {
  switch (distribution) {
    case Distribution::kNormal:
      return random.Normal();
    case Distribution::kUnit:
      return random.Uniform();
    case Distribution::kInteger:
      return static_cast<double>(random.Between(-3, 5));
    case Distribution::kPositive:
      return random.Uniform() * 10 + 0.01;
    case Distribution::kEighths:
      return static_cast<double>(random.Between(-32, 32)) / 8;
    case Distribution::kConstant:
      return 0.5;
  }
  return 0;
}

template <typename T>
T HostileNumber(Random& random) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    static const std::vector<int64_t> numbers = {
        -1, 0,   1,    2, int64_t{1} << 31, int64_t{1} << 33, int64_t{1} << 40, int64_t{1} << 62,
        -5, 255, 65536};
    switch (random.Below(4)) {
      case 0:
        return std::numeric_limits<T>::min();
      case 1:
        return std::numeric_limits<T>::max();
      default:
        return static_cast<T>(random.Pick(numbers));
    }
  } else {
    static const std::vector<double> numbers = {std::numeric_limits<double>::quiet_NaN(),
                                                std::numeric_limits<double>::infinity(),
                                                -std::numeric_limits<double>::infinity(),
                                                -0.0,
                                                1e-40,
                                                1e-310,
                                                3e38,
                                                1e300,
                                                -1e300,
                                                6e4,
                                                -1.0,
                                                2147483648.0,
                                                -9.3e18};
    return FromDouble<T>(random.Pick(numbers));
  }
}

Shape CutDown(const Shape& shape) {
  if (shape.num_elements() >= 0 && shape.num_elements() <= kMostElements) return shape;
  Shape cut;
  for (const int64_t dim : shape.dims()) {
    cut.AddDim(cut.num_elements() > kMostElements / 2 ? 1 : std::min<int64_t>(dim, 2));
  }
  return cut;
}

}  // namespace

std::string RandomString(Random& random, bool hostile) {
  static const std::vector<std::string> ordinary = {
      "",     "a",   "abc",   "3",   "-1.5", "hello world", "A,b;c d",    "\xc3\xa9",
      "0x1f", "nan", "1e400", "  x", "true", "a.b*c?",      "2147483648", "/x/y"};
  static const std::vector<std::string> odd = {std::string("\0\xff\xfe", 3),
                                               "\xed\xa0\x80\xf4\x90\x80\x80",
                                               std::string(70000, 'x'),
                                               "((((((((((a*)*)*)*)*)*)*)*)*)*",
                                               "[[[[[[[[[[[[[[[[",
                                               "{\"a\":{\"a\":[1e999,-0,\"\\ud800\"]}}",
                                               "%s%n%d",
                                               "..."};
  if (!hostile || random.Chance(0.7)) return random.Pick(ordinary);
  if (random.Chance(0.7)) return random.Pick(odd);
  std::string bytes(random.Below(40), '\0');
  for (char& c : bytes) c = static_cast<char>(random.Below(256));
  return bytes;
}

Tensor RandomTensor(Random& random, DType dtype, const Shape& shape, const ElementChoice& choice) {
  Tensor tensor = Tensor::Zeros(dtype, CutDown(shape)).value();
  const int64_t count = tensor.num_elements();
  if (dtype == DType::kString) {
    for (std::string& s : tensor.flat<std::string>()) s = RandomString(random, choice.hostile);
    return tensor;
  }
  const auto distribution = static_cast<Distribution>(random.Below(6));
  const double hostile = choice.hostile ? (random.Chance(0.3) ? 1.0 : 0.2) : 0.0;
  const bool known = VisitElementType(dtype, [&]<typename T>() {
    constexpr bool is_real_integer = std::is_integral_v<T>;
    auto draw = [&]() -> double {
      if (is_real_integer) {
        return static_cast<double>(
            random.Between(FromDouble<int64_t>(choice.low), FromDouble<int64_t>(choice.high)));
      }
      if (choice.bounded) return choice.low + random.Uniform() * (choice.high - choice.low);
      return DrawFloat(random, distribution);
    };
    for (int64_t i = 0; i < count; ++i) {
      if (hostile > 0 && random.Chance(hostile)) {
        Store(&tensor, i, HostileNumber<T>(random));
      } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                           std::is_same_v<T, std::complex<double>>) {
        using Real = typename T::value_type;
        const Real real = static_cast<Real>(draw());
        Store(&tensor, i, T(real, static_cast<Real>(draw())));
      } else {
        Store(&tensor, i, FromDouble<T>(draw()));
      }
    }
  });
  if (!known) {
    for (size_t i = 0; i < tensor.size_bytes(); ++i) {
      // The numbers of two and four bits take a byte each, of which the low bits count.
      const int64_t bits = dtype >= DType::kInt4 ? 2 : 256;
      tensor.mutable_raw()[i] = static_cast<char>(random.Below(bits));
    }
  }
  return tensor;
}

double ElementAsDouble(const Tensor& tensor, int64_t i) {
  double value = 0;
  VisitElementType(tensor.dtype(), [&]<typename T>() { value = ToDouble(Load<T>(tensor, i)); });
  return value;
}

Tensor ConvertedTensor(Random& random, const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  if (dtype == DType::kString || tensor.dtype() == DType::kString) {
    return RandomTensor(random, dtype, tensor.shape(), {});
  }
  Tensor converted = RandomTensor(random, dtype, tensor.shape(), {});
  VisitElementType(dtype, [&]<typename T>() {
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      Store(&converted, i, FromDouble<T>(ElementAsDouble(tensor, i)));
    }
  });
  return converted;
}

int64_t RandomDim(Random& random) {
  static const std::vector<int64_t> dims = {1, 1, 1, 2, 2, 2, 2, 3, 3,  3,  3,
                                            4, 4, 4, 5, 6, 7, 8, 9, 17, 33, 70};
  return random.Chance(0.03) ? 0 : random.Pick(dims);
}

Shape RandomShape(Random& random, int max_rank) {
  Shape shape;
  const int64_t rank = random.Below(max_rank + 1);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t dim = RandomDim(random);
    shape.AddDim(shape.num_elements() * dim > 600 ? 1 : dim);
  }
  return shape;
}

int64_t ExtremeDim(Random& random) {
  static const std::vector<int64_t> dims = {std::numeric_limits<int32_t>::max(),
                                            int64_t{1} << 31,
                                            int64_t{1} << 32,
                                            int64_t{1} << 40,
                                            int64_t{1} << 62,
                                            std::numeric_limits<int64_t>::max()};
  return random.Chance(0.5) ? 0 : random.Pick(dims);
}

Shape ExtremeShape(Random& random, int max_rank) {
  Shape shape;
  const int64_t rank = random.Between(1, max_rank), empty = random.Below(rank);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t dim = i == empty           ? 0
                        : random.Chance(0.5) ? RandomDim(random)
                                             : ExtremeDim(random);
    shape.AddDim(MultiplyWithoutOverflow(shape.num_elements(), dim) < 0 ? 1 : dim);
  }
  return shape;
}

}  // namespace tessera
