// Ops that read or write where indices say.
#include <algorithm>

#include "runtime/stablehlo/element_functions.h"
#include "xla/xla_data.pb.h"

namespace tessera::stablehlo {
namespace {

// The scalar starts of a dynamic slice as a vector.
Expr Starts(Translator& t, absl::Span<const ValueId> scalars) {
  std::vector<Expr> starts;
  for (ValueId id : scalars) {
    const Expr start = t.Full(id);
    const bool is_index = start.dtype() == DType::kInt32 || start.dtype() == DType::kInt64;
    starts.push_back(is_index ? start : CastTo(start, DType::kInt64));
  }
  if (starts.empty()) return t.build().Ints({});
  return Call("Pack", starts);
}

void DynamicSlice(Translator& t, const Operation& op) {
  if (op.operands.empty()) return t.Fail("it has another number of operands");
  const Expr starts = Starts(t, absl::MakeConstSpan(op.operands).subspan(1));
  const Expr sizes = t.Ints(t.IntsAttr(op, "slice_sizes"));
  t.Set(op.results[0],
        Call("XlaDynamicSlice", {t.Full(op.operands[0]), starts, CastTo(sizes, starts.dtype())}));
}

void DynamicUpdateSlice(Translator& t, const Operation& op) {
  if (op.operands.size() < 2) return t.Fail("it has another number of operands");
  t.Set(op.results[0],
        Call("XlaDynamicUpdateSlice", {t.Full(op.operands[0]), t.Full(op.operands[1]),
                                       Starts(t, absl::MakeConstSpan(op.operands).subspan(2))}));
}

void AddAll(const Dims& from, google::protobuf::RepeatedField<int64_t>* to) {
  to->Add(from.begin(), from.end());
}

// An attribute that older versions of the op do not have.
Dims OptionalInts(Translator& t, const Operation& op, absl::string_view name) {
  return op.FindAttr<Tensor>(name) == nullptr ? Dims() : t.IntsAttr(op, name);
}

xla::GatherDimensionNumbers GatherNumbers(Translator& t, const Operation& op) {
  xla::GatherDimensionNumbers numbers;
  AddAll(t.IntsAttr(op, "offset_dims"), numbers.mutable_offset_dims());
  AddAll(t.IntsAttr(op, "collapsed_slice_dims"), numbers.mutable_collapsed_slice_dims());
  AddAll(t.IntsAttr(op, "start_index_map"), numbers.mutable_start_index_map());
  AddAll(OptionalInts(t, op, "operand_batching_dims"), numbers.mutable_operand_batching_dims());
  AddAll(OptionalInts(t, op, "start_indices_batching_dims"),
         numbers.mutable_start_indices_batching_dims());
  numbers.set_index_vector_dim(t.IntAttr(op, "index_vector_dim"));
  return numbers;
}

// Whether a gather takes whole slices along one dimension, which GatherV2 does: returns the
// dimension, or -1.
int64_t TakenDimension(const xla::GatherDimensionNumbers& numbers, const Dims& operand,
                       const Dims& indices, const Dims& sizes) {
  if (numbers.start_index_map_size() != 1 || numbers.collapsed_slice_dims_size() != 1 ||
      numbers.operand_batching_dims_size() != 0 || sizes.size() != operand.size()) {
    return -1;
  }
  const int64_t taken = numbers.start_index_map(0);
  if (taken != numbers.collapsed_slice_dims(0) || taken < 0 ||
      taken >= static_cast<int64_t>(sizes.size()) || operand[taken] <= 0) {
    return -1;
  }
  const int64_t rank = static_cast<int64_t>(indices.size());
  const int64_t vector_dim = numbers.index_vector_dim();
  const bool is_last = vector_dim >= 0 && vector_dim == rank - 1 && indices[vector_dim] == 1;
  if (!is_last && vector_dim != rank) return -1;
  const int64_t batch_rank = is_last ? rank - 1 : rank;
  int64_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (d == taken) continue;
    if (sizes[d] != operand[d] || next >= numbers.offset_dims_size()) return -1;
    if (numbers.offset_dims(next++) != (d < taken ? d : d - 1 + batch_rank)) return -1;
  }
  return next == numbers.offset_dims_size() ? taken : -1;
}

// The second operand of a gather or scatter in a dtype that the ops here take.
Expr IndicesOf(Translator& t, const Operation& op) {
  const Expr indices = t.Full(op.operands[1]);
  if (!t.status().ok()) return indices;
  const bool is_index = indices.dtype() == DType::kInt32 || indices.dtype() == DType::kInt64;
  return is_index ? indices : CastTo(indices, DType::kInt64);
}

void Gather(Translator& t, const Operation& op) {
  if (op.operands.size() != 2) return t.Fail("it has another number of operands");
  const xla::GatherDimensionNumbers numbers = GatherNumbers(t, op);
  const Dims sizes = t.IntsAttr(op, "slice_sizes");
  const Dims& operand_dims = t.type(op.operands[0]).dimensions;
  const Dims& index_dims = t.type(op.operands[1]).dimensions;
  const Expr operand = t.Full(op.operands[0]);
  Expr indices = IndicesOf(t, op);
  if (!t.status().ok()) return;
  const int64_t taken = TakenDimension(numbers, operand_dims, index_dims, sizes);
  if (taken < 0) {
    return t.Set(
        op.results[0],
        Call("XlaGather", {operand, indices, CastTo(t.Ints(sizes), indices.dtype())},
             {{"dimension_numbers", numbers.SerializeAsString()}, {"indices_are_sorted", false}}));
  }
  if (numbers.index_vector_dim() < static_cast<int64_t>(index_dims.size())) {
    indices = Call("Squeeze", {indices},
                   {{"squeeze_dims", std::vector<int64_t>{numbers.index_vector_dim()}}});
  }
  // Indices that are out of bounds take the nearest element.
  const Expr last = CastTo(t.Ints({operand_dims[taken] - 1}), indices.dtype());
  const Expr zero = CastTo(t.build().Int(0), indices.dtype());
  indices = Call("Minimum", {Call("Maximum", {indices, zero}), Reshape(last, t.Ints({}))});
  t.Set(op.results[0],
        Call("GatherV2", {operand, indices, t.build().Int(static_cast<int32_t>(taken))}));
}

void DynamicGather(Translator& t, const Operation& op) {
  if (op.operands.size() != 3) return t.Fail("it has another number of operands");
  const xla::GatherDimensionNumbers numbers = GatherNumbers(t, op);
  const Expr indices = IndicesOf(t, op);
  t.Set(op.results[0],
        Call("XlaGather",
             {t.Full(op.operands[0]), indices, CastTo(t.Full(op.operands[2]), indices.dtype())},
             {{"dimension_numbers", numbers.SerializeAsString()}, {"indices_are_sorted", false}}));
}

void Scatter(Translator& t, const Operation& op) {
  if (op.operands.size() != 3 || op.regions.size() != 1) {
    return t.Fail("only one operand is supported");
  }
  xla::ScatterDimensionNumbers numbers;
  AddAll(t.IntsAttr(op, "update_window_dims"), numbers.mutable_update_window_dims());
  AddAll(t.IntsAttr(op, "inserted_window_dims"), numbers.mutable_inserted_window_dims());
  AddAll(t.IntsAttr(op, "scatter_dims_to_operand_dims"),
         numbers.mutable_scatter_dims_to_operand_dims());
  AddAll(OptionalInts(t, op, "input_batching_dims"), numbers.mutable_input_batching_dims());
  AddAll(OptionalInts(t, op, "scatter_indices_batching_dims"),
         numbers.mutable_scatter_indices_batching_dims());
  numbers.set_index_vector_dim(t.IntAttr(op, "index_vector_dim"));
  const Expr indices = IndicesOf(t, op);
  Node* const node = AddElementNode(
      t, "XlaScatter", {t.Full(op.operands[0]), indices, t.Full(op.operands[2])},
      {{"update_computation", op.regions[0]}},
      {{"dimension_numbers", numbers.SerializeAsString()}, {"indices_are_sorted", false}});
  t.Set(op.results[0], t.build().Output(node));
}

constexpr NamedHandler kHandlers[] = {
    {"dynamic_gather", DynamicGather},
    {"dynamic_slice", DynamicSlice},
    {"dynamic_update_slice", DynamicUpdateSlice},
    {"gather", Gather},
    {"scatter", Scatter},
};

}  // namespace

absl::Span<const NamedHandler> IndexingHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo
