#include "runtime/device/testing/test_accelerator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "absl/synchronization/notification.h"
#include "runtime/framework/device_factory.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kCapacity = 1 << 20;

std::unique_ptr<TestAccelerator> MakeAccelerator(int id, const LateStream::Options& options = {}) {
  DeviceName name = *DeviceName::Parse("/job:test/replica:0/task:0/device:ACCEL:0");
  name.id = id;
  return *TestAccelerator::Make(std::move(name), kCapacity, options);
}

class TestAcceleratorTest : public ::testing::Test {
 protected:
  Tensor OnDevice(const Shape& shape) { return On(*device_, shape); }
  static Tensor On(const Device& device, const Shape& shape) {
    return *Tensor::Allocate(DType::kFloat, shape, device.allocator(MemoryKind::kDevice));
  }
  Tensor Pinned(const Shape& shape) {
    return *Tensor::Allocate(DType::kFloat, shape, device_->allocator(MemoryKind::kPinned));
  }
  // What the bytes of a tensor on the device are once all work is done.
  std::vector<float> Read(const Tensor& tensor) {
    Tensor host = Pinned(tensor.shape());
    stream().Copy(tensor, &host);
    EXPECT_TRUE(stream().Synchronize().ok());
    return {host.flat<float>().begin(), host.flat<float>().end()};
  }
  LateStream& stream() { return *device_->late_stream(); }

  std::unique_ptr<TestAccelerator> device_ = MakeAccelerator(0);
};

TEST_F(TestAcceleratorTest, BytesComeBackAsTheyWent) {
  Tensor x = OnDevice({3});
  stream().Copy(Tensor::Vector({1.f, 2.f, 3.f}), &x);
  EXPECT_EQ(x.memory_kind(), MemoryKind::kDevice);
  EXPECT_THAT(Read(x), ElementsAre(1, 2, 3));
  EXPECT_THAT(Read(x.Slice(1, 2)), ElementsAre(2));
}

TEST_F(TestAcceleratorTest, HostDiesWhenItTouchesDeviceMemory) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers handle the fault themselves";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const Tensor x = OnDevice({3});
  EXPECT_DEATH(*const_cast<volatile char*>(x.address()) = 1, "");
  EXPECT_DEATH(static_cast<void>(*const_cast<volatile char*>(x.address())), "");
}

TEST_F(TestAcceleratorTest, ReaderThatDoesNotWaitFindsPoison) {
  Tensor x = OnDevice({2});
  stream().Copy(Tensor::Vector({1.f, 2.f}), &x);
  Tensor host = Pinned({2});
  std::fill_n(host.flat<float>().begin(), 2, 5.f);
  stream().Copy(x, &host);
  // Nobody has waited, so nothing has run.
  EXPECT_TRUE(std::isnan(host.flat<float>()[0]));
  EXPECT_TRUE(std::isnan(host.flat<float>()[1]));
  ASSERT_TRUE(stream().Synchronize().ok());
  EXPECT_THAT(host.flat<float>(), ElementsAre(1, 2));
}

