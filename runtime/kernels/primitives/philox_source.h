// The source of a primitive's random generator.
#pragma once

#include <utility>

#include "runtime/kernels/primitives/philox.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A generator that the host knows, or one whose numbers lie in the memory of the kernel's device,
// where earlier work of the stream has put them.
//
//   fill(ctx, Distribution::kNormal, Philox(seed), ...);
//   fill(ctx, Distribution::kNormal, PhiloxSource(key, counter), ...);
class PhiloxSource {
 public:
  PhiloxSource(const Philox& generator)  // NOLINT(google-explicit-constructor)
      : generator_(generator) {}
  // `key` is uint64[1]; `counter` is uint64[2] or longer, the lower half first.
  PhiloxSource(Tensor key, Tensor counter) : key_(std::move(key)), counter_(std::move(counter)) {}

  bool is_on_device() const { return key_.has_value(); }
  // Requires !is_on_device().
  const Philox& generator() const { return generator_; }
  // Both require is_on_device().
  const Tensor& key() const { return key_; }
  const Tensor& counter() const { return counter_; }

 private:
  Philox generator_{0};
  Tensor key_, counter_;
};

// Returns the generator. Requires numbers in memory that the host may read.
inline Philox GeneratorOf(const PhiloxSource& source) {
  if (!source.is_on_device()) return source.generator();
  const uint64_t* const counter = source.counter().data<uint64_t>();
  return Philox(source.key().data<uint64_t>()[0], counter[0], counter[1]);
}

}  // namespace tessera
