#include "runtime/kernels/primitives/cuda/sweep_source.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/cuda/embedded_headers.h"
#include "runtime/kernels/primitives/elementwise/activation.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"
#include "runtime/kernels/primitives/elementwise/choose.h"
#include "runtime/kernels/primitives/elementwise/comparison.h"
#include "runtime/kernels/primitives/elementwise/transcendental.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

namespace tessera::cuda {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
// Four floats are loaded and stored by one instruction.
constexpr int kLanes = 4;

// The name of a type with its namespaces.
template <typename T>
absl::string_view TypeName() {
  const absl::string_view function = __PRETTY_FUNCTION__;  // "... [with T = NAME; ...]"
  const size_t begin = function.find("T = ") + 4;
  return function.substr(begin, function.find_first_of(";]", begin) - begin);
}

using SweepFunctions = absl::flat_hash_map<absl::string_view, SweepFunction>;

template <typename Declarations>
void AddFunctions(const Declarations& declarations, SweepFunctions* functions) {
  const auto add = [&]<typename D>(const D& declaration) {
    const bool takes_floats = Contains(declaration.dtypes, DType::kFloat);
    if (!takes_floats && !Contains(declaration.dtypes, DType::kBool)) return;
    functions->emplace(declaration.name,
                       SweepFunction{TypeName<typename D::Functor>(),
                                     takes_floats ? DType::kFloat : DType::kBool});
  };
  std::apply([&](const auto&... declaration) { (add(declaration), ...); }, declarations);
}

constexpr absl::string_view kIncludes = R"(
#include "runtime/kernels/primitives/elementwise/activation.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"
#include "runtime/kernels/primitives/elementwise/choose.h"
#include "runtime/kernels/primitives/elementwise/comparison.h"
#include "runtime/kernels/primitives/elementwise/transcendental.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

)";

}  // namespace

SweepFunction FindSweepFunction(absl::string_view op) {
  static const auto* const functions = [] {
    auto* const all = new SweepFunctions;
    AddFunctions(functors::kActivationOps, all);
    AddFunctions(functors::kArithmeticOps, all);
    AddFunctions(functors::kComparisonOps, all);
    AddFunctions(functors::kTranscendentalOps, all);
    AddFunctions(functors::kUnaryOps, all);
    all->emplace("SelectV2", SweepFunction{TypeName<functors::Choose>(), DType::kFloat});
    return all;
  }();
  const auto it = functions->find(op);
  return it == functions->end() ? SweepFunction() : it->second;
}

SweepKernel::SweepKernel(const ElementwiseSweep& sweep, absl::Span<char* const> bases)
    : sweep_(sweep) {
  const auto add_dimension = [&](int64_t size, auto stride_of) {
    num_items_ *= size;
    if (size == 1) return;
    Dimension dimension{size, {}};
    for (const ElementwiseSweep::Operand& operand : sweep.operands) {
      dimension.strides.push_back(operand.base < 0 ? 0 : stride_of(operand));
    }
    dimensions_.push_back(std::move(dimension));
  };
  add_dimension(sweep.columns, [](const auto& operand) { return operand.column_stride; });
  add_dimension(sweep.rows, [](const auto& operand) { return operand.row_stride; });
  for (size_t d = sweep.outer_dims.size(); d-- > 0;) {
    add_dimension(sweep.outer_dims[d],
                  [d](const auto& operand) { return operand.outer_strides[d]; });
  }
  has_small_indices_ = num_items_ <= INT32_MAX;

  const int num_operands = static_cast<int>(sweep.operands.size());
  bool has_lanes = !dimensions_.empty() && dimensions_[0].size % kLanes == 0;
  for (int i = 0; i < num_operands && has_lanes; ++i) {
    if (!IsInMemory(i) || StrideOf(i, 0) == Stride::kRepeats) continue;
    const char* const data = bases[sweep.operands[i].base] + sweep.operands[i].offset;
    has_lanes = StrideOf(i, 0) == Stride::kContiguous &&
                reinterpret_cast<uintptr_t>(data) % (kLanes * kFloatBytes) == 0;
    for (size_t d = 1; d < dimensions_.size(); ++d) {
      has_lanes = has_lanes && dimensions_[d].strides[i] % (kLanes * kFloatBytes) == 0;
    }
  }
  if (has_lanes) {
    lanes_ = kLanes;
    dimensions_[0].size /= kLanes;
    num_items_ /= kLanes;
  }

  key_ = absl::StrCat(lanes_, has_small_indices_ ? "i" : "l", dimensions_.size(), ":");
  parameters_.push_back(num_items_);
  for (const Dimension& dimension : dimensions_) parameters_.push_back(dimension.size);
  for (int i = 0; i < num_operands; ++i) {
    if (!IsInMemory(i)) {
      key_.push_back('-');
      continue;
    }
    const ElementwiseSweep::Operand& operand = sweep.operands[i];
    parameters_.push_back(reinterpret_cast<intptr_t>(bases[operand.base] + operand.offset));
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      parameters_.push_back(dimensions_[d].strides[i]);
      key_.push_back(static_cast<char>(StrideOf(i, d)));
    }
    key_.push_back(',');
  }
  for (const ElementwiseSweep::Call& call : sweep.calls) {
    absl::StrAppend(&key_, ";", call.function);
    for (int k = 0; k <= call.arity; ++k) absl::StrAppend(&key_, " ", call.operands[k]);
  }
}

