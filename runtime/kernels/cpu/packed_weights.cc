#include "runtime/kernels/cpu/packed_weights.h"

#include "runtime/kernels/cpu/onednn.h"

namespace tessera {

using dnnl::memory;

void PackedWeights::Follow(const Tensor& weights) {
  if (source_data_ == weights.raw()) return;
  packed_.clear();
  derived_ = Tensor();
  source_ = weights.buffer();
  source_data_ = weights.raw();
}

memory PackedWeights::Get(const Tensor& weights, const memory::desc& plain,
                          const memory::desc& wanted) {
  memory given(plain, onednn::Engine(), const_cast<char*>(weights.raw()));
  if (plain == wanted) return given;
  absl::MutexLock lock(&mu_);
  Follow(weights);
  for (const memory& packed : packed_) {
    if (packed.get_desc() == wanted) return packed;
  }
  memory packed(wanted, onednn::Engine());
  dnnl::reorder(given, packed).execute(onednn::Stream(), given, packed);
  onednn::Stream().wait();
  if (packed_.size() == kMaxLayouts) packed_.erase(packed_.begin());
  packed_.push_back(packed);
  return packed;
}

Tensor PackedWeights::Derived(const Tensor& weights, absl::FunctionRef<Tensor()> make) {
  absl::MutexLock lock(&mu_);
  Follow(weights);
  if (!derived_.has_value()) derived_ = make();
  return derived_;
}

}  // namespace tessera
