#include "runtime/kernels/primitives/philox.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

// The known answers of the reference implementation, Random123.
TEST(PhiloxTest, AgreesWithTheReference) {
  EXPECT_EQ(Philox(0, 0, 0).Next(),
            (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}).Next(),
            (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e).Next(),
            (Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, SkippingIsAsGoodAsDrawing) {
  Philox drawn(7, ~uint64_t{0} - 1, 3), skipped = drawn;
  for (int i = 0; i < 5; ++i) drawn.Next();
  skipped.Skip(5);
  EXPECT_EQ(skipped.counter_high(), 4);  // the lower half wrapped
  EXPECT_EQ(drawn.Next(), skipped.Next());
}

}  // namespace
}  // namespace tessera
