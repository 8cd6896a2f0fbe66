// XlaSelectAndScatter: the gradient of a reduction over windows that selects an element of each.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/xla/combiner.h"
#include "runtime/kernels/xla/element_function.h"
#include "runtime/kernels/xla/window_geometry.h"

namespace tessera {
namespace {

// Whether VisitComparison() visits the comparison for elements of `dtype`.
bool ComparesNumbers(absl::string_view op, DType dtype) {
  const bool is_comparison =
      op == "GreaterEqual" || op == "Greater" || op == "LessEqual" || op == "Less";
  return is_comparison && VisitRealType(dtype, []<typename T>() { return absl::OkStatus(); }).ok();
}

// Calls visit.template operator()<T>(comparison) -> absl::Status for real numbers of type T.
// Requires ComparesNumbers().
template <typename Visitor>
absl::Status VisitComparison(absl::string_view op, DType dtype, Visitor&& visit) {
  return VisitRealType(dtype, [&]<typename T>() -> absl::Status {
    if (op == "GreaterEqual") return visit.template operator()<T>(std::greater_equal<T>());
    if (op == "Greater") return visit.template operator()<T>(std::greater<T>());
    if (op == "LessEqual") return visit.template operator()<T>(std::less_equal<T>());
    return visit.template operator()<T>(std::less<T>());
  });
}

// Whether the windows of dimension `d` are its elements, one after another.
bool HasWindowsOfOne(const WindowGeometry& geometry, size_t d) {
  return geometry.window[d] == 1 && geometry.strides[d] == 1 && geometry.low[d] == 0 &&
         geometry.result[d] == geometry.operand[d];
}

// Selects the elements of windows by a comparison of numbers. The windows are rows of those that
// differ in the last dimensions only, where they have one element: what the windows of a row have
// at an offset lies side by side.
template <typename T, typename Comparison>
class RowSelector {
 public:
  // `keeps` says of a selected element and of the next one whether the former stays selected.
  RowSelector(const WindowGeometry& geometry, Comparison keeps, const T* from)
      : geometry_(geometry), keeps_(keeps), from_(from), rank_(geometry.result.size()) {
    while (rank_ > 1 && HasWindowsOfOne(geometry, rank_ - 1)) length_ *= geometry.result[--rank_];
    for (size_t d = 0; d < rank_; ++d) num_rows_ *= geometry.result[d];
  }

  int64_t num_rows() const { return num_rows_; }
  // Returns the approximate time for a row in nanoseconds.
  double RowCost() const {
    double cost = static_cast<double>(length_);
    for (size_t d = 0; d < rank_; ++d) cost *= static_cast<double>(geometry_.window[d]);
    return cost;
  }

