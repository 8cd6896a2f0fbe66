// The check of debug builds that the host keeps off the memory of devices. This file is compiled
// like one of a debug build, whatever the rest of the program is.
#undef NDEBUG

#include <gtest/gtest.h>

#include "runtime/tensor/tensor.h"

namespace tessera {
namespace {

// Says that its memory is of this kind, although the host could access it.
class LabelledBuffer final : public Buffer {
 public:
  explicit LabelledBuffer(MemoryKind kind)
      : Buffer(bytes_, sizeof(bytes_), /*writable=*/true, kind) {}

 private:
  alignas(kBufferAlignment) char bytes_[16] = {};
};

Tensor TensorIn(MemoryKind kind) {
  return Tensor::View(DType::kFloat, {4}, MakeRefCounted<LabelledBuffer>(kind));
}

TEST(HostAccessTest, ADebugBuildAbortsWhereTheHostTouchesTheMemoryOfADevice) {
  constexpr char kMessage[] =
      "the host touches a buffer of 16 bytes in device memory: a copy to the host is missing";
  Tensor tensor = TensorIn(MemoryKind::kDevice);
  EXPECT_DEATH(static_cast<void>(tensor.raw()), kMessage);
  EXPECT_DEATH(static_cast<void>(tensor.mutable_raw()), kMessage);
  EXPECT_DEATH(static_cast<void>(tensor.flat<float>()), kMessage);
  EXPECT_DEATH(static_cast<void>(MakeRefCounted<LabelledBuffer>(MemoryKind::kDevice)->data()),
               kMessage);
}

TEST(HostAccessTest, TheAddressOfTheMemoryOfADeviceCanBeAskedFor) {
  EXPECT_NE(TensorIn(MemoryKind::kDevice).address(), nullptr);
}

TEST(HostAccessTest, TheHostMayTouchItsOwnMemoryPinnedOrNot) {
  for (const MemoryKind kind : {MemoryKind::kHost, MemoryKind::kPinned}) {
    EXPECT_EQ(TensorIn(kind).flat<float>()[3], 0);
  }
}

}  // namespace
}  // namespace tessera
