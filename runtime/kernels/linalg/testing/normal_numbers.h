// A fixture of tests whose matrices hold random numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {

// For floats and doubles, the same numbers in each run.
template <typename T>
class NormalNumbersTest : public ::testing::Test {
 protected:
  // Returns the next numbers of a normal distribution.
  std::vector<T> Numbers(int64_t count) {
    std::vector<T> numbers(count);
    std::normal_distribution<T> normal;
    for (T& number : numbers) number = normal(random_);
    return numbers;
  }

  static constexpr double kEpsilon = std::numeric_limits<T>::epsilon();

 private:
  std::mt19937 random_{7};
};

}  // namespace tessera
