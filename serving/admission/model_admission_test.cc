#include "serving/admission/model_admission.h"

#include <atomic>
#include <deque>
#include <memory>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LimitsConfig Limits(int64_t concurrent, int64_t queue) {
  LimitsConfig limits;
  limits.set_max_concurrent_requests(concurrent);
  limits.set_max_queue(queue);
  return limits;
}

// A request, and how it was answered.
struct TestRequest {
  // Asks to be admitted.
  void Ask(ModelAdmission* admission, absl::Time deadline = absl::InfiniteFuture(),
           absl::Time arrived = absl::Now()) {
    const absl::StatusOr<bool> now =
        admission->Admit({.arrived = arrived, .deadline = deadline, .cancellation = &client},
                         &ticket, [this](absl::Status later) {
                           status = std::move(later);
                           ended.Notify();
                         });
    if (now.ok() && !*now) return;
    status = now.status();
    ended.Notify();
  }
  bool waits() const { return !ended.HasBeenNotified(); }
  absl::Status Wait() {
    ended.WaitForNotification();
    return status;
  }

  CancellationManager client;
  AdmissionTicket ticket;
  absl::Status status;
  absl::Notification ended;
};

class ModelAdmissionTest : public ::testing::Test {
 protected:
  int64_t Refused(absl::string_view reason) {
    return static_cast<int64_t>(refused_->Get({"m", reason}).Value());
  }

  MetricsRegistry metrics_;
  CounterFamily* const refused_ = metrics_.AddCounter("/refused", {"model_name", "reason"});
  Timer timer_;
  ModelAdmission admission_{"m", &timer_, refused_};
};

TEST_F(ModelAdmissionTest, RequestsWaitInOrderOfArrival) {
  admission_.SetLimits(Limits(2, 3));
  std::deque<TestRequest> requests(6);
  for (TestRequest& request : requests) request.Ask(&admission_);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(requests[i].Wait().ok());
  for (int i = 2; i < 5; ++i) EXPECT_TRUE(requests[i].waits());
  EXPECT_EQ(admission_.num_running(), 2);
  EXPECT_EQ(admission_.num_waiting(), 3);
  const absl::Status full = requests[5].Wait();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(),
            "model 'm' answers 2 requests at a time (max_concurrent_requests), and 3 more wait "
            "(max_queue); try again later, send fewer at a time, or raise the limits");
  EXPECT_EQ(Refused("queue_full"), 1);
  for (int i = 0; i < 3; ++i) {
    requests[i].ticket = AdmissionTicket();
    EXPECT_TRUE(requests[i + 2].Wait().ok());
    EXPECT_TRUE(requests[i + 2].ticket.has_value());
    for (int later = i + 3; later < 5; ++later) EXPECT_TRUE(requests[later].waits());
  }
  for (TestRequest& request : requests) request.ticket = AdmissionTicket();
  EXPECT_EQ(admission_.num_running(), 0);
}

TEST_F(ModelAdmissionTest, WithoutAQueueNothingWaits) {
  admission_.SetLimits(Limits(1, 0));
  TestRequest first, second;
  first.Ask(&admission_);
  second.Ask(&admission_);
  EXPECT_EQ(second.Wait().code(), absl::StatusCode::kResourceExhausted);
  first.ticket = AdmissionTicket();
  TestRequest third;
  third.Ask(&admission_);
  EXPECT_TRUE(third.Wait().ok());
}

TEST_F(ModelAdmissionTest, WhatWaitsTooLongIsAnsweredAndLeaves) {
  LimitsConfig limits = Limits(1, 5);
  limits.set_timeout_ms(20);
  admission_.SetLimits(limits);
  TestRequest running, late, client_is_sooner;
  running.Ask(&admission_);
  EXPECT_LT(running.ticket.deadline(), absl::InfiniteFuture());
  late.Ask(&admission_);
  client_is_sooner.Ask(&admission_, absl::Now() + absl::Milliseconds(1));
  EXPECT_EQ(client_is_sooner.Wait().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(client_is_sooner.status.message()),
              HasSubstr("the deadline of the request passed while it waited for one of the 1 "
                        "requests that model 'm' answers at a time (max_concurrent_requests)"));
  EXPECT_EQ(late.Wait().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.status.message()),
              HasSubstr("model 'm' has 20 ms for a request (timeout_ms), after which it was still "
                        "waiting"));
  EXPECT_FALSE(late.ticket.has_value());
  EXPECT_EQ(admission_.num_waiting(), 0);
  EXPECT_EQ(Refused("timeout_waiting"), 2);
}

TEST_F(ModelAdmissionTest, OfTwoDeadlinesTheEarlierOneIsTold) {
  LimitsConfig limits = Limits(1, 5);
  limits.set_timeout_ms(1);
  admission_.SetLimits(limits);
  TestRequest running, late;
  running.Ask(&admission_);
  const absl::Time arrived = absl::Now() - absl::Minutes(1);  // both are long over
  late.Ask(&admission_, arrived + absl::Microseconds(1), arrived);
  EXPECT_EQ(late.Wait().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.status.message()), HasSubstr("the deadline of the request passed"));
}

