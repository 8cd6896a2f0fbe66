#include "runtime/kernels/primitives/all_reduce.h"

#include <algorithm>

#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

template <typename T>
void MergeInto(AllReduce::Merge merge, const T* from, T* to, int64_t count) {
  const auto apply = [&](auto function) { std::transform(to, to + count, from, to, function); };
  switch (merge) {
    case AllReduce::Merge::kAdd:
      return apply([](T a, T b) { return static_cast<T>(a + b); });
    case AllReduce::Merge::kMul:
      return apply([](T a, T b) { return static_cast<T>(a * b); });
    case AllReduce::Merge::kMin:
      return apply([](T a, T b) { return b < a ? b : a; });
    case AllReduce::Merge::kMax:
      return apply([](T a, T b) { return a < b ? b : a; });
  }
}

// All members get the same result tensor, in host memory.
absl::Status RunAllReduce(const AllReduce::Options& options,
                          absl::Span<const AllReduce::Member> members,
                          std::vector<Tensor>* results) {
  const Tensor& first = members[0].input;
  ASSIGN_OR_RETURN(Tensor result,
                   members[0].ctx->AllocateTemp(first.dtype(), first.shape(), MemoryKind::kHost));
  RETURN_IF_ERROR(VisitRealType(result.dtype(), [&]<typename T>() -> absl::Status {
    const int64_t count = result.num_elements();
    T* const to = result.data<T>();
    std::copy_n(first.data<T>(), count, to);
    for (size_t i = 1; i < members.size(); ++i) {
      MergeInto(options.merge, members[i].input.data<T>(), to, count);
    }
    if (options.divide) {
      const T size = static_cast<T>(members.size());
      std::transform(to, to + count, to, [size](T sum) { return static_cast<T>(sum / size); });
    }
    return absl::OkStatus();
  }));
  results->insert(results->end(), members.size(), result);
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(AllReduce, kCpu, RunAllReduce);

}  // namespace
}  // namespace tessera
