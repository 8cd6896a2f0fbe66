// Products and sums with constants, however a graph nests them.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace tessera {

// A product: `scale` times all of `factors`.
struct Factors {
  double scale = 1;
  std::vector<Endpoint> factors;
};
// Returns `value` as a product of a constant and other values, through nested Mul, Neg, and
// division by a constant. A value that is none of these is its own only factor.
Factors FactorsOf(const Endpoint& value);

// The float constant of one element and at most `max_rank` dimensions; nullopt if `value` is
// something else. A constant of more dimensions than the other operand would add some to the
// result.
std::optional<double> ScalarConstant(const Endpoint& value, int max_rank = 0);

// If `value` is Add or AddV2 of a scalar constant and something else: the latter.
std::optional<Endpoint> PlusConstant(const Endpoint& value, double* constant);

// True if a and b are the same to about six digits.
bool IsNear(double a, double b);

}  // namespace tessera
