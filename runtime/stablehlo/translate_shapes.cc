// Ops that change shapes: constants, broadcasts, reshapes, slices, padding.
#include <algorithm>
#include <cstring>

#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {
namespace {

// Returns one element that all others of the tensor equal; no value if they differ.
Tensor SplatOf(const Tensor& tensor) {
  const size_t size = DTypeSize(tensor.dtype());
  const char* const bytes = tensor.raw();
  for (int64_t i = 1; i < tensor.num_elements(); ++i) {
    if (std::memcmp(bytes, bytes + i * size, size) != 0) return Tensor();
  }
  Tensor splat = Tensor::Allocate(tensor.dtype(), {}).value();
  std::memcpy(splat.mutable_raw(), bytes, size);
  return splat;
}

void Constant(Translator& t, const Operation& op) {
  const auto* value = op.FindAttr<Tensor>("value");
  if (value == nullptr || value->shape() != Shape(t.type(op.results[0]).dimensions)) {
    return t.Fail("it has no value of its type");
  }
  if (value->num_elements() > 1) {
    if (Tensor splat = SplatOf(*value); splat.has_value()) {
      return t.SetBroadcast(op.results[0], t.build().Constant(std::move(splat)), {},
                            t.Ints(value->shape().dims()));
    }
  }
  t.Set(op.results[0], t.build().Constant(*value));
}

// Numbers 0, 1, ... along one dimension, of a vector that broadcasts to `shape`.
void CountAlong(Translator& t, const Operation& op, const Expr& extent, const Expr& shape) {
  const Type& type = t.type(op.results[0]);
  const int64_t dimension = t.IntAttr(op, "iota_dimension");
  if (dimension < 0 || dimension >= type.rank()) return t.Fail("there is no such dimension");
  GraphBuilder& build = t.build();
  const Expr limit = CastTo(extent, DType::kInt32);
  const Expr numbers = CastTo(Call("Range", {build.Int(0), limit, build.Int(1)}), type.dtype);
  Dims dims(type.rank() - dimension, 1);
  dims[0] = type.dimensions[dimension];
  Dims vector_dims = {dims[0]};
  Dims ones;
  for (int64_t i = 1; i < static_cast<int64_t>(dims.size()); ++i) ones.push_back(i);
  t.SetBroadcast(op.results[0], t.InsertOnes(numbers, vector_dims, ones), dims, shape);
}

void Iota(Translator& t, const Operation& op) {
  const Type& type = t.type(op.results[0]);
  const int64_t dimension = t.IntAttr(op, "iota_dimension");
  if (!type.IsStatic() || dimension < 0 || dimension >= type.rank()) {
    return t.Fail("its type is not static");
  }
  CountAlong(t, op, t.build().Int(static_cast<int32_t>(type.dimensions[dimension])),
             t.Ints(type.dimensions));
}

// Element i of a vector as a scalar.
Expr ElementOf(const Expr& vector, int64_t i) {
  GraphBuilder& build = *vector.builder();
  const int32_t begin = static_cast<int32_t>(i);
  return Call("StridedSlice",
              {vector, build.Ints({begin}), build.Ints({begin + 1}), build.Ints({1})},
              {{"shrink_axis_mask", 1}});
}

void DynamicIota(Translator& t, const Operation& op) {
  const Expr shape = t.Full(op.operands[0]);
  if (shape.empty()) return;
  CountAlong(t, op, ElementOf(shape, t.IntAttr(op, "iota_dimension")), shape);
}

// Broadcasts an operand whose dimension i becomes dimension `mapping[i]` of the result.
void BroadcastInDim(Translator& t, const Operation& op, const std::function<Expr()>& shape) {
  const Dims mapping = t.IntsAttr(op, "broadcast_dimensions");
  const Type& type = t.type(op.results[0]);
  Value value = t.Get(op.operands[0]);
  const int operand_rank = t.type(op.operands[0]).rank();
  if (static_cast<int>(mapping.size()) != operand_rank) return t.Fail("its dimensions are wrong");
  for (int64_t d : mapping) {
    if (d < 0 || d >= type.rank()) return t.Fail("its dimensions are wrong");
  }
  if (!value.dims.empty()) {
    const bool is_ascending = std::is_sorted(mapping.begin(), mapping.end());
    // Only what is in full can be permuted, and has all its dimensions.
    if (!is_ascending || static_cast<int>(value.dims.size()) != operand_rank) {
      value = {t.Full(op.operands[0]), {}, t.type(op.operands[0]).dimensions};
    }
    Dims order(mapping.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return mapping[a] < mapping[b]; });
    Expr compact = t.Transposed(value.expr, order);
    Dims dims;
    for (int64_t i : order) dims.push_back(value.dims[i]);
    // NumPy adds the missing dimensions in front; those behind the first one are put in here.
    const int64_t first = mapping[order[0]];
    Dims ones;
    for (int64_t d = first; d < type.rank(); ++d) {
      if (std::find(mapping.begin(), mapping.end(), d) == mapping.end()) ones.push_back(d - first);
    }
    value.expr = t.InsertOnes(compact, dims, ones);
    for (int64_t one : ones) dims.insert(dims.begin() + one, 1);
    value.dims = std::move(dims);
  }
  t.SetBroadcast(op.results[0], value.expr, value.dims, shape());
}

