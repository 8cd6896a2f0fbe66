#include "runtime/optimize/scan_loop.h"

#include <algorithm>
#include <vector>

#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/index_vector.h"

namespace tessera {
namespace {

using Items = std::vector<IndexItem>;

bool IsNumber(const IndexItem& item, int64_t number) {
  return item.is_number() && item.number == number;
}

// The number of steps, if it is known.
std::optional<int64_t> StepsOf(const SequenceLoop& loop) {
  if (loop.limits.size() != 1 || loop.limits[0].value.node != nullptr) return std::nullopt;
  return loop.limits[0].constant.flat<int32_t>()[0];
}

// The elements of a vector of the body, in which counters are less than the number of steps.
std::optional<Items> BodyItems(const SequenceLoop& loop, const Endpoint& value) {
  return IndexItems(value, [&](const Endpoint& base) -> std::optional<int64_t> {
    const int arg = ArgumentOf(base);
    if (arg < 0 || !loop.body.is_counter[arg]) return std::nullopt;
    return StepsOf(loop);
  });
}

std::optional<Items> GraphItems(const Endpoint& value) {
  return IndexItems(value, [](const Endpoint&) { return std::optional<int64_t>(); });
}

// Whether three indices are the counter, 0 and 0.
bool IsStepStart(const SequenceLoop& loop, const std::optional<Items>& items) {
  if (!items.has_value() || items->size() != 3) return false;
  const IndexItem &step = (*items)[0], &row = (*items)[1], &column = (*items)[2];
  if (step.is_number() || step.number != 0) return false;
  const int arg = ArgumentOf(step.base);
  return arg >= 0 && loop.body.is_counter[arg] && IsNumber(row, 0) && IsNumber(column, 0);
}

// True if `item` is an invariant scalar of int32, or a number.
bool IsInvariantItem(const SequenceLoop& loop, const IndexItem& item) {
  return item.is_number() ||
         (item.number == 0 && item.base.node->output_type(item.base.index) == DType::kInt32 &&
          IsInvariant(loop, item.base));
}

// Whether a StridedSlice has no masks, and all its strides are 1.
bool IsPlainSlice(const SequenceLoop& loop, const Node& slice) {
  const auto strides = BodyItems(loop, slice.input(3));
  if (!strides.has_value() ||
      !std::all_of(strides->begin(), strides->end(),
                   [](const IndexItem& stride) { return IsNumber(stride, 1); })) {
    return false;
  }
  for (const char* name :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    const auto mask = slice.attr<int64_t>(name);
    if (!mask.ok() || *mask != 0) return false;
  }
  return true;
}

// Reads the matrix [rows, columns] of one step out of a slice of `node`, which reshapes it.
bool ReadElement(Node* node, SequenceLoop* loop) {
  const Node& slice = *SkipIdentities(node->input(0)).node;
  if (!slice.IsOp("StridedSlice") || slice.output_type(0) != DType::kFloat) return false;
  const int tensor = ArgumentOf(slice.input(0));
  if (tensor < 0 || !loop->body.is_invariant[tensor] || !IsPlainSlice(*loop, slice)) return false;
  const auto begin = BodyItems(*loop, slice.input(1)), end = BodyItems(*loop, slice.input(2));
  if (!IsStepStart(*loop, begin) || !end.has_value() || end->size() != 3) return false;
  const IndexItem &step = (*end)[0], &rows = (*end)[1], &columns = (*end)[2];
  if (!(step == IndexItem{.base = (*begin)[0].base, .number = 1}) || !columns.is_number() ||
      !IsInvariantItem(*loop, rows)) {
    return false;
  }
  const auto shape = ConstantInts(node->input(1));
  const int64_t known_rows = rows.is_number() ? rows.number : -1;
  if (!shape.has_value() || shape->size() != 2 || (*shape)[1] != columns.number ||
      ((*shape)[0] != -1 && (*shape)[0] != known_rows)) {
    return false;
  }
  loop->sequence = loop->node->input(tensor);
  loop->element = {node, 0};
  loop->window = SequenceLoop::Window{.rows = rows, .columns = columns.number};
  return true;
}

}  // namespace

bool ReadScannedInput(SequenceLoop* loop) {
  if (!StepsOf(*loop).has_value()) return false;
  for (Node* node : loop->body.function.graph->nodes()) {
    if (!node->IsOp("Reshape")) continue;
    const Endpoint before = loop->element;
    if (ReadElement(node, loop) && before.node != nullptr) return false;
  }
  return loop->element.node != nullptr;
}

bool ReadScannedOutput(int i, SequenceLoop* loop) {
  const Node& update = *SkipIdentities(loop->body.function.results[i]->input(0)).node;
  if (!update.IsOp("XlaDynamicUpdateSlice") || ArgumentOf(update.input(0)) != i ||
      loop->output >= 0 || update.output_type(0) != DType::kFloat ||
      !IsStepStart(*loop, BodyItems(*loop, update.input(2)))) {
    return false;
  }
  // The matrix gets a dimension in front.
  const Node& written = *SkipIdentities(update.input(1)).node;
  if (!written.IsOp("BroadcastTo")) return false;
  const auto box = BodyItems(*loop, written.input(1));
  if (!box.has_value() || box->size() != 3 || !IsNumber((*box)[0], 1) ||
      !((*box)[1] == loop->window->rows) || !(*box)[2].is_number()) {
    return false;
  }
  // The tensor is as large as what is written.
  const Node& initial = *SkipIdentities(loop->node->input(i)).node;
  if (!initial.IsOp("BroadcastTo")) return false;
  const auto shape = GraphItems(initial.input(1));
  if (!shape.has_value() || shape->size() != 3 || !IsNumber((*shape)[0], *StepsOf(*loop)) ||
      !((*shape)[2] == (*box)[2])) {
    return false;
  }
  const IndexItem& rows = (*box)[1];
  const bool same_rows =
      rows.is_number()
          ? (*shape)[1] == rows
          : (*shape)[1].number == 0 && ArgumentOf(rows.base) >= 0 &&
                (*shape)[1].base == SkipIdentities(loop->node->input(ArgumentOf(rows.base)));
  if (!same_rows) return false;
  loop->output = i;
  loop->written = SkipIdentities(written.input(0));
  loop->window->written_columns = (*box)[2].number;
  return true;
}

std::optional<ColumnRange> SlicedColumnsOf(const SequenceLoop& loop, const Node& slice) {
  if (!loop.window.has_value() || !IsPlainSlice(loop, slice)) return std::nullopt;
  const auto begin = BodyItems(loop, slice.input(1)), end = BodyItems(loop, slice.input(2));
  if (!begin.has_value() || !end.has_value() || begin->size() != 2 || end->size() != 2 ||
      !IsNumber((*begin)[0], 0) || !((*end)[0] == loop.window->rows) || !(*begin)[1].is_number() ||
      !(*end)[1].is_number()) {
    return std::nullopt;
  }
  return ColumnRange{.begin = (*begin)[1].number, .end = (*end)[1].number};
}

}  // namespace tessera
