#include "runtime/device/testing/test_accelerator.h"

#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/framework/device_factory.h"

namespace tessera {
namespace {

absl::StatusOr<std::vector<std::unique_ptr<Device>>> MakeAccelerators(const DeviceName& task,
                                                                      int count, int priority) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    DeviceName name = task;
    name.type = std::string(kTestAccelerator);
    name.id = i;
    LateStream::Options options;
    options.pause_seed = i % 2 == 0 ? 0 : i;
    ASSIGN_OR_RETURN(
        std::unique_ptr<TestAccelerator> device,
        TestAccelerator::Make(std::move(name), TestAccelerator::kCapacity, options, priority));
    devices.push_back(std::move(device));
  }
  return devices;
}

std::atomic<int64_t> captured_enqueued_anywhere{0};

class LateWork final : public CapturedWork {
 public:
  LateWork(std::vector<LateStream::Work> work, LateStream* stream, std::atomic<int64_t>* count)
      : work_(std::make_shared<const std::vector<LateStream::Work>>(std::move(work))),
        stream_(stream),
        count_(count) {}
  absl::Status AwaitCopiesToHost() override {
    stream_->AwaitCopiesToHost();
    return absl::OkStatus();
  }
  absl::Status Enqueue() override {
    ++*count_;
    ++captured_enqueued_anywhere;
    stream_->Enqueue([work = work_] {
      for (const LateStream::Work& piece : *work) RETURN_IF_ERROR(piece());
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const std::vector<LateStream::Work>> work_;
  LateStream* const stream_;
  std::atomic<int64_t>* const count_;
};

class LateCapture final : public WorkCapture {
 public:
  LateCapture(LateStream* target, std::atomic<int64_t>* count)
      : target_(target), count_(count), stream_(LateStream::ForCapture(target)) {}
  Stream* stream() override { return stream_.get(); }
  absl::StatusOr<std::unique_ptr<CapturedWork>> End() override {
    ASSIGN_OR_RETURN(std::vector<LateStream::Work> work, stream_->TakeCaptured());
    return std::make_unique<LateWork>(std::move(work), target_, count_);
  }

 private:
  LateStream* const target_;
  std::atomic<int64_t>* const count_;
  const std::unique_ptr<LateStream> stream_;
};

REGISTER_DEVICE_FACTORY(kTestAccelerator, TestAccelerator::kPriority, MakeAccelerators);

}  // namespace

class TestAccelerator::FurtherStream final : public Device, public CapturingDevice {
 public:
  FurtherStream(TestAccelerator* accelerator, const LateStream::Options& options)
      : Device(accelerator->name(), accelerator->priority()),
        stream_(full_name(), options, &accelerator->stream_),
        num_captured_enqueued_(&accelerator->num_captured_enqueued_) {}
  using Device::SetHostMemory;
  using Device::SetMemory;

  LateStream* late_stream() { return &stream_; }
  absl::StatusOr<std::unique_ptr<WorkCapture>> BeginCapture() override {
    return std::make_unique<LateCapture>(&stream_, num_captured_enqueued_);
  }

 private:
  LateStream stream_;
  std::atomic<int64_t>* const num_captured_enqueued_;
};

TestAccelerator::TestAccelerator(DeviceName name, int priority, const LateStream::Options& options)
    : Device(std::move(name), priority), stream_(full_name(), options) {
  for (int i = 1; i < kNumStreams; ++i) {
    LateStream::Options further = options;
    if (options.pause_seed != 0) further.pause_seed += 1000 * i;
    further_streams_.push_back(std::make_unique<FurtherStream>(this, further));
  }
}

int64_t TestAccelerator::num_captured_enqueued_anywhere() { return captured_enqueued_anywhere; }

TestAccelerator::~TestAccelerator() {
  // Work of one stream may hold the last share in a buffer of another.
  for (const Device* device : pool_->devices()) device->stream()->Synchronize().IgnoreError();
}

absl::StatusOr<std::unique_ptr<TestAccelerator>> TestAccelerator::Make(
    DeviceName name, size_t capacity, const LateStream::Options& options, int priority) {
  auto device =
      std::unique_ptr<TestAccelerator>(new TestAccelerator(std::move(name), priority, options));
  std::vector<LateStream*> streams = {&device->stream_};
  std::vector<Device*> devices = {device.get()};
  for (const auto& further : device->further_streams_) {
    streams.push_back(further->late_stream());
    devices.push_back(further.get());
  }
  device->pool_ = std::make_unique<StreamPool>(std::move(devices));
  ASSIGN_OR_RETURN(device->memory_, AcceleratorMemory::Make(capacity, streams));
  AcceleratorMemory& memory = *device->memory_;
  for (int i = 0; i < kNumStreams; ++i) streams[i]->SetMemory(&memory, i);
  device->SetMemory(streams[0], memory.allocator(0), &device->pinned_);
  device->SetHostMemory(&device->host_);
  for (int i = 1; i < kNumStreams; ++i) {
    FurtherStream& further = *device->further_streams_[i - 1];
    further.SetMemory(streams[i], memory.allocator(i), &device->pinned_);
    further.SetHostMemory(&device->host_);
  }
  return device;
}

absl::StatusOr<std::unique_ptr<WorkCapture>> TestAccelerator::BeginCapture() {
  return std::make_unique<LateCapture>(&stream_, &num_captured_enqueued_);
}

}  // namespace tessera
