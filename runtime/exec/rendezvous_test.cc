#include "runtime/exec/rendezvous.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(LocalRendezvousTest, TensorWaitsForItsReceiver) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send("k", Tensor::Scalar<int32_t>(3), false).ok());
  int32_t got = 0;
  rendezvous.RecvAsync("k", [&](absl::Status status, Tensor tensor, bool is_dead) {
    ASSERT_TRUE(status.ok());
    EXPECT_FALSE(is_dead);
    got = tensor.scalar<int32_t>();
  });
  EXPECT_EQ(got, 3);
}

TEST(LocalRendezvousTest, ReceiverWaitsForItsTensor) {
  LocalRendezvous rendezvous;
  bool dead = false;
  rendezvous.RecvAsync("k", [&](absl::Status status, Tensor tensor, bool is_dead) {
    ASSERT_TRUE(status.ok());
    EXPECT_FALSE(tensor.has_value());
    dead = is_dead;
  });
  EXPECT_FALSE(dead);
  ASSERT_TRUE(rendezvous.Send("k", Tensor(), true).ok());
  EXPECT_TRUE(dead);
}

TEST(LocalRendezvousTest, SecondSendOfAKeyIsAnError) {
  LocalRendezvous rendezvous;
  ASSERT_TRUE(rendezvous.Send("k", Tensor::Scalar<int32_t>(1), false).ok());
  EXPECT_EQ(rendezvous.Send("k", Tensor::Scalar<int32_t>(2), false).code(),
            absl::StatusCode::kInternal);
}

TEST(LocalRendezvousTest, AbortEndsWaitingAndLaterCalls) {
  LocalRendezvous rendezvous;
  absl::Status waiting, later;
  rendezvous.RecvAsync("a", [&](absl::Status s, Tensor, bool) { waiting = s; });
  rendezvous.Abort(absl::AbortedError("enough"));
  rendezvous.Abort(absl::InternalError("too late"));
  rendezvous.RecvAsync("b", [&](absl::Status s, Tensor, bool) { later = s; });
  EXPECT_EQ(waiting, absl::AbortedError("enough"));
  EXPECT_EQ(later, absl::AbortedError("enough"));
  EXPECT_EQ(rendezvous.Send("c", Tensor(), false), absl::AbortedError("enough"));
}

TEST(LocalRendezvousTest, DeathWakesReceivers) {
  absl::Status status;
  {
    LocalRendezvous rendezvous;
    rendezvous.RecvAsync("k", [&](absl::Status s, Tensor, bool) { status = s; });
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tessera
