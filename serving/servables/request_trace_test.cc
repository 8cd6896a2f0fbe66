#include "serving/servables/request_trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

const absl::Time kArrived = absl::Now() + absl::Hours(1);  // after the traces began

absl::Time At(int micros) { return kArrived + absl::Microseconds(micros); }

// A request that ended after 150 us.
EndedRequest Ended(const absl::Status& status = absl::OkStatus()) {
  return {.method = "Predict",
          .model = "m",
          .entrypoint = Entrypoint::kGrpc,
          .status = status,
          .ended = At(150)};
}

struct Times {
  std::string category;
  bool is_on_thread;
  int64_t start, end;  // microseconds since the request arrived

  bool operator==(const Times&) const = default;
};

// Returns the events of a request by their names.
std::map<std::string, Times> Traced(const EndedRequest& request, const RequestTimes& times) {
  Tracer tracer;
  EXPECT_TRUE(tracer.Start({}).ok());
  TraceRequest(request, times, &tracer);
  const Trace trace = tracer.Stop();
  std::map<std::string, Times> found;
  const auto micros = [](int64_t nanos) { return (nanos - absl::ToUnixNanos(kArrived)) / 1000; };
  for (const TraceEvent& event : trace.events) {
    EXPECT_TRUE(event.thread == kNoThread || event.thread == CurrentThreadId());
    found[std::string(event.name)] = {event.category, event.thread != kNoThread,
                                      micros(event.start), micros(event.end)};
  }
  return found;
}

TEST(RequestTraceTest, PhasesFillTheRequestAndWaitsStandBefore) {
  RequestTimes times{.arrived = kArrived};
  times.waited = absl::Microseconds(20);
  times.resumed = At(25);
  times.run_began = At(40);
  times.batched = absl::Microseconds(30);
  times.run_ended = At(110);
  times.version = 3;
  const std::map<std::string, Times> expected = {
      {"wait of predict m/3", {"queue", false, 5, 25}},
      {"predict m/3", {"request", true, 25, 150}},
      {"decode", {"phase", true, 25, 40}},
      {"batch", {"queue", true, 40, 70}},
      {"run", {"phase", true, 70, 110}},
      {"encode", {"phase", true, 110, 150}},
  };
  EXPECT_TRUE(Traced(Ended(), times) == expected);
}

TEST(RequestTraceTest, ARefusedRequestHasNoPhases) {
  const std::map<std::string, Times> expected = {{"predict m", {"request", true, 0, 150}}};
  EXPECT_TRUE(Traced(Ended(absl::NotFoundError("")), {.arrived = kArrived}) == expected);
}

TEST(RequestTraceTest, ArgumentsSayHowItEnded) {
  Tracer tracer;
  ASSERT_TRUE(tracer.Start({}).ok());
  EndedRequest request = Ended(absl::NotFoundError("no"));
  request.trace_id = "4bf9";
  TraceRequest(request, {.arrived = kArrived}, &tracer);
  const Trace trace = tracer.Stop();
  const std::map<std::string, std::string> arguments(trace.events[0].arguments.begin(),
                                                     trace.events[0].arguments.end());
  const std::map<std::string, std::string> expected = {
      {"protocol", "grpc"}, {"status", "NOT_FOUND"}, {"latency_us", "150"}, {"trace_id", "4bf9"}};
  EXPECT_EQ(arguments, expected);
}

}  // namespace
}  // namespace tessera::serving