TEST_F(TestAcceleratorTest, WorkRunsInOrderAndOnlyWhenSomebodyWaits) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    stream().Enqueue([&order, i] {
      order.push_back(i);
      return absl::OkStatus();
    });
  }
  EXPECT_THAT(order, ElementsAre());
  ASSERT_TRUE(stream().Synchronize().ok());
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST_F(TestAcceleratorTest, PendingWorkIsBounded) {
  LateStream::Options options;
  options.max_pending = 4;
  auto device = MakeAccelerator(0, options);
  absl::Notification has_run;
  device->late_stream()->Enqueue([&] {
    has_run.Notify();
    return absl::OkStatus();
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(has_run.HasBeenNotified());
    device->late_stream()->Enqueue([] { return absl::OkStatus(); });
  }
  has_run.WaitForNotification();
}

TEST_F(TestAcceleratorTest, PausesChangeNoResult) {
  LateStream::Options options;
  options.pause_seed = 7;
  auto device = MakeAccelerator(0, options);
  Tensor x = On(*device, {1});
  for (float value : {1.f, 2.f, 3.f}) {
    Tensor host = Tensor::Scalar(0.f);
    device->stream()->Copy(Tensor::Vector({value}), &x);
    device->stream()->Copy(x, &host);
    ASSERT_TRUE(device->stream()->Synchronize().ok());
    EXPECT_EQ(host.scalar<float>(), value);
  }
}

TEST_F(TestAcceleratorTest, FirstErrorIsDeliveredOnceAndWorkGoesOn) {
  int after = 0;
  stream().Enqueue([] { return absl::DataLossError("first"); });
  stream().Enqueue([] { return absl::InternalError("second"); });
  stream().Enqueue([&] {
    ++after;
    return absl::OkStatus();
  });
  EXPECT_EQ(stream().Synchronize(), absl::DataLossError("first"));
  EXPECT_EQ(after, 1);
  EXPECT_EQ(stream().Synchronize(), absl::OkStatus());
}

TEST_F(TestAcceleratorTest, CallbackMayEnqueueAndWaitAgain) {
  absl::Notification done;
  stream().Then([&](absl::Status) { stream().Then([&](absl::Status) { done.Notify(); }); });
  done.WaitForNotification();
}

TEST_F(TestAcceleratorTest, ZeroSetsAllBytes) {
  Tensor x = OnDevice({2});
  stream().Copy(Tensor::Vector({1.f, 2.f}), &x);
  stream().Zero(&x);
  EXPECT_THAT(Read(x), ElementsAre(0, 0));
}

TEST_F(TestAcceleratorTest, NewMemoryIsPoisonAlsoWhenItWasUsedBefore) {
  const Tensor unused = OnDevice({4});
  EXPECT_THAT(Read(unused), Each(testing::IsNan()));
  char* address;
  {
    Tensor x = OnDevice({4});
    address = x.address();
    stream().Copy(Tensor::Vector({1.f, 2.f, 3.f, 4.f}), &x);
    // The copy holds a share in the block until it is done.
    ASSERT_TRUE(stream().Synchronize().ok());
  }
  const Tensor next = OnDevice({4});
  EXPECT_EQ(next.address(), address) << "the block was not reused";
  EXPECT_THAT(Read(next), Each(testing::IsNan()));
}

TEST_F(TestAcceleratorTest, HostMemoryIsPoisonUntilItIsWritten) {
  const Tensor fresh =
      Tensor::Allocate(DType::kFloat, {4}, device_->allocator(MemoryKind::kHost)).value();
  EXPECT_EQ(fresh.memory_kind(), MemoryKind::kHost);
  for (const float x : fresh.flat<float>()) EXPECT_TRUE(std::isnan(x)) << x;
}

TEST_F(TestAcceleratorTest, BlockReleasedBeforeItsLastUseRanIsStillReadWhole) {
  Tensor y = OnDevice({2});
  {
    Tensor x = OnDevice({2});
    stream().Copy(Tensor::Vector({1.f, 2.f}), &x);
    // As a kernel's launch: an address, no share.
    stream().Enqueue([from = stream().Alias(x), to = stream().Alias(y)] {
      std::memcpy(to, from, 2 * sizeof(float));
      return absl::OkStatus();
    });
  }
  Tensor next = OnDevice({2});
  stream().Copy(Tensor::Vector({3.f, 4.f}), &next);
  EXPECT_THAT(Read(y), ElementsAre(1, 2));
}

TEST_F(TestAcceleratorTest, StatsCountWhatIsInUse) {
  EXPECT_EQ(device_->stats().bytes_in_use, 0);
  EXPECT_EQ(device_->stats().bytes_limit, static_cast<int64_t>(kCapacity));
  {
    const Tensor x = OnDevice({64}), y = OnDevice({65});  // 256 and 260 bytes, in units of 256
    EXPECT_EQ(device_->stats().bytes_in_use, 768);
  }
  EXPECT_EQ(device_->stats().bytes_in_use, 0);
  EXPECT_EQ(device_->stats().peak_bytes_in_use, 768);
  EXPECT_EQ(device_->stats().num_allocations, 2);
}

TEST_F(TestAcceleratorTest, FullMemoryIsAnErrorThatNamesTheDevice) {
  const Tensor half = OnDevice({kCapacity / 2 / sizeof(float)});
  const auto whole = Tensor::Allocate(DType::kFloat, {kCapacity / sizeof(float)},
                                      device_->allocator(MemoryKind::kDevice));
  EXPECT_EQ(whole.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(whole.status().message()),
      HasSubstr("device:ACCEL:0: cannot allocate 1048576 bytes; 0.5 MiB of 1.0 MiB are in"));
}

TEST_F(TestAcceleratorTest, MemoryOfAnotherAcceleratorAborts) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto other = MakeAccelerator(1);
  const Tensor theirs = On(*other, {2});
  Tensor ours = OnDevice({2});
  EXPECT_DEATH(stream().Copy(theirs, &ours), "ACCEL:0 is given memory of .*ACCEL:1");
}

