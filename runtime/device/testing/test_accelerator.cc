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

class LateWork final : public CapturedWork {
 public:
  LateWork(std::vector<LateStream::Work> work, LateStream* stream, std::atomic<int64_t>* count)
      : work_(std::make_shared<const std::vector<LateStream::Work>>(std::move(work))),
        stream_(stream),
        count_(count) {}
  absl::Status Enqueue() override {
    ++*count_;
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

absl::StatusOr<std::unique_ptr<TestAccelerator>> TestAccelerator::Make(
    DeviceName name, size_t capacity, const LateStream::Options& options, int priority) {
  auto device =
      std::unique_ptr<TestAccelerator>(new TestAccelerator(std::move(name), priority, options));
  ASSIGN_OR_RETURN(device->memory_, AcceleratorMemory::Make(capacity, &device->stream_));
  device->SetMemory(&device->stream_, device->memory_.get(), &device->pinned_);
  return device;
}

absl::StatusOr<std::unique_ptr<WorkCapture>> TestAccelerator::BeginCapture() {
  return std::make_unique<LateCapture>(&stream_, &num_captured_enqueued_);
}

}  // namespace tessera
