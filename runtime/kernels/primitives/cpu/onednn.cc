#include "runtime/kernels/primitives/cpu/onednn.h"

#include <omp.h>

namespace tessera::onednn {

dnnl::engine& Engine() {
  static dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& Stream() {
  static thread_local dnnl::stream stream(Engine());
  return stream;
}

OneThread::OneThread() : previous_(omp_get_max_threads()) { omp_set_num_threads(1); }

OneThread::~OneThread() { omp_set_num_threads(previous_); }

bool AppliesActivation(const PostOps& post_ops) {
  if (post_ops.activation == Activation::kLeakyRelu) return post_ops.alpha != 0;
  return post_ops.activation == Activation::kNone || !IsClamp(post_ops.activation);
}

dnnl::primitive_attr Attributes(const PostOps& post_ops) {
  using dnnl::algorithm;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto [kind, alpha] = [&]() -> std::pair<algorithm, float> {
    switch (post_ops.activation) {
      case Activation::kNone:
      case Activation::kRelu:
      case Activation::kRelu6:
        return {algorithm::undef, 0};
      case Activation::kElu:
        return {algorithm::eltwise_elu, 1};
      case Activation::kLeakyRelu:
        return {algorithm::eltwise_relu, post_ops.alpha};
      case Activation::kTanh:
        return {algorithm::eltwise_tanh, 0};
      case Activation::kSigmoid:
        return {algorithm::eltwise_logistic, 0};
      case Activation::kSwish:
        return {algorithm::eltwise_swish, 1};
      case Activation::kGeluErf:
        return {algorithm::eltwise_gelu_erf, 0};
      case Activation::kGeluTanh:
        return {algorithm::eltwise_gelu_tanh, 0};
    }
    return {algorithm::undef, 0};
  }();
  dnnl::post_ops ops;
  if (post_ops.add) ops.append_sum(1);
  if (kind != algorithm::undef && AppliesActivation(post_ops))
    ops.append_eltwise(1, kind, alpha, 0);
  attr.set_post_ops(ops);
  return attr;
}

dnnl::memory Wrap(const dnnl::memory::desc& layout, const void* data) {
  return dnnl::memory(layout, Engine(), const_cast<void*>(data));
}

Arguments::~Arguments() {
  for (int i = 0; i < size_; ++i) dnnl_memory_destroy(arguments_[i].memory);
}

void Arguments::Add(int id, const dnnl::memory::desc& layout, const void* data) {
  dnnl_memory_t memory = nullptr;
  dnnl::error::wrap_c_api(
      dnnl_memory_create(&memory, &layout.data, Engine().get(), const_cast<void*>(data)),
      "could not create a memory object");
  arguments_[size_++] = {id, memory};
}

void Arguments::Execute(const dnnl::primitive& primitive) const {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), Stream().get(), size_, arguments_),
      "could not execute a primitive");
  Stream().wait();
}

Key AddTo(Key key, const PostOps& post_ops) {
  return key.Add(post_ops.bias).Add(post_ops.add).Add(post_ops.activation).Add(post_ops.alpha);
}

}  // namespace tessera::onednn