  // Writes the positions of the elements of the rows [begin, end); -1 for windows of padding.
  void Select(int64_t begin, int64_t end, int64_t* selected) const {
    const auto dims = absl::MakeConstSpan(geometry_.result).first(rank_);
    std::vector<int64_t> index(rank_);
    int64_t rest = begin;
    for (size_t d = rank_; d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
    Box box{std::vector<int64_t>(rank_), std::vector<int64_t>(rank_), {}};
    for (int64_t row = begin; row < end; ++row) {
      bool is_empty = false;
      for (size_t d = 0; d < rank_; ++d) {
        const int64_t place = index[d] * geometry_.strides[d] - geometry_.low[d];
        box.begin[d] = std::max<int64_t>(place, 0);
        box.end[d] = std::min(place + geometry_.window[d], geometry_.operand[d]);
        is_empty |= box.begin[d] >= box.end[d];
      }
      int64_t* const out = selected + row * length_;
      if (is_empty) {
        std::fill_n(out, length_, -1);
      } else {
        for (int64_t i = 0; i < length_; i += kBlock) {
          SelectBlock(i, std::min(kBlock, length_ - i), &box, out + i);
        }
      }
      Step(dims, &index);
    }
  }

 private:
  static constexpr int64_t kBlock = 128;  // windows whose elements are held at once

  // The elements of a window that are no padding, and a walk through them.
  struct Box {
    std::vector<int64_t> begin, end, at;

    // Steps to the next line along the last dimension. False at the end.
    bool StepLine() {
      for (size_t d = at.size() - 1; d-- > 0;) {
        if (++at[d] < end[d]) return true;
        at[d] = begin[d];
      }
      return false;
    }
  };

  // Selects for windows [first, first + count) of a row, whose elements `box` has.
  void SelectBlock(int64_t first, int64_t count, Box* box, int64_t* out) const {
    T held[kBlock];
    bool is_first = true;
    box->at = box->begin;
    do {
      int64_t position = first;
      for (size_t d = 0; d < rank_; ++d) {
        position += box->at[d] * geometry_.strides_of_operand[d];
      }
      for (int64_t i = box->begin[rank_ - 1]; i < box->end[rank_ - 1]; ++i) {
        const T* const values = from_ + position;
        if (is_first) {
          std::copy_n(values, count, held);
          std::iota(out, out + count, position);
          is_first = false;
        } else {
          for (int64_t c = 0; c < count; ++c) {
            const bool stays = keeps_(held[c], values[c]);
            held[c] = stays ? held[c] : values[c];
            out[c] = stays ? out[c] : position + c;
          }
        }
        position += geometry_.strides_of_operand[rank_ - 1];
      }
    } while (box->StepLine());
  }

  const WindowGeometry& geometry_;
  const Comparison keeps_;
  const T* const from_;
  size_t rank_;  // without the last dimensions
  int64_t length_ = 1, num_rows_ = 1;
};

// Where `select` is a comparison and `scatter` a combiner of numbers, neither is called. Windows
// add to an element in their order then, as in XLA.
class SelectAndScatterKernel final : public OpKernel {
 public:
  explicit SelectAndScatterKernel(const KernelBuild& build)
      : comparison_(build.has_attr("_is_select") ? build.attr<std::string>("_is_select") : ""),
        combiner_(CombinerOf(build, "scatter")),
        select_(build, "select"),
        scatter_(build, "scatter"),
        types_(build.output_types()) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& operand = ctx.input(0);
    const Tensor& source = ctx.input(4);
    const int rank = operand.rank();
    WindowGeometry geometry;
    ASSIGN_OR_RETURN(geometry.window, ReadInts(ctx.input(1), rank, "window_dimensions"));
    ASSIGN_OR_RETURN(geometry.strides, ReadInts(ctx.input(2), rank, "window_strides"));
    geometry.base_dilations.assign(rank, 1);
    geometry.window_dilations.assign(rank, 1);
    RETURN_IF_ERROR(ReadPadding(ctx.input(3), rank, &geometry));
    RETURN_IF_ERROR(geometry.Complete(operand.shape()));
    if (source.shape() != Shape(absl::Span<const int64_t>(geometry.result))) {
      return absl::InvalidArgumentError(absl::StrCat("source has shape ", source.shape().ToString(),
                                                     ", not one element a window"));
    }
    if (ctx.input(5).num_elements() != 1) {
      return absl::InvalidArgumentError("init_value must be a scalar");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, operand.shape()));
    if (operand.num_elements() == 0) return absl::OkStatus();
    FillElements(output->dtype(), ctx.input(5).raw(), output->mutable_raw(),
                 operand.num_elements());
    const int64_t count = source.num_elements();
    if (count == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<int64_t> selected,
                     rank > 0 && ComparesNumbers(comparison_, operand.dtype())
                         ? SelectByComparison(ctx, geometry, count)
                         : SelectElements(ctx, geometry, count));
    if (CombinesNumbers(combiner_, output->dtype())) {
      return Combine(ctx, geometry, selected, output);
    }
    // Windows that have their element at one offset have different elements.
    std::vector<int64_t> offset(rank, 0);
    do {
      const std::vector<int64_t> elements = geometry.ElementsAt(offset, count);
      std::vector<int64_t> targets, sources;
      for (int64_t i = 0; i < count; ++i) {
        if (elements[i] < 0 || elements[i] != selected[i]) continue;
        targets.push_back(elements[i]);
        sources.push_back(i);
      }
      if (targets.empty()) continue;
      ASSIGN_OR_RETURN(Tensor old, Pick(ctx, *output, targets));
      ASSIGN_OR_RETURN(Tensor added, Pick(ctx, source, sources));
      std::vector<Tensor> results;
      RETURN_IF_ERROR(scatter_.Apply(ctx, {old, added}, types_, &results));
      Put(results[0], targets, output);
    } while (Step(geometry.window, &offset));
    return absl::OkStatus();
  }

