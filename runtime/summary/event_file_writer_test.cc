#include "runtime/summary/event_file_writer.h"

#include <sys/resource.h>

#include <csignal>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/summary/histogram.h"
#include "runtime/summary/testing/read_events.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tensorflow/core/util/event.pb.h"

namespace tessera {
namespace {

using tensorflow::Event;

std::string Directory() {
  return JoinPath(testing::TempDir(),
                  testing::UnitTest::GetInstance()->current_test_info()->name());
}

Event EventOfStep(int64_t step) {
  Event event;
  event.set_step(step);
  return event;
}

TEST(EventFileWriterTest, KeepsEventsUntilTheyAreDue) {
  auto writer = EventFileWriter::Create(Directory(), {.max_queue = 2, .suffix = ".v2"}).value();
  EXPECT_NE(writer->path().find("/events.out.tfevents."), std::string::npos);
  EXPECT_EQ(writer->path().substr(writer->path().size() - 3), ".v2");
  ASSERT_EQ(ReadEvents(writer->path()).size(), 1);
  EXPECT_EQ(ReadEvents(writer->path())[0].file_version(), "brain.Event:2");
  ASSERT_TRUE(writer->Write(EventOfStep(1)).ok());
  ASSERT_TRUE(writer->Write(EventOfStep(2)).ok());
  EXPECT_EQ(ReadEvents(writer->path()).size(), 1);
  ASSERT_TRUE(writer->Write(EventOfStep(3)).ok());
  EXPECT_EQ(ReadEvents(writer->path()).size(), 4);
  ASSERT_TRUE(writer->Write(EventOfStep(4)).ok());
  const std::string path = writer->path();
  writer = nullptr;
  const std::vector<Event> events = ReadEvents(path);
  ASSERT_EQ(events.size(), 5);
  EXPECT_EQ(events[4].step(), 4);
}

TEST(EventFileWriterTest, FilesOfOneSecondAreTwo) {
  const auto first = EventFileWriter::Create(Directory(), {}).value();
  const auto second = EventFileWriter::Create(Directory(), {}).value();
  EXPECT_NE(first->path(), second->path());
}

TEST(EventFileWriterTest, TakesEventsOfManyThreads) {
  const auto writer = EventFileWriter::Create(Directory(), {.max_queue = 3}).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < 100; ++step) EXPECT_TRUE(writer->Write(EventOfStep(step)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(writer->Flush().ok());
  EXPECT_EQ(ReadEvents(writer->path()).size(), 401);
}

TEST(EventFileWriterTest, AFullDiskLeavesWholeRecords) {
  const auto writer = EventFileWriter::Create(Directory(), {}).value();
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Event large;
  large.mutable_summary()->add_value()->set_tag(std::string(1000, 'x'));
  ASSERT_TRUE(writer->Write(large).ok());
  const absl::Status full = writer->Flush();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(full.ok());
  EXPECT_NE(full.message().find(writer->path()), std::string::npos);
  EXPECT_EQ(ReadEvents(writer->path()).size(), 1);
  ASSERT_TRUE(writer->Write(EventOfStep(7)).ok());
  ASSERT_TRUE(writer->Flush().ok());
  EXPECT_EQ(ReadEvents(writer->path()).size(), 2);
}

TEST(EventFileWriterTest, ADirectoryThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(CreateDirectories(Directory()).ok());
  const std::string file = JoinPath(Directory(), "file");
  ASSERT_TRUE(WriteFileAtomically(file, "").ok());
  EXPECT_FALSE(EventFileWriter::Create(JoinPath(file, "below"), {}).ok());
}

// Values and limits are those of TensorFlow's HistogramSummary.
TEST(SummaryHistogramTest, CountsInTensorFlowsBuckets) {
  SummaryHistogram histogram;
  for (const double value : {0.0, 1.0, 1.0, -3.0, 2.5e21}) histogram.Add(value);
  tensorflow::HistogramProto proto;
  histogram.ToProto(&proto);
  EXPECT_EQ(proto.min(), -3);
  EXPECT_EQ(proto.max(), 2.5e21);
  EXPECT_EQ(proto.num(), 5);
  const std::vector<double> limits(proto.bucket_limit().begin(), proto.bucket_limit().end());
  const std::vector<double> counts(proto.bucket().begin(), proto.bucket().end());
  EXPECT_EQ(limits, (std::vector<double>{-3.1665833053880363, -2.8787120958073054, 0, 1e-12,
                                         0.917246389039776, 1.0089710279437536,
                                         9.9207756218597835e+19, 1.7976931348623157e+308}));
  EXPECT_EQ(counts, (std::vector<double>{0, 1, 0, 1, 0, 2, 0, 1}));
}

TEST(SummaryHistogramTest, NoValuesAreOneEmptyBucket) {
  tensorflow::HistogramProto proto;
  SummaryHistogram().ToProto(&proto);
  EXPECT_EQ(proto.bucket_size(), 1);
  EXPECT_EQ(proto.bucket_limit(0), 1.7976931348623157e+308);
  EXPECT_EQ(proto.min(), 1.7976931348623157e+308);
  EXPECT_EQ(proto.max(), -1.7976931348623157e+308);
}

}  // namespace
}  // namespace tessera
