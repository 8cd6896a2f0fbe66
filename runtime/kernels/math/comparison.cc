// Comparisons and logic.
#include <cmath>

#include "runtime/kernels/elementwise.h"

namespace tessera {
namespace {

constexpr DTypeSet kAll = kNumeric | kBool | kString | kQuantized;

REGISTER_BINARY(
    "Equal", kAll, [](const auto& x, const auto& y) { return x == y; }, IfIncompatible(false));
REGISTER_BINARY(
    "NotEqual", kAll, [](const auto& x, const auto& y) { return x != y; }, IfIncompatible(true));
REGISTER_BINARY("Less", kReal, [](auto x, auto y) { return x < y; });
REGISTER_BINARY("LessEqual", kReal, [](auto x, auto y) { return x <= y; });
REGISTER_BINARY("Greater", kReal, [](auto x, auto y) { return x > y; });
REGISTER_BINARY("GreaterEqual", kReal, [](auto x, auto y) { return x >= y; });
REGISTER_BINARY_WITH_ATTR(
    "ApproximateEqual", "tolerance", kFloating,
    [](auto x, auto y, auto tolerance) { return std::abs(x - y) < tolerance; }, SameShapes());

REGISTER_BINARY("LogicalAnd", kBool, [](bool x, bool y) { return static_cast<bool>(x & y); });
REGISTER_BINARY("LogicalOr", kBool, [](bool x, bool y) { return static_cast<bool>(x | y); });

}  // namespace
}  // namespace tessera