void StaticBroadcast(Translator& t, const Operation& op) {
  const Type& type = t.type(op.results[0]);
  BroadcastInDim(t, op, [&] {
    if (!type.IsStatic()) t.Fail("its type is not static");
    return t.Ints(type.dimensions);
  });
}

void DynamicBroadcast(Translator& t, const Operation& op) {
  const Type& type = t.type(op.results[0]);
  BroadcastInDim(
      t, op, [&] { return type.IsStatic() ? t.Ints(type.dimensions) : t.Full(op.operands[1]); });
}

void ReshapeStatic(Translator& t, const Operation& op) {
  const Type& type = t.type(op.results[0]);
  const Value value = t.Get(op.operands[0]);
  if (value.is_broadcast() && value.dims.empty() && type.IsStatic()) {
    return t.SetBroadcast(op.results[0], value.expr, {}, t.Ints(type.dimensions));
  }
  t.Set(op.results[0], t.ReshapeTo(t.Full(op.operands[0]), type.dimensions, [&] {
    t.Fail("its type is not static");
    return Expr();
  }));
}

void DynamicReshape(Translator& t, const Operation& op) {
  const Type& type = t.type(op.results[0]);
  const Value value = t.Get(op.operands[0]);
  if (value.is_broadcast() && value.dims.empty()) {
    return t.SetBroadcast(op.results[0], value.expr, {}, t.Full(op.operands[1]));
  }
  t.Set(op.results[0], t.ReshapeTo(t.Full(op.operands[0]), type.dimensions,
                                   [&] { return t.Full(op.operands[1]); }));
}

void GetDimensionSize(Translator& t, const Operation& op) {
  const Type& type = t.type(op.operands[0]);
  const int64_t dimension = t.IntAttr(op, "dimension");
  if (dimension < 0 || dimension >= type.rank()) return t.Fail("there is no such dimension");
  const int64_t size = type.dimensions[dimension];
  if (size != kDynamic) {
    return t.Set(op.results[0], t.build().Int(static_cast<int32_t>(size)));
  }
  const Expr shape = t.ShapeOfValue(op.operands[0]);
  if (shape.empty()) return;
  t.Set(op.results[0], CastTo(ElementOf(shape, dimension), DType::kInt32));
}

void Transpose(Translator& t, const Operation& op) {
  t.Set(op.results[0], t.Transposed(t.Full(op.operands[0]), t.IntsAttr(op, "permutation")));
}

void Reverse(Translator& t, const Operation& op) {
  t.Set(op.results[0],
        Call("ReverseV2", {t.Full(op.operands[0]), t.Ints(t.IntsAttr(op, "dimensions"))}));
}

