// Products: dot_general and convolution.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {
namespace {

bool Contains(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

Dims Joined(std::initializer_list<Dims> parts) {
  Dims all;
  for (const Dims& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Dims Ascending(int64_t begin, int64_t end) {
  Dims dims(std::max<int64_t>(end - begin, 0));
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

Dims Select(const Dims& dims, const Dims& positions) {
  Dims selected;
  for (int64_t p : positions) selected.push_back(dims[p]);
  return selected;
}

int64_t Product(const Dims& dims) {
  int64_t product = 1;
  for (int64_t d : dims) {
    if (d == kDynamic) return kDynamic;
    product *= d;
  }
  return product;
}

// An operand of a product of matrices: its dimensions by what the product does with them.
struct Operand {
  Expr expr;
  Dims dims;
  Dims batch, contracting, free;  // positions

  void FindFree() {
    for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
      if (!Contains(batch, d) && !Contains(contracting, d)) free.push_back(d);
    }
  }
  bool IsValid() const {
    const Dims all = Joined({batch, contracting});
    for (int64_t d : all) {
      if (d < 0 || d >= static_cast<int64_t>(dims.size())) return false;
    }
    return std::all_of(all.begin(), all.end(),
                       [&](int64_t d) { return std::count(all.begin(), all.end(), d) == 1; });
  }
  // Makes [batch..., rows, columns] of it: by a transposition unless the dimensions stand so
  // already, then by joining them. Returns whether rows and columns have changed places.
  bool ToMatrices(Translator& t, const Dims& rows, const Dims& columns) {
    const Dims wanted = Joined({batch, rows, columns});
    const Dims swapped = Joined({batch, columns, rows});
    const bool is_swapped = wanted != swapped && swapped == Ascending(0, dims.size());
    expr = t.Transposed(expr, is_swapped ? swapped : wanted);
    const Dims batch_dims = Select(dims, batch);
    int64_t row_size = Product(Select(dims, rows)), column_size = Product(Select(dims, columns));
    if (is_swapped) std::swap(row_size, column_size);
    Dims joined = Joined({batch_dims, {row_size}, {column_size}});
    const Dims& order = is_swapped ? swapped : wanted;
    if (rows.size() == 1 && columns.size() == 1) return is_swapped;
    expr = t.ReshapeTo(expr, joined, [&] {
      const Expr shape = ShapeOf(expr);
      const size_t first = (is_swapped ? columns : rows).size();
      std::vector<Expr> parts;
      if (!batch.empty()) {
        parts.push_back(SliceVector(shape, 0, static_cast<int>(batch.size())));
      }
      auto product = [&](size_t begin, size_t end) {
        if (begin == end) return t.build().Ints({1});
        return Call("Prod",
                    {SliceVector(shape, static_cast<int>(begin),
                                 end == order.size() ? 0 : static_cast<int>(end)),
                     t.build().Ints({0})},
                    {{"keep_dims", true}});
      };
      parts.push_back(product(batch.size(), batch.size() + first));
      parts.push_back(product(batch.size() + first, order.size()));
      return Concat(parts, 0);
    });
    return is_swapped;
  }
};

// The sizes of the result of a product, in its order: batch, free of the left, free of the right.
Expr ResultShape(Translator& t, const Expr& lhs_shape, const Expr& rhs_shape, const Operand& lhs,
                 const Operand& rhs) {
  std::vector<Expr> parts;
  auto add = [&](const Expr& shape, const Dims& positions) {
    if (!positions.empty()) {
      parts.push_back(Call("GatherV2", {shape, t.Ints(positions), t.build().Int(0)}));
    }
  };
  add(lhs_shape, Joined({lhs.batch, lhs.free}));
  add(rhs_shape, rhs.free);
  return parts.size() == 1 ? parts[0] : Concat(parts, 0);
}

// XLA computes products of small integers in the type of the result.
Expr Multiply(const Expr& a, const Expr& b, bool adjoint_a, bool adjoint_b, bool has_batch) {
  if (!has_batch) {
    return Call("MatMul", {a, b}, {{"transpose_a", adjoint_a}, {"transpose_b", adjoint_b}});
  }
  return Call("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}

void DotGeneral(Translator& t, const Operation& op) {
  if (op.operands.size() != 2) return t.Fail("it has another number of operands");
  const Type& type = t.type(op.results[0]);
  Operand lhs, rhs;
  lhs.dims = t.type(op.operands[0]).dimensions;
  rhs.dims = t.type(op.operands[1]).dimensions;
  lhs.batch = t.IntsAttr(op, "lhs_batching_dimensions");
  rhs.batch = t.IntsAttr(op, "rhs_batching_dimensions");
  lhs.contracting = t.IntsAttr(op, "lhs_contracting_dimensions");
  rhs.contracting = t.IntsAttr(op, "rhs_contracting_dimensions");
  if (!t.status().ok()) return;
  if (!lhs.IsValid() || !rhs.IsValid() || lhs.contracting.size() != rhs.contracting.size() ||
      lhs.batch.size() != rhs.batch.size()) {
    return t.Fail("its dimensions are wrong");
  }
  lhs.expr = CastTo(t.Full(op.operands[0]), type.dtype);
  rhs.expr = CastTo(t.Full(op.operands[1]), type.dtype);
  lhs.FindFree();
  rhs.FindFree();
  const Expr lhs_full = lhs.expr, rhs_full = rhs.expr;
  // The adjoint of a complex matrix is more than a transposition, so rows are not swapped there.
  const bool adjoint_a = lhs.ToMatrices(t, lhs.free, lhs.contracting);
  const bool adjoint_b = rhs.ToMatrices(t, rhs.contracting, rhs.free);
  if (IsComplex(type.dtype) && (adjoint_a || adjoint_b)) {
    const int64_t rank = static_cast<int64_t>(lhs.batch.size()) + 2;
    Dims last = Ascending(0, rank);
    std::swap(last[rank - 1], last[rank - 2]);
    if (adjoint_a) lhs.expr = t.Transposed(lhs.expr, last);
    if (adjoint_b) rhs.expr = t.Transposed(rhs.expr, last);
    return t.Fail("products of complex numbers with transposed operands are not supported");
  }
  const Expr product = Multiply(lhs.expr, rhs.expr, adjoint_a, adjoint_b, !lhs.batch.empty());
  if (lhs.free.size() == 1 && rhs.free.size() == 1) return t.Set(op.results[0], product);
  t.Set(op.results[0], t.ReshapeTo(product, type.dimensions, [&] {
    return ResultShape(t, ShapeOf(lhs_full), ShapeOf(rhs_full), lhs, rhs);
  }));
}

Dims Inverse(const Dims& permutation) {
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

bool IsPermutation(const Dims& dims) {
  Dims sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  return sorted == Ascending(0, dims.size());
}

// A convolution over one or two spatial dimensions, by way of Conv2D or DepthwiseConv2dNative.
void Convolution(Translator& t, const Operation& op) {
  if (op.operands.size() != 2) return t.Fail("it has another number of operands");
  const Type& type = t.type(op.results[0]);
  const Dims input_order = Joined({{t.IntAttr(op, "input_batch_dimension")},
                                   t.IntsAttr(op, "input_spatial_dimensions"),
                                   {t.IntAttr(op, "input_feature_dimension")}});
  const Dims kernel_order = Joined({t.IntsAttr(op, "kernel_spatial_dimensions"),
                                    {t.IntAttr(op, "kernel_input_feature_dimension")},
                                    {t.IntAttr(op, "kernel_output_feature_dimension")}});
  const Dims output_order = Joined({{t.IntAttr(op, "output_batch_dimension")},
                                    t.IntsAttr(op, "output_spatial_dimensions"),
                                    {t.IntAttr(op, "output_feature_dimension")}});
  Dims strides = t.IntsAttr(op, "window_strides"), padding = t.IntsAttr(op, "padding");
  const Dims input_dilation = t.IntsAttr(op, "lhs_dilation");
  Dims dilation = t.IntsAttr(op, "rhs_dilation");
  const std::vector<bool> reversal = t.BoolsAttr(op, "window_reversal");
  const int64_t groups = t.IntAttr(op, "feature_group_count");
  if (t.IntAttr(op, "batch_group_count") != 1) {
    return t.Fail("batch groups are not supported");
  }
  if (!t.status().ok()) return;
  const size_t spatial = strides.size();
  const Dims& input_dims = t.type(op.operands[0]).dimensions;
  const Dims& kernel_dims = t.type(op.operands[1]).dimensions;
  if (spatial < 1 || spatial > 2) {
    return t.Fail(absl::StrCat(spatial, " spatial dimensions are not supported"));
  }
  for (const Dims* order : {&input_order, &kernel_order, &output_order}) {
    if (order->size() != spatial + 2 || !IsPermutation(*order)) {
      return t.Fail("its dimensions are wrong");
    }
  }
  if (input_dims.size() != spatial + 2 || kernel_dims.size() != spatial + 2 ||
      type.rank() != static_cast<int>(spatial + 2) || padding.size() != 2 * spatial ||
      input_dilation.size() != spatial || dilation.size() != spatial ||
      reversal.size() != spatial) {
    return t.Fail("its attributes are of another rank than its operands");
  }
  Expr input = t.Transposed(CastTo(t.Full(op.operands[0]), type.dtype), input_order);
  Expr kernel = t.Transposed(CastTo(t.Full(op.operands[1]), type.dtype), kernel_order);
  Dims nhwc = Select(input_dims, input_order), hwio = Select(kernel_dims, kernel_order);
  Dims reversed;
  for (size_t i = 0; i < spatial; ++i) {
    if (reversal[i]) reversed.push_back(static_cast<int64_t>(i));
  }
  if (!reversed.empty()) kernel = Call("ReverseV2", {kernel, t.Ints(reversed)});
  // Conv2D knows neither dilated inputs nor negative padding.
  if (std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p < 0; }) ||
      std::any_of(input_dilation.begin(), input_dilation.end(), [](int64_t d) { return d != 1; })) {
    Dims low(spatial + 2), high(spatial + 2), interior(spatial + 2);
    for (size_t i = 0; i < spatial; ++i) {
      low[i + 1] = padding[2 * i];
      high[i + 1] = padding[2 * i + 1];
      interior[i + 1] = input_dilation[i] - 1;
      nhwc[i + 1] = kDynamic;
    }
    const Expr zero = CastTo(t.build().Int(0), type.dtype);
    input = Call("XlaPad", {input, zero, t.Ints(low), t.Ints(high), t.Ints(interior)});
    std::fill(padding.begin(), padding.end(), 0);
  }
  if (spatial == 1) {
    input = ExpandDims(input, 1);
    kernel = ExpandDims(kernel, 0);
    hwio.insert(hwio.begin(), 1);
    strides.insert(strides.begin(), 1);
    dilation.insert(dilation.begin(), 1);
    padding.insert(padding.begin(), {0, 0});
  }
  const Dims paddings = Joined({{0, 0}, padding, {0, 0}});
  AttrMap attrs = {{"strides", Joined({{1}, strides, {1}})},
                   {"dilations", Joined({{1}, dilation, {1}})},
                   {"padding", "VALID"}};
  if (std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p != 0; })) {
    attrs["padding"] = "EXPLICIT";
    attrs["explicit_paddings"] = paddings;
  }
  // DepthwiseConv2dNative has one stride for both directions and no dilation. Conv2D, which takes
  // its groups from the number of the kernel's input channels, has both.
  const bool is_depthwise = groups > 1 && hwio[2] == 1 && hwio[3] % groups == 0 &&
                            strides[0] == strides[1] && dilation == Dims{1, 1};
  if (is_depthwise) {
    kernel = Reshape(kernel, t.Ints({hwio[0], hwio[1], groups, hwio[3] / groups}));
  }
  Expr result = Call(is_depthwise ? "DepthwiseConv2dNative" : "Conv2D", {input, kernel}, attrs);
  if (spatial == 1) {
    result = Call("Squeeze", {result}, {{"squeeze_dims", std::vector<int64_t>{1}}});
  }
  t.Set(op.results[0], t.Transposed(result, Inverse(output_order)));
}

constexpr NamedHandler kHandlers[] = {
    {"convolution", Convolution},
    {"dot_general", DotGeneral},
};

}  // namespace

absl::Span<const NamedHandler> ProductHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
