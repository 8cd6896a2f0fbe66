#include "serving/frontend/grpc/grpc_waker.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(GrpcWakerTest, EventsComeUntilItsEnd) {
  GrpcWaker waker(absl::ZeroDuration());
  while (waker.events() < 10) absl::SleepFor(absl::Milliseconds(1));
}

TEST(GrpcWakerTest, EndsWithoutWaitingForItsInterval) { GrpcWaker waker(absl::InfiniteDuration()); }

}  // namespace
}  // namespace tessera::serving