TEST_F(TestAcceleratorTest, AnotherStreamComesAfterTheWorkOfWhomItGetsMemoryFrom) {
  Device& second = *device_->streams().device(1);
  Tensor y = OnDevice({2});
  char* address;
  {
    Tensor x = OnDevice({2});
    address = x.address();
    stream().Copy(Tensor::Vector({1.f, 2.f}), &x);
    stream().Enqueue([from = stream().Alias(x), to = stream().Alias(y)] {
      std::memcpy(to, from, 2 * sizeof(float));
      return absl::OkStatus();
    });
    // Drops the share that the first copy holds, and leaves the work undone.
    ASSERT_TRUE(stream().Synchronize().ok());
    stream().Enqueue([from = stream().Alias(x), to = stream().Alias(y)] {
      std::memcpy(to, from, sizeof(float));
      return absl::OkStatus();
    });
  }
  Tensor theirs = On(second, {2});
  ASSERT_EQ(theirs.address(), address) << "the memory was not reused";
  EXPECT_EQ(device_->memory().num_orders(), 1);
  second.stream()->Copy(Tensor::Vector({3.f, 4.f}), &theirs);
  ASSERT_TRUE(second.stream()->Synchronize().ok());
  // Without a wait for the first stream itself.
  EXPECT_THAT(Read(y), ElementsAre(1, 2));
  EXPECT_THAT(Read(theirs), ElementsAre(3, 4));
}

TEST_F(TestAcceleratorTest, NobodyWaitsForAStreamThatHasCaughtUp) {
  Device& second = *device_->streams().device(1);
  { const Tensor x = OnDevice({2}); }
  ASSERT_TRUE(stream().Synchronize().ok());
  const Tensor theirs = On(second, {2});
  EXPECT_EQ(device_->memory().num_orders(), 0);
}

TEST_F(TestAcceleratorTest, ALossIsThatOfAllStreams) {
  Device& second = *device_->streams().device(1);
  stream().Lose();
  EXPECT_EQ(stream().Synchronize().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second.stream()->Synchronize().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TestAcceleratorTest, AWaitForAStreamThatIsLostEnds) {
  LateStream& second = static_cast<LateStream&>(*device_->streams().device(1)->stream());
  stream().Lose();
  second.WaitFor(stream());
  EXPECT_EQ(second.Synchronize().code(), absl::StatusCode::kUnavailable);
}

TEST(StreamPoolTest, TheStreamWithTheFewestUsersIsTaken) {
  auto device = MakeAccelerator(0);
  StreamPool& pool = device->streams();
  EXPECT_EQ(pool.device(0), device.get());
  EXPECT_EQ(pool.Take(), 0);
  EXPECT_EQ(pool.Take(), 1);
  pool.Use(2);
  pool.Use(2);
  pool.Give(1);
  EXPECT_EQ(pool.Take(), 1);
  EXPECT_EQ(pool.Take(), 0);
  EXPECT_EQ(pool.Take(), 1);
}

TEST(TestAcceleratorFactoryTest, ThereAreNoneUnlessAskedFor) {
  DeviceOptions options;
  ASSERT_TRUE(MakeDevices(options).ok());
  EXPECT_TRUE(MakeDevices(options)->empty());  // this program links no other factory
  options.count["ACCEL"] = 2;
  const auto devices = MakeDevices(options);
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 2);
  EXPECT_EQ((*devices)[1]->full_name(), "/job:localhost/replica:0/task:0/device:ACCEL:1");
}

}  // namespace
}  // namespace tessera
