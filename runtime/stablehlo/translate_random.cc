// Random bits, which a state and an algorithm determine.
#include "runtime/stablehlo/elementwise.h"

namespace tessera::stablehlo {
namespace {

// Algorithms, as the VHLO dialect numbers them.
enum RngAlgorithm { kDefault, kThreeFry, kPhilox };

// The number by which XlaRngBitGenerator calls an algorithm; 0 for an unknown one. XLA's default on
// CPUs is Philox.
int32_t KernelAlgorithm(int64_t algorithm) {
  if (algorithm == kThreeFry) return 2;
  return algorithm == kDefault || algorithm == kPhilox ? 1 : 0;
}

// Integers of fewer than 32 bits are the lower bits of numbers of 32.
void RandomBits(Translator& t, const Operation& op) {
  if (op.operands.size() != 1 || op.results.size() != 2) {
    return t.Fail("it has another number of operands or results");
  }
  const Type& type = t.type(op.results[1]);
  if (!type.IsStatic()) return t.Fail("its type is not static");
  if (!IsInteger(type.dtype) || CarrierOf(type.dtype) != type.dtype) {
    return t.Fail("it makes no integers of whole bytes");
  }
  if (t.type(op.operands[0]).dtype != DType::kUint64) return t.Fail("its state is not of ui64");
  const int32_t algorithm = KernelAlgorithm(t.IntAttr(op, "rng_algorithm"));
  if (algorithm == 0) return t.Fail("its algorithm is unknown");
  const DType drawn = BitsOf(type.dtype) == 64 ? DType::kUint64 : DType::kUint32;
  const std::vector<Expr> results =
      CallAll("XlaRngBitGenerator",
              {t.build().Int(algorithm), t.Full(op.operands[0]), t.Ints(type.dimensions)},
              {{"dtype", drawn}});
  if (results.size() != 2) return;
  t.Set(op.results[0], results[0]);
  t.Set(op.results[1], Bitcast(CastTo(results[1], UnsignedOf(type.dtype)), type.dtype));
}

constexpr NamedHandler kHandlers[] = {{"rng_bit_generator", RandomBits}};

}  // namespace

absl::Span<const NamedHandler> RandomHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