void Slice(Translator& t, const Operation& op) {
  t.Set(op.results[0],
        Call("StridedSlice",
             {t.Full(op.operands[0]), t.Ints(t.IntsAttr(op, "start_indices")),
              t.Ints(t.IntsAttr(op, "limit_indices")), t.Ints(t.IntsAttr(op, "strides"))}));
}

void RealDynamicSlice(Translator& t, const Operation& op) {
  if (op.operands.size() != 4) return t.Fail("it has another number of operands");
  t.Set(op.results[0], Call("StridedSlice", {t.Full(op.operands[0]), t.Full(op.operands[1]),
                                             t.Full(op.operands[2]), t.Full(op.operands[3])}));
}

void Concatenate(Translator& t, const Operation& op) {
  std::vector<Expr> parts;
  for (ValueId id : op.operands) parts.push_back(t.Full(id));
  if (parts.size() == 1) return t.Set(op.results[0], parts[0]);
  t.Set(op.results[0], Concat(parts, static_cast<int>(t.IntAttr(op, "dimension"))));
}

bool AllAtLeast(const Dims& values, int64_t minimum) {
  return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v >= minimum; });
}

void Pad(Translator& t, const Operation& op) {
  if (op.operands.size() != 2) return t.Fail("it has another number of operands");
  const Dims low = t.IntsAttr(op, "edge_padding_low"), high = t.IntsAttr(op, "edge_padding_high");
  const Dims interior = t.IntsAttr(op, "interior_padding");
  const Expr x = t.Full(op.operands[0]), value = t.Full(op.operands[1]);
  if (low.size() != high.size() || !AllAtLeast(low, 0) || !AllAtLeast(high, 0) ||
      std::any_of(interior.begin(), interior.end(), [](int64_t v) { return v != 0; })) {
    return t.Set(op.results[0],
                 Call("XlaPad", {x, value, t.Ints(low), t.Ints(high), t.Ints(interior)}));
  }
  if (!std::any_of(low.begin(), low.end(), [](int64_t v) { return v != 0; }) &&
      !std::any_of(high.begin(), high.end(), [](int64_t v) { return v != 0; })) {
    return t.Set(op.results[0], x);
  }
  Tensor paddings = Tensor::Allocate(DType::kInt64, {static_cast<int64_t>(low.size()), 2}).value();
  for (size_t i = 0; i < low.size(); ++i) {
    paddings.flat<int64_t>()[2 * i] = low[i];
    paddings.flat<int64_t>()[2 * i + 1] = high[i];
  }
  t.Set(op.results[0], Call("PadV2", {x, t.build().Constant(std::move(paddings)), value}));
}

void DynamicPad(Translator& t, const Operation& op) {
  if (op.operands.size() != 5) return t.Fail("it has another number of operands");
  std::vector<Expr> inputs;
  for (ValueId id : op.operands) inputs.push_back(t.Full(id));
  t.Set(op.results[0], Call("XlaPad", inputs));
}

void BitcastConvert(Translator& t, const Operation& op) {
  const DType dtype = t.type(op.results[0]).dtype;
  const Expr x = t.Full(op.operands[0]);
  t.Set(op.results[0], x.dtype() == dtype ? x : Call("Bitcast", {x}, {{"type", dtype}}));
}

constexpr NamedHandler kHandlers[] = {
    {"bitcast_convert", BitcastConvert},
    {"broadcast_in_dim", StaticBroadcast},
    {"concatenate", Concatenate},
    {"constant", Constant},
    {"dynamic_broadcast_in_dim", DynamicBroadcast},
    {"dynamic_iota", DynamicIota},
    {"dynamic_pad", DynamicPad},
    {"dynamic_reshape", DynamicReshape},
    {"get_dimension_size", GetDimensionSize},
    {"iota", Iota},
    {"pad", Pad},
    {"real_dynamic_slice", RealDynamicSlice},
    {"reshape", ReshapeStatic},
    {"reverse", Reverse},
    {"slice", Slice},
    {"transpose", Transpose},
};

}  // namespace

absl::Span<const NamedHandler> ShapeHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
