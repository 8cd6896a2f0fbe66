#include "serving/logging/log_writer.h"

#include <map>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// What a test sees of a file, and decides about it.
struct Disk {
  absl::Mutex mu;
  std::vector<std::string> appended ABSL_GUARDED_BY(mu);
  absl::Status status ABSL_GUARDED_BY(mu);                      // of each call
  absl::Notification* may_write ABSL_GUARDED_BY(mu) = nullptr;  // waited for by each call
  std::map<absl::StatusCode, int64_t> counts ABSL_GUARDED_BY(mu);

  void SetStatus(const absl::Status& next) {
    absl::MutexLock lock(&mu);
    status = next;
  }
  std::vector<std::string> Appended() {
    absl::MutexLock lock(&mu);
    return appended;
  }
  std::map<absl::StatusCode, int64_t> Counts() {
    absl::MutexLock lock(&mu);
    return counts;
  }
};

class DiskFile : public LogFile {
 public:
  explicit DiskFile(Disk* disk) : disk_(disk) {}
  absl::Status Append(absl::string_view bytes) override {
    absl::Notification* may_write;
    {
      absl::MutexLock lock(&disk_->mu);
      may_write = disk_->may_write;
    }
    if (may_write != nullptr) may_write->WaitForNotification();
    absl::MutexLock lock(&disk_->mu);
    if (disk_->status.ok()) disk_->appended.emplace_back(bytes);
    return disk_->status;
  }

 private:
  Disk* const disk_;
};

std::unique_ptr<LogWriter> MakeWriter(Disk* disk, int64_t max_queued_bytes = 1000,
                                      int64_t max_written_bytes = 1000) {
  LogWriter::Options options{.name = "the test log",
                             .max_queued_bytes = max_queued_bytes,
                             .max_written_bytes = max_written_bytes};
  options.count = [disk](absl::StatusCode code, int64_t num_records) {
    absl::MutexLock lock(&disk->mu);
    disk->counts[code] += num_records;
  };
  return std::make_unique<LogWriter>(std::move(options), std::make_unique<DiskFile>(disk));
}

TEST(LogWriterTest, WritesWholeRecordsInTheirOrderManyAtOnce) {
  Disk disk;
  const auto writer = MakeWriter(&disk, 1000, /*max_written_bytes=*/5);
  absl::Notification all_added;
  {
    absl::MutexLock lock(&disk.mu);
    disk.may_write = &all_added;
  }
  for (const char* record : {"ab", "cd", "longer", "ef", "g", "hi"}) writer->Add(record);
  all_added.Notify();
  writer->Flush();
  std::string whole;
  for (const std::string& bytes : disk.Appended()) {
    EXPECT_TRUE(bytes.size() <= 5 || bytes == "longer") << bytes;
    whole += bytes;
  }
  EXPECT_EQ(whole, "abcdlongerefghi");
  EXPECT_THAT(disk.Counts(), ElementsAre(Pair(absl::StatusCode::kOk, 6)));
}

// A pipe whose reader has stopped.
class StuckFile : public LogFile {
 public:
  absl::Status Append(absl::string_view /*bytes*/) override {
    stopped_.WaitForNotification();
    return absl::UnavailableError("nobody reads");
  }
  void StopWaiting() override { stopped_.Notify(); }

 private:
  absl::Notification stopped_;
};

TEST(LogWriterTest, CloseDoesNotWaitForAReaderThatHasStopped) {
  std::map<absl::StatusCode, int64_t> counts;
  LogWriter::Options options{.name = "the test log", .max_written_bytes = 1};
  options.count = [&](absl::StatusCode code, int64_t num_records) { counts[code] += num_records; };
  options.close_patience = absl::ZeroDuration();
  LogWriter writer(std::move(options), std::make_unique<StuckFile>());
  writer.Add("a");
  writer.Add("b");
  writer.Close();
  EXPECT_THAT(counts, ElementsAre(Pair(absl::StatusCode::kUnavailable, 2)));
}

TEST(LogWriterTest, DropsAndCountsWhatAFullQueueCannotTakeAndNeverWaits) {
  Disk disk;
  absl::Notification may_write;
  disk.may_write = &may_write;
  const auto writer = MakeWriter(&disk, /*max_queued_bytes=*/10);
  EXPECT_TRUE(writer->HasRoom());
  for (int i = 0; i < 7; ++i) writer->Add("abc");  // three have room, whether or not one is written
  EXPECT_THAT(disk.Counts(), ElementsAre(Pair(absl::StatusCode::kResourceExhausted, 4)));
  writer->Add("d");
  EXPECT_FALSE(writer->HasRoom());
  may_write.Notify();
  writer->Flush();
  EXPECT_TRUE(writer->HasRoom());
  EXPECT_THAT(disk.Counts(), UnorderedElementsAre(Pair(absl::StatusCode::kOk, 4),
                                                  Pair(absl::StatusCode::kResourceExhausted, 4)));
}

TEST(LogWriterTest, AFullDiskIsToldOnceAndEndsOnceThereIsRoom) {
  Disk disk;
  const auto writer = MakeWriter(&disk);
  disk.SetStatus(absl::ResourceExhaustedError("cannot write to '/full': No space left on device"));
  CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    writer->Add("lost");
    writer->Flush();
  }
  const std::string told = GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("the test log: cannot write to '/full': No space left on device"));
  EXPECT_EQ(told.find('\n'), told.size() - 1) << "one line";
  disk.SetStatus(absl::OkStatus());
  CaptureStderr();
  writer->Add("kept");
  writer->Flush();
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("the test log is written again; 3 records were lost"));
  EXPECT_THAT(disk.Appended(), ElementsAre("kept"));
  EXPECT_THAT(disk.Counts(), UnorderedElementsAre(Pair(absl::StatusCode::kOk, 1),
                                                  Pair(absl::StatusCode::kUnavailable, 3)));
  // It came back within a minute.
  disk.SetStatus(absl::ResourceExhaustedError("full"));
  CaptureStderr();
  writer->Add("lost");
  writer->Flush();
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(LogWriterTest, CloseWritesWhatWaitsAndDropsTheRest) {
  Disk disk;
  const auto writer = MakeWriter(&disk);
  writer->Add("before");
  writer->Close();
  EXPECT_THAT(disk.Appended(), ElementsAre("before"));
  writer->Add("after");
  EXPECT_THAT(disk.Counts(), UnorderedElementsAre(Pair(absl::StatusCode::kOk, 1),
                                                  Pair(absl::StatusCode::kResourceExhausted, 1)));
}

}  // namespace
}  // namespace tessera::serving