TEST_F(ModelAdmissionTest, ARunIsToldWhatItsTimeLimitWas) {
  LimitsConfig limits;
  limits.set_timeout_ms(7);
  admission_.SetLimits(limits);
  TestRequest request;
  const absl::Time before = absl::Now();
  request.Ask(&admission_);
  ASSERT_TRUE(request.Wait().ok());
  EXPECT_GE(request.ticket.deadline(), before + absl::Milliseconds(7));
  admission_.SetLimits(Limits(1, 1));
  EXPECT_THAT(std::string(request.ticket.RunTimedOut().message()),
              HasSubstr("model 'm' has 7 ms for a request (timeout_ms), after which it was still "
                        "running"));
  EXPECT_EQ(Refused("timeout_running"), 1);
}

TEST_F(ModelAdmissionTest, AClientThatGoesLeavesTheQueue) {
  admission_.SetLimits(Limits(1, 2));
  TestRequest running, gone, next, gone_before;
  running.Ask(&admission_);
  gone.Ask(&admission_);
  next.Ask(&admission_);
  gone.client.Cancel();
  EXPECT_EQ(gone.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(admission_.num_waiting(), 1);
  gone_before.client.Cancel();
  gone_before.Ask(&admission_);
  EXPECT_EQ(gone_before.Wait().code(), absl::StatusCode::kCancelled);
  running.ticket = AdmissionTicket();
  EXPECT_TRUE(next.Wait().ok());
}

TEST_F(ModelAdmissionTest, WhoeverWatchesTheClientMayEndTheWait) {
  admission_.SetLimits(Limits(1, 2));
  TestRequest running, waiting;
  std::function<void()> give_up;
  const auto watch = [&give_up](std::function<void()> end_wait) { give_up = std::move(end_wait); };
  ASSERT_TRUE(
      admission_.Admit({.arrived = absl::Now(), .watch_client = watch}, &running.ticket, nullptr)
          .value());
  EXPECT_EQ(give_up, nullptr) << "it does not wait";
  absl::Status ended;
  const auto resume = [&ended](absl::Status status) { ended = std::move(status); };
  ASSERT_FALSE(
      admission_.Admit({.arrived = absl::Now(), .watch_client = watch}, &waiting.ticket, resume)
          .value());
  ASSERT_NE(give_up, nullptr);
  give_up();
  EXPECT_EQ(ended.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(admission_.num_waiting(), 0);
  give_up();  // has no effect any more
}

TEST_F(ModelAdmissionTest, RaisedLimitsLetWhatWaitsRun) {
  admission_.SetLimits(Limits(1, 5));
  std::deque<TestRequest> requests(5);
  for (TestRequest& request : requests) request.Ask(&admission_);
  admission_.SetLimits(Limits(3, 0));
  EXPECT_TRUE(requests[1].Wait().ok());
  EXPECT_TRUE(requests[2].Wait().ok());
  EXPECT_TRUE(requests[3].waits()) << "a shorter queue throws nobody out";
  EXPECT_EQ(admission_.num_waiting(), 2);
  admission_.SetLimits(LimitsConfig());
  EXPECT_TRUE(requests[3].Wait().ok());
  EXPECT_TRUE(requests[4].Wait().ok());
}

TEST_F(ModelAdmissionTest, RefusesLargeMessages) {
  EXPECT_TRUE(admission_.CheckBytes(1 << 30).ok());
  LimitsConfig limits;
  limits.set_max_request_bytes(100);
  admission_.SetLimits(limits);
  EXPECT_EQ(admission_.max_request_bytes(), 100);
  EXPECT_TRUE(admission_.CheckBytes(100).ok());
  const absl::Status status = admission_.CheckBytes(101);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "model 'm' takes requests of at most 100 bytes (max_request_bytes), and this one has "
            "101; send less at a time, or raise the limit");
  EXPECT_EQ(Refused("request_bytes"), 1);
}

// Requests of several threads, some of which time out, some are cancelled, while the limits change.
TEST_F(ModelAdmissionTest, NeverRunsMoreThanTheLimitWhateverEndsRequests) {
  constexpr int kThreads = 4, kRequests = 200;
  LimitsConfig limits = Limits(2, 3);
  limits.set_timeout_ms(1);
  admission_.SetLimits(limits);
  std::atomic<int> running{0}, most{0}, ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRequests; ++i) {
        TestRequest request;
        std::thread client;
        if (i % 8 == t) client = std::thread([&request] { request.client.Cancel(); });
        request.Ask(&admission_);
        if (request.Wait().ok()) {
          ++ran;
          const int now = ++running;
          int seen = most;
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          std::this_thread::yield();
          --running;
        }
        if (client.joinable()) client.join();
        request.ticket = AdmissionTicket();
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    limits.set_max_queue(i % 4);
    admission_.SetLimits(limits);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(ran, 0);
  EXPECT_LE(most, 2);
  EXPECT_EQ(admission_.num_running(), 0);
  EXPECT_EQ(admission_.num_waiting(), 0);
}

}  // namespace
}  // namespace tessera::serving