 private:
  // The same as SelectElements(), for a comparison of numbers.
  absl::StatusOr<std::vector<int64_t>> SelectByComparison(KernelContext& ctx,
                                                          const WindowGeometry& geometry,
                                                          int64_t count) const {
    RETURN_IF_ERROR(ctx.CheckGoingOn());
    std::vector<int64_t> selected(count);
    RETURN_IF_ERROR(VisitComparison(
        comparison_, ctx.input(0).dtype(), [&]<typename T, typename Comparison>(Comparison keeps) {
          const RowSelector<T, Comparison> rows(geometry, keeps, ctx.input(0).flat<T>().data());
          ctx.ParallelFor(rows.num_rows(), rows.RowCost(), [&](int64_t begin, int64_t end) {
            rows.Select(begin, end, selected.data());
          });
          return absl::OkStatus();
        }));
    return selected;
  }

  // Combines the elements of the source with those that the windows have selected. Windows of
  // different elements in the first dimensions share none.
  absl::Status Combine(KernelContext& ctx, const WindowGeometry& geometry,
                       const std::vector<int64_t>& selected, Tensor* output) const {
    const auto count = static_cast<int64_t>(selected.size());
    int64_t parts = 1;
    for (size_t d = 0; d < geometry.result.size() && HasWindowsOfOne(geometry, d); ++d) {
      parts *= geometry.result[d];
    }
    const int64_t size = count / parts;
    return VisitCombiner(combiner_, output->dtype(), [&]<typename T>(auto combine) {
      T* const to = output->data<T>();
      const T* const from = ctx.input(4).flat<T>().data();
      ctx.ParallelFor(parts, static_cast<double>(size), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * size; i < end * size; ++i) {
          if (selected[i] >= 0) to[selected[i]] = combine(to[selected[i]], from[i]);
        }
      });
      return absl::OkStatus();
    });
  }

  // The element that `select` prefers in each window; -1 for a window of padding.
  absl::StatusOr<std::vector<int64_t>> SelectElements(KernelContext& ctx,
                                                      const WindowGeometry& geometry,
                                                      int64_t count) const {
    std::vector<int64_t> selected(count, -1);
    std::vector<int64_t> offset(geometry.window.size(), 0);
    do {
      const std::vector<int64_t> elements = geometry.ElementsAt(offset, count);
      std::vector<int64_t> windows, held, offered;
      for (int64_t i = 0; i < count; ++i) {
        if (elements[i] < 0) continue;
        if (selected[i] < 0) {
          selected[i] = elements[i];
        } else {
          windows.push_back(i);
          held.push_back(selected[i]);
          offered.push_back(elements[i]);
        }
      }
      if (windows.empty()) continue;
      ASSIGN_OR_RETURN(Tensor a, Pick(ctx, ctx.input(0), held));
      ASSIGN_OR_RETURN(Tensor b, Pick(ctx, ctx.input(0), offered));
      std::vector<Tensor> keeps;
      RETURN_IF_ERROR(select_.Apply(ctx, {a, b}, {DType::kBool}, &keeps));
      for (size_t i = 0; i < windows.size(); ++i) {
        if (!keeps[0].flat<bool>()[i]) selected[windows[i]] = offered[i];
      }
    } while (Step(geometry.window, &offset));
    return selected;
  }

  const std::string comparison_;  // the op that is `select`; empty for any other function
  const Combiner combiner_;
  const ElementFunction select_;
  const ElementFunction scatter_;
  const std::vector<DType> types_;
};
REGISTER_KERNEL("XlaSelectAndScatter", kCpu, SelectAndScatterKernel);
REGISTER_KERNEL("_CapturingXlaSelectAndScatter", kCpu, SelectAndScatterKernel);

}  // namespace
}  // namespace tessera
