// The rendezvous of a step.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "runtime/exec/rendezvous.h"
#include "runtime/session/session_state.h"

namespace tessera {
namespace {

// As a rendezvous that reaches other processes would, it counts what is sent and passes it on.
class CountingRendezvous final : public Rendezvous {
 public:
  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override {
    ++num_sent_;
    return local_.Send(key, std::move(tensor), is_dead);
  }
  void RecvAsync(absl::string_view key, DoneCallback done) override {
    local_.RecvAsync(key, std::move(done));
  }
  void Abort(absl::Status status) override { local_.Abort(std::move(status)); }

  int num_sent() const { return num_sent_; }

 private:
  LocalRendezvous local_;
  int num_sent_ = 0;
};

class StepTest : public ::testing::Test {
 protected:
  // Returns why no tensor comes from `rendezvous`, or an OK status if one came.
  static absl::Status Receive(Rendezvous& rendezvous) {
    // The rendezvous may answer after this function has returned.
    const auto result = std::make_shared<absl::Status>(absl::InternalError("still waiting"));
    rendezvous.RecvAsync("key", [result](absl::Status status, Tensor, bool) { *result = status; });
    return *result;
  }

  SessionState state_{SessionOptions(), {}, nullptr};
};

TEST_F(StepTest, ItsKernelsMeetInTheRendezvousThatItIsGiven) {
  CountingRendezvous given;
  Step step(state_, RunOptions(), &given);

  EXPECT_EQ(&step.rendezvous(), &given);
  ASSERT_TRUE(step.context().rendezvous->Send("key", Tensor::Scalar(1.0f), /*is_dead=*/false).ok());

  EXPECT_EQ(given.num_sent(), 1);
  EXPECT_EQ(Receive(given), absl::OkStatus());
}

TEST_F(StepTest, CancellingItAbortsTheRendezvousThatItIsGiven) {
  CountingRendezvous given;
  Step step(state_, RunOptions(), &given);

  step.Cancel(absl::CancelledError("enough"));

  EXPECT_EQ(Receive(given), absl::CancelledError("enough"));
}

TEST_F(StepTest, ClosingTheSessionAbortsTheRendezvousThatAStepIsGiven) {
  CountingRendezvous given;
  Step step(state_, RunOptions(), &given);

  state_.running.CancelAll(absl::CancelledError("closed"));

  EXPECT_EQ(Receive(given), absl::CancelledError("closed"));
}

TEST_F(StepTest, StepsThatAreGivenNoneMeetApart) {
  Step first(state_, RunOptions()), second(state_, RunOptions());
  ASSERT_TRUE(first.rendezvous().Send("key", Tensor::Scalar(1.0f), /*is_dead=*/false).ok());

  EXPECT_EQ(Receive(second.rendezvous()).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Receive(first.rendezvous()), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
