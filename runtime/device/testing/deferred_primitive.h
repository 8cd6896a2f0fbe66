// Primitives of the accelerator for tests: those of the CPU, run later on the stream's thread.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/device/testing/alias_view.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {

// An argument of a primitive until the stream's thread comes to it. Tensors must lie in device
// memory; what they are made of then is their address alone.
template <typename Arg>
class DeferredArgument {
 public:
  using Value = std::decay_t<Arg>;
  static_assert(std::is_trivially_copyable_v<Value> || std::is_same_v<Value, Shape>);
  static absl::Status Check(const Value&) { return absl::OkStatus(); }
  DeferredArgument(const LateStream&, const Value& value) : value_(value) {}
  const Value& Get() { return value_; }

 private:
  Value value_;
};

template <>
class DeferredArgument<const Tensor*> {
 public:
  static absl::Status Check(const Tensor* tensor) {
    if (tensor == nullptr) return absl::OkStatus();
    return CheckMemory(*tensor, MemoryKind::kDevice, "a primitive's tensor");
  }
  DeferredArgument(const LateStream& stream, const Tensor* tensor) {
    if (tensor != nullptr) view_ = AliasView(stream, *tensor);
  }
  Tensor* Get() { return view_ ? &*view_ : nullptr; }

 private:
  std::optional<Tensor> view_;
};

template <>
class DeferredArgument<Tensor*> : public DeferredArgument<const Tensor*> {
  using DeferredArgument<const Tensor*>::DeferredArgument;
};

template <>
class DeferredArgument<const Tensor&> {
 public:
  static absl::Status Check(const Tensor& tensor) {
    return DeferredArgument<const Tensor*>::Check(&tensor);
  }
  DeferredArgument(const LateStream& stream, const Tensor& tensor)
      : view_(AliasView(stream, tensor)) {}
  const Tensor& Get() { return view_; }

 private:
  const Tensor view_;
};

template <>
class DeferredArgument<absl::Span<const int64_t>> {
 public:
  static absl::Status Check(absl::Span<const int64_t>) { return absl::OkStatus(); }
  DeferredArgument(const LateStream&, absl::Span<const int64_t> values)
      : values_(values.begin(), values.end()) {}
  absl::Span<const int64_t> Get() { return values_; }

 private:
  std::vector<int64_t> values_;
};

template <>
class DeferredArgument<StridedView> {
 public:
  static absl::Status Check(const StridedView&) { return absl::OkStatus(); }
  DeferredArgument(const LateStream& stream, const StridedView& view)
      : strides_(stream, view.strides), offset_(view.offset) {}
  StridedView Get() { return {strides_.Get(), offset_}; }

 private:
  DeferredArgument<absl::Span<const int64_t>> strides_;
  int64_t offset_;
};

// The implementation of P that enqueues the CPU's. An op class that is made of such primitives runs
// on the accelerator as it would on a real one: the host faults if the class touches the bytes of a
// tensor. Errors of the CPU's implementation become errors of the stream.
//
//   REGISTER_PRIMITIVE(Gather, kTestAccelerator, DeferredPrimitive<Gather>::Run);
template <typename P, typename Function = typename P::Function>
class DeferredPrimitive;

template <typename P, typename... Args>
class DeferredPrimitive<P, absl::Status(KernelContext&, Args...)> {
 public:
  static absl::Status Run(KernelContext& ctx, Args... args) {
    absl::Status checked;
    (checked.Update(DeferredArgument<Args>::Check(args)), ...);
    RETURN_IF_ERROR(checked);
    LateStream& stream = StreamOf(ctx);
    stream.Enqueue([arguments = std::make_shared<std::tuple<DeferredArgument<Args>...>>(
                        DeferredArgument<Args>(stream, args)...)] {
      StepContext step;
      KernelContext host(step, /*device=*/nullptr);
      return std::apply(
          [&](auto&... argument) {
            return PrimitiveImplementations<P>::Find(kCpu)(host, argument.Get()...);
          },
          *arguments);
    });
    return absl::OkStatus();
  }
};

}  // namespace tessera