SweepKernel::Stride SweepKernel::StrideOf(int operand, size_t dimension) const {
  const int64_t stride = dimensions_[dimension].strides[operand];
  if (stride == 0) return Stride::kRepeats;
  return dimension == 0 && stride == kFloatBytes ? Stride::kContiguous : Stride::kStrided;
}

// The distance in bytes from the operand's first element to that of the thread.
std::string SweepKernel::Offset(int operand) const {
  std::string offset = "0";
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    switch (StrideOf(operand, d)) {
      case Stride::kRepeats:
        break;
      case Stride::kContiguous:
        absl::StrAppend(&offset, " + at", d, " * ", kFloatBytes * lanes_, "LL");
        break;
      case Stride::kStrided:
        absl::StrAppend(&offset, " + at", d, " * sweep.stride", operand, "_", d);
    }
  }
  return offset;
}

std::string SweepKernel::Source(absl::Span<const absl::string_view> functors) const {
  std::string source(kIncludes);
  absl::StrAppend(&source, "struct Sweep {\n  long long items;\n");
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    absl::StrAppend(&source, "  long long size", d, ";\n");
  }
  for (size_t i = 0; i < sweep_.operands.size(); ++i) {
    if (!IsInMemory(static_cast<int>(i))) continue;
    absl::StrAppend(&source, "  char* data", i, ";\n");
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      absl::StrAppend(&source, "  long long stride", i, "_", d, ";\n");
    }
  }
  absl::StrAppend(
      &source, "};\nstruct alignas(", lanes_ * kFloatBytes, ") Lanes {\n  float x[", lanes_,
      "];\n};\n\nextern \"C\" __global__ void ", kFunctionName,
      "(const Sweep sweep) {\n  using Index = ", has_small_indices_ ? "unsigned" : "long long",
      ";\n  const long long step = (long long)gridDim.x * blockDim.x;\n"
      "  for (long long item = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
      "       item < sweep.items; item += step) {\n");
  if (!dimensions_.empty()) absl::StrAppend(&source, "    Index rest = (Index)item;\n");
  // The innermost dimension is counted in groups of lanes.
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    const bool is_last = d + 1 == dimensions_.size();
    absl::StrAppend(&source, "    const long long at", d, " = rest",
                    is_last ? ";\n" : absl::StrCat(" % (Index)sweep.size", d, ";\n"));
    if (!is_last) absl::StrAppend(&source, "    rest /= (Index)sweep.size", d, ";\n");
  }
  // A value is loaded once, and a result is read where it was computed, even if it is stored too.
  // Bools are floats of 0 or 1 there: functors that take bools convert them, and none is stored.
  std::vector<bool> is_known(sweep_.operands.size(), false);
  std::string loads, stores;
  for (const ElementwiseSweep::Call& call : sweep_.calls) {
    const int result = call.operands[0];
    std::string arguments;
    for (int k = 1; k <= call.arity; ++k) {
      const int operand = call.operands[k];
      if (!is_known[operand]) {
        is_known[operand] = true;
        const bool repeats = dimensions_.empty() || StrideOf(operand, 0) == Stride::kRepeats;
        absl::StrAppend(&source, "    ", lanes_ > 1 && repeats ? "float" : "Lanes", " v", operand,
                        " = *(const ", lanes_ > 1 && repeats ? "float" : "Lanes", "*)(sweep.data",
                        operand, " + ", Offset(operand), ");\n");
      }
      const bool is_single =
          lanes_ > 1 && IsInMemory(operand) && StrideOf(operand, 0) == Stride::kRepeats;
      absl::StrAppend(&arguments, k > 1 ? ", " : "", "v", operand, is_single ? "" : ".x[lane]");
    }
    if (!is_known[result]) absl::StrAppend(&source, "    Lanes v", result, ";\n");
    is_known[result] = true;
    absl::StrAppend(&source, "    for (int lane = 0; lane < ", lanes_, "; ++lane) v", result,
                    ".x[lane] = ", functors[call.function], "{}(", arguments, ");\n");
    if (IsInMemory(result)) {
      absl::StrAppend(&source, "    *(Lanes*)(sweep.data", result, " + ", Offset(result), ") = v",
                      result, ";\n");
    }
  }
  absl::StrAppend(&source, "  }\n}\n");
  return source;
}

const std::vector<SweepKernel::Header>& SweepKernel::Headers() {
  static const auto* const headers = [] {
    auto* const all = new std::vector<Header>;
    for (const EmbeddedHeader& header : EmbeddedHeaders()) {
      all->push_back({std::string(header.name), std::string(header.text)});
    }
    for (const char* name : {"cmath", "cstdint", "type_traits", "absl/status/status.h"}) {
      all->push_back({name, "#include \"runtime/kernels/primitives/math/device_std.h\"\n"});
    }
    return all;
  }();
  return *headers;
}

}  // namespace tessera::cuda
