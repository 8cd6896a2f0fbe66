#include "runtime/base/status.h"

#include <string>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(AnnotateTest, KeepsCodeAndPayloads) {
  absl::Status status = absl::DataLossError("checksum 7");
  status.SetPayload("kind", absl::Cord("cut short"));
  status.SetPayload("place", absl::Cord("record 3"));
  const absl::Status annotated = Annotate(Annotate(status, "file 'a': "), "data: ");
  EXPECT_TRUE(absl::IsDataLoss(annotated));
  EXPECT_EQ(annotated.message(), "data: file 'a': checksum 7");
  EXPECT_EQ(annotated.GetPayload("kind"), absl::Cord("cut short"));
  EXPECT_EQ(annotated.GetPayload("place"), absl::Cord("record 3"));
}

TEST(AnnotateTest, LeavesOkAlone) { EXPECT_TRUE(Annotate(absl::OkStatus(), "data: ").ok()); }

}  // namespace
}  // namespace tessera
