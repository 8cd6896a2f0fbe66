#include "runtime/kernels/primitives/key_of_seeds.h"

#include "runtime/kernels/primitives/index_type.h"

namespace tessera {
namespace {

absl::Status RunKeyOfSeeds(KernelContext& /*ctx*/, const Tensor& seeds, Tensor* key,
                           Tensor* counter) {
  VisitIndexType(seeds.dtype(), [&]<typename T>() {
    const T* const pair = seeds.data<T>();
    const Philox generator =
        PhiloxOfSeeds(static_cast<uint64_t>(pair[0]), static_cast<uint64_t>(pair[1]));
    key->data<uint64_t>()[0] = generator.key();
    counter->data<uint64_t>()[0] = generator.counter_low();
    counter->data<uint64_t>()[1] = generator.counter_high();
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(KeyOfSeeds, kCpu, RunKeyOfSeeds);

}  // namespace
}  // namespace tessera
