#include "runtime/optimize/recurrent_cell.h"

#include <algorithm>
#include <utility>

#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/factors.h"
#include "runtime/optimize/scan_loop.h"

namespace tessera {
namespace {

// The operation that computes `value`, if it is one of these; else null.
const Node* AsOp(const Endpoint& value, std::initializer_list<absl::string_view> ops) {
  const Node* node = SkipIdentities(value).node;
  return std::any_of(ops.begin(), ops.end(), [&](absl::string_view op) { return node->IsOp(op); })
             ? node
             : nullptr;
}
const Node* AsSum(const Endpoint& value) { return AsOp(value, {"AddV2", "Add"}); }
const Node* AsProduct(const Endpoint& value) { return AsOp(value, {"Mul"}); }

// Calls match(a, b) for the operands of `node` in either order until it returns true.
template <typename Match>
bool InEitherOrder(const Node* node, const Match& match) {
  if (node == nullptr) return false;
  const Endpoint a = SkipIdentities(node->input(0)), b = SkipIdentities(node->input(1));
  return match(a, b) || match(b, a);
}

// A group of columns of a matrix.
struct Columns {
  Endpoint matrix;
  int64_t position = -1;  // in units of the group's width
  int64_t width = -1;     // -1: as many as the matrix has, over the number of groups
};

// Elements of a constant vector of int32; empty if `value` is none.
absl::Span<const int32_t> Ints(const Endpoint& value) {
  const Tensor* constant = ConstantValue(SkipIdentities(value));
  if (constant == nullptr || constant->dtype() != DType::kInt32) return {};
  return constant->flat<int32_t>();
}

// Columns [k * width, (k + 1) * width) as a StridedSlice takes them.
std::optional<Columns> SlicedColumns(const Node& slice, int groups) {
  const auto begin = Ints(slice.input(1)), end = Ints(slice.input(2)),
             strides = Ints(slice.input(3));
  const auto mask = [&](const char* name) {
    const auto value = slice.attr<int64_t>(name);
    return value.ok() ? *value : -1;
  };
  const int64_t from_start = mask("begin_mask"), to_end = mask("end_mask");
  if (begin.size() != 2 || end.size() != 2 || strides.size() != 2 || strides[0] != 1 ||
      strides[1] != 1 || from_start < 0 || to_end < 0 || (from_start & 1) == 0 ||
      (to_end & 1) == 0 || mask("ellipsis_mask") != 0 || mask("new_axis_mask") != 0 ||
      mask("shrink_axis_mask") != 0) {
    return std::nullopt;
  }
  const int64_t first = (from_start & 2) != 0 ? 0 : begin[1];
  Columns columns{.matrix = SkipIdentities(slice.input(0))};
  if ((to_end & 2) != 0) {
    // The last group: its width is what its beginning implies.
    columns.position = groups - 1;
    if (first <= 0 || first % (groups - 1) != 0) return std::nullopt;
    columns.width = first / (groups - 1);
    return columns;
  }
  columns.width = end[1] - first;
  if (first < 0 || columns.width <= 0 || first % columns.width != 0) return std::nullopt;
  columns.position = first / columns.width;
  if (columns.position >= groups) return std::nullopt;
  return columns;
}

// The same of a slice whose rows only the run knows.
std::optional<Columns> ScannedColumns(const SequenceLoop& loop, const Node& slice, int groups) {
  const std::optional<ColumnRange> range = SlicedColumnsOf(loop, slice);
  if (!range.has_value()) return std::nullopt;
  const int64_t width = range->end - range->begin;
  if (range->begin < 0 || width <= 0 || range->begin % width != 0 ||
      range->begin / width >= groups) {
    return std::nullopt;
  }
  return Columns{
      .matrix = SkipIdentities(slice.input(0)), .position = range->begin / width, .width = width};
}

// One of `groups` groups of columns of equal width.
std::optional<Columns> AsColumns(const SequenceLoop& loop, const Endpoint& value, int groups) {
  const Endpoint from = SkipIdentities(value);
  const Node& node = *from.node;
  if (node.IsOp("StridedSlice")) {
    return loop.window.has_value() ? ScannedColumns(loop, node, groups)
                                   : SlicedColumns(node, groups);
  }
  if (!node.IsOp("Split")) return std::nullopt;
  const auto axis = Ints(node.input(0));
  if (axis.size() != 1 || (axis[0] != 1 && axis[0] != -1) || node.num_outputs() != groups) {
    return std::nullopt;
  }
  return Columns{.matrix = SkipIdentities(node.input(1)), .position = from.index};
}

// The groups of one matrix, each of them once. `units` gets the width that slices have.
bool CollectColumns(const SequenceLoop& loop, absl::Span<const Endpoint> values, Endpoint* matrix,
                    std::vector<int64_t>* positions, int64_t* units) {
  const int groups = static_cast<int>(values.size());
  std::vector<bool> seen(groups);
  for (const Endpoint& value : values) {
    const auto columns = AsColumns(loop, value, groups);
    if (!columns.has_value() || seen[columns->position]) return false;
    if (matrix->node != nullptr && !(*matrix == columns->matrix)) return false;
    if (columns->width >= 0 && *units >= 0 && columns->width != *units) return false;
    if (columns->width >= 0) *units = columns->width;
    *matrix = columns->matrix;
    seen[columns->position] = true;
    positions->push_back(columns->position);
  }
  return true;
}

// The terms of a sum of matrices and of vectors that are added to their rows.
void CollectTerms(const Endpoint& sum, int depth, std::vector<Endpoint>* terms) {
  const Node* node = AsOp(sum, {"AddV2", "Add", "BiasAdd"});
  if (node == nullptr || depth > 8) {
    terms->push_back(SkipIdentities(sum));
    return;
  }
  CollectTerms(node->input(0), depth + 1, terms);
  CollectTerms(node->input(1), depth + 1, terms);
}

// The weights of a product of `left` with something invariant.
std::optional<Endpoint> WeightsOf(const SequenceLoop& loop, const Endpoint& product,
                                  const Endpoint& left) {
  const Node* node = AsOp(product, {"MatMul"});
  if (node == nullptr || !(SkipIdentities(node->input(0)) == left)) return std::nullopt;
  for (const char* name : {"transpose_a", "transpose_b"}) {
    const auto transposes = node->attr<bool>(name);
    if (!transposes.ok() || *transposes) return std::nullopt;
  }
  if (!IsInvariant(loop, node->input(1))) return std::nullopt;
  return node->input(1);
}

Endpoint ArgEndpoint(const SequenceLoop& loop, int variable) {
  return {loop.body.function.args[variable], 0};
}

// Takes the sum of the gates apart. Either of `input` and `recurrent` may be null, if the sum has
// no such product.
bool ReadSum(const SequenceLoop& loop, const Endpoint& sum, int h, GateSum* input,
             GateSum* recurrent) {
  std::vector<Endpoint> terms;
  CollectTerms(sum, 0, &terms);
  GateSum* const biased = input != nullptr ? input : recurrent;
  int inputs = 0, products = 0;
  for (const Endpoint& term : terms) {
    if (IsInvariant(loop, term)) {
      biased->biases.push_back(term);
    } else if (term == loop.element) {
      ++inputs;
    } else if (const auto weights = WeightsOf(loop, term, loop.element)) {
      ++inputs;
      if (input != nullptr) input->weights = *weights;
    } else if (const auto weights = WeightsOf(loop, term, ArgEndpoint(loop, h))) {
      ++products;
      if (recurrent != nullptr) recurrent->weights = *weights;
    } else {
      return false;
    }
  }
  return inputs == (input != nullptr) && products == (recurrent != nullptr);
}

Endpoint NewValue(const SequenceLoop& loop, int variable) {
  return SkipIdentities(loop.body.function.results[variable]->input(0));
}

// The operand of a function of one float tensor.
std::optional<Endpoint> OperandOf(const Endpoint& value, absl::string_view op) {
  const Node* node = AsOp(value, {op});
  if (node == nullptr || node->output_type(0) != DType::kFloat) return std::nullopt;
  return SkipIdentities(node->input(0));
}

// The operand of the logistic function, which may be written out as 1 / (1 + exp(-x)).
std::optional<Endpoint> SigmoidOperand(const Endpoint& value) {
  if (const auto operand = OperandOf(value, "Sigmoid")) return operand;
  const auto is_one = [](const Endpoint& x) { return ScalarConstant(x) == 1.0; };
  const Node* const quotient = AsOp(value, {"RealDiv"});
  if (quotient == nullptr || !is_one(SkipIdentities(quotient->input(0)))) return std::nullopt;
  std::optional<Endpoint> operand;
  InEitherOrder(AsSum(quotient->input(1)), [&](const Endpoint& one, const Endpoint& power) {
    if (!is_one(one)) return false;
    if (const auto negative = OperandOf(power, "Exp")) operand = OperandOf(*negative, "Neg");
    return operand.has_value();
  });
  return operand;
}

// Matches sigmoid(x) * y for a given y.
std::optional<Endpoint> GateTimes(const Endpoint& value, const Endpoint& y) {
  std::optional<Endpoint> gate;
  InEitherOrder(AsProduct(value), [&](const Endpoint& a, const Endpoint& b) {
    if (!(b == y) || !SigmoidOperand(a).has_value()) return false;
    gate = a;
    return true;
  });
  return gate;
}

std::optional<LstmCellPattern> LstmWithState(const SequenceLoop& loop, int h, int c) {
  LstmCellPattern cell{.h = h, .c = c, .new_c = NewValue(loop, c), .new_h = NewValue(loop, h)};
  Endpoint input, forget, candidate, output;
  const bool has_state =
      InEitherOrder(AsSum(cell.new_c), [&](const Endpoint& kept, const Endpoint& added) {
        const auto gate = GateTimes(kept, ArgEndpoint(loop, c));
        if (!gate.has_value()) return false;
        forget = *gate;
        return InEitherOrder(AsProduct(added), [&](const Endpoint& a, const Endpoint& b) {
          if (!SigmoidOperand(a).has_value() || !OperandOf(b, "Tanh").has_value()) {
            return false;
          }
          input = a;
          candidate = b;
          return true;
        });
      });
  if (!has_state) return std::nullopt;
  const bool has_output =
      InEitherOrder(AsProduct(cell.new_h), [&](const Endpoint& gate, const Endpoint& squashed) {
        const auto state = OperandOf(squashed, "Tanh");
        if (!SigmoidOperand(gate).has_value() || !state.has_value() || !(*state == cell.new_c)) {
          return false;
        }
        output = gate;
        cell.tanh_c = squashed;
        return true;
      });
  if (!has_output) return std::nullopt;
  cell.activated = {input, forget, candidate, output};
  std::vector<Endpoint> columns;
  for (const Endpoint& gate : cell.activated) {
    const bool is_candidate = gate == candidate;
    columns.push_back(is_candidate ? *OperandOf(gate, "Tanh") : *SigmoidOperand(gate));
  }
  InEitherOrder(AsSum(columns[1]), [&](const Endpoint& sum, const Endpoint& constant) {
    const auto bias = ScalarConstant(constant);
    if (!bias.has_value()) return false;
    columns[1] = sum;
    cell.forget_bias = static_cast<float>(*bias);
    return true;
  });
  Endpoint sums;
  int64_t units = -1;
  GateSum recurrent;
  if (!CollectColumns(loop, columns, &sums, &cell.gates, &units) ||
      !ReadSum(loop, sums, h, &cell.input, &recurrent)) {
    return std::nullopt;
  }
  cell.recurrent = recurrent.weights;
  return cell;
}

}  // namespace

std::optional<LstmCellPattern> AsLstmCell(const SequenceLoop& loop) {
  if (loop.states.size() != 2) return std::nullopt;
  const int a = loop.states[0], b = loop.states[1];
  if (auto cell = LstmWithState(loop, a, b)) return cell;
  return LstmWithState(loop, b, a);
}

std::optional<GruCellPattern> AsGruCell(const SequenceLoop& loop) {
  if (loop.states.size() != 1) return std::nullopt;
  GruCellPattern cell{.h = loop.states[0]};
  cell.new_h = NewValue(loop, cell.h);
  Endpoint update, candidate, reset;
  const bool has_state =
      InEitherOrder(AsSum(cell.new_h), [&](const Endpoint& kept, const Endpoint& added) {
        const auto gate = GateTimes(kept, ArgEndpoint(loop, cell.h));
        if (!gate.has_value()) return false;
        update = *gate;
        return InEitherOrder(AsProduct(added), [&](const Endpoint& a, const Endpoint& b) {
          const Node* rest = AsOp(a, {"Sub"});
          if (rest == nullptr || ScalarConstant(SkipIdentities(rest->input(0))) != 1.0 ||
              !(SkipIdentities(rest->input(1)) == update) || !OperandOf(b, "Tanh").has_value()) {
            return false;
          }
          candidate = *OperandOf(b, "Tanh");
          return true;
        });
      });
  if (!has_state) return std::nullopt;

  // Each gate is the sum of a column of the input's products and one of the output's.
  const Node* const update_sum = AsSum(*SigmoidOperand(update));
  const Node* reset_sum = nullptr;
  Endpoint input_columns[3], recurrent_columns[3];
  const bool has_candidate =
      InEitherOrder(AsSum(candidate), [&](const Endpoint& from_input, const Endpoint& scaled) {
        return InEitherOrder(AsProduct(scaled), [&](const Endpoint& gate, const Endpoint& columns) {
          const auto sum = SigmoidOperand(gate);
          if (!sum.has_value() || !AsColumns(loop, columns, 3).has_value()) return false;
          reset_sum = AsSum(*sum);
          input_columns[2] = from_input;
          recurrent_columns[2] = columns;
          return reset_sum != nullptr;
        });
      });
  if (!has_candidate || update_sum == nullptr) return std::nullopt;
  const auto input_matrix = AsColumns(loop, input_columns[2], 3);
  if (!input_matrix.has_value()) return std::nullopt;
  const Node* const sums[2] = {update_sum, reset_sum};
  for (int i = 0; i < 2; ++i) {
    const bool is_sum =
        InEitherOrder(sums[i], [&](const Endpoint& from_input, const Endpoint& from_output) {
          const auto columns = AsColumns(loop, from_input, 3);
          if (!columns.has_value() || !(columns->matrix == input_matrix->matrix)) return false;
          input_columns[i] = from_input;
          recurrent_columns[i] = from_output;
          return true;
        });
    if (!is_sum) return std::nullopt;
  }
  Endpoint inputs, recurrents;
  std::vector<int64_t> recurrent_gates;
  if (!CollectColumns(loop, input_columns, &inputs, &cell.gates, &cell.units) ||
      !CollectColumns(loop, recurrent_columns, &recurrents, &recurrent_gates, &cell.units) ||
      cell.gates != recurrent_gates || !ReadSum(loop, inputs, cell.h, &cell.input, nullptr) ||
      !ReadSum(loop, recurrents, cell.h, nullptr, &cell.recurrent)) {
    return std::nullopt;
  }
  return cell;
}

}  // namespace tessera
