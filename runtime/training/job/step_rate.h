// StepRate: counts steps and examples, and how many there were a second.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace tessera {

// Not thread-safe.
class StepRate {
 public:
  explicit StepRate(absl::Time now) : last_(now) {}

  void Count(int64_t rows) {
    ++steps_;
    rows_ += rows;
  }
  struct Rates {
    double steps_per_second = 0;
    double examples_per_second = 0;
  };
  // Returns the rates since the last call, and begins anew.
  Rates Take(absl::Time now) {
    const double seconds = absl::ToDoubleSeconds(now - last_);
    const Rates rates = {static_cast<double>(steps_) / seconds,
                         static_cast<double>(rows_) / seconds};
    steps_ = rows_ = 0;
    last_ = now;
    return seconds > 0 ? rates : Rates();
  }

 private:
  absl::Time last_;
  int64_t steps_ = 0;
  int64_t rows_ = 0;
};

}  // namespace tessera
