#include "tests/random_cases/random_call.h"

#include <algorithm>
#include <limits>

#include "runtime/base/status.h"
#include "runtime/framework/shape_inference.h"
#include "tests/random_cases/argument_roles.h"
#include "tests/random_cases/random_attrs.h"
#include "tests/random_cases/random_tensor.h"

namespace tessera {
namespace {

constexpr int64_t kMaxElements = 4096;
// Larger outputs are not compared.
constexpr int64_t kMaxOutputBytes = int64_t{1} << 26;

// Maps the sizes of a recorded call to others, equal ones to equal ones.
class SizeChanges {
 public:
  enum class To { kSame, kOthers, kExtremes };
  SizeChanges(Random& random, To to) : random_(random), to_(to) {}

  int64_t Of(int64_t size) {
    if (to_ == To::kSame) return size;
    auto [it, is_new] = sizes_.try_emplace(size, size);
    if (is_new && size > 1 && random_.Chance(0.7)) {
      it->second = to_ == To::kOthers ? RandomDim(random_) : ExtremeDim(random_);
    }
    return it->second;
  }
  // Returns the new size of a dimension of this size, if it has got one.
  std::optional<int64_t> Known(int64_t size) const {
    const auto it = sizes_.find(size);
    if (it == sizes_.end()) return std::nullopt;
    return it->second;
  }
  Shape Of(const Shape& shape) {
    Shape changed;
    for (int64_t dim : shape.dims()) changed.AddDim(Of(dim));
    const bool fits = changed.num_elements() >= 0 && changed.num_elements() <= kMaxElements;
    return fits ? changed : shape;
  }

 private:
  Random& random_;
  const To to_;
  std::map<int64_t, int64_t> sizes_;
};

// The range of the numbers in a recorded input.
ElementChoice ChoiceLike(const Tensor& recorded) {
  ElementChoice choice;
  if (recorded.num_elements() == 0 || recorded.dtype() == DType::kString) return choice;
  choice.low = std::numeric_limits<double>::infinity();
  choice.high = -choice.low;
  for (int64_t i = 0; i < recorded.num_elements(); ++i) {
    const double value = ElementAsDouble(recorded, i);
    if (!std::isfinite(value)) continue;
    choice.low = std::min(choice.low, value);
    choice.high = std::max(choice.high, value);
  }
  if (!(std::abs(choice.low) < 1e15 && std::abs(choice.high) < 1e15)) return ElementChoice();
  return choice;
}

// A variation of a recorded input.
Tensor Varied(Random& random, const Tensor& recorded, DType dtype, SizeChanges& sizes) {
  const Shape shape = sizes.Of(recorded.shape());
  const bool is_same = shape == recorded.shape();
  // Integers of low rank are often sizes themselves.
  if (IsInteger(recorded.dtype()) && recorded.rank() <= 1 && is_same && random.Chance(0.7)) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < recorded.num_elements(); ++i) {
      const auto value =
          static_cast<int64_t>(std::clamp(ElementAsDouble(recorded, i), -9e18, 9e18));
      values.push_back(sizes.Known(value).value_or(value));
    }
    return ConvertedTensor(random, Tensor::Of<int64_t>(shape, values), dtype);
  }
  if (is_same && random.Chance(0.6)) return ConvertedTensor(random, recorded, dtype);
  if (recorded.dtype() == DType::kString && recorded.num_elements() > 0 && random.Chance(0.7)) {
    Tensor strings = Tensor::Zeros(DType::kString, shape).value();
    for (std::string& s : strings.flat<std::string>()) {
      s = recorded.flat<std::string>()[random.Below(recorded.num_elements())];
    }
    return ConvertedTensor(random, strings, dtype);
  }
  ElementChoice choice = ChoiceLike(recorded);
  choice.bounded = choice.low < choice.high && random.Chance(0.4);
  return RandomTensor(random, dtype, shape, choice);
}

const ArgDef* ArgOf(const OpDef& op, const AttrMap& attrs, int index) {
  for (const ArgDef& arg : op.inputs) {
    const absl::StatusOr<ArgRange> range = InputRange(op, attrs, arg.name);
    if (range.ok() && range->begin <= index && index < range->end) return &arg;
  }
  return nullptr;
}

// Seeds of zero ask for a seed from outside.
void FixSeed(Random& random, const OpDef& op, AttrMap* attrs) {
  const AttrDef* const seed = op.FindAttr("seed");
  if (seed != nullptr && seed->type == "int") (*attrs)["seed"] = random.Between(1, 1000);
}

// Returns the shapes of the outputs, as far as the shape function of the op tells them. Errors: its
// own, and those of types that do not fit.
absl::StatusOr<std::vector<PartialShape>> OutputShapes(const Call& call) {
  std::vector<PartialShape> shapes;
  std::vector<const Tensor*> values;
  for (const Tensor& input : call.inputs) {
    shapes.push_back(input.has_value() ? PartialShape(input.shape()) : PartialShape());
    values.push_back(input.has_value() ? &input : nullptr);
  }
  ASSIGN_OR_RETURN(const std::vector<DType> outputs, OutputTypes(*call.op, call.attrs));
  ShapeContext context(*call.op, call.attrs, std::move(shapes), std::move(values),
                       static_cast<int>(outputs.size()));
  RETURN_IF_ERROR(call.op->shape_fn(context));
  return context.outputs();
}

bool ShapesAgree(const Call& call) {
  return call.op->shape_fn == nullptr || OutputShapes(call).ok();
}

// Returns whether an output is known to be larger than what is compared. What no tensor can hold is
// not: it is an error.
bool IsTooLarge(const Call& call) {
  if (call.op->shape_fn == nullptr) return false;
  const absl::StatusOr<std::vector<PartialShape>> shapes = OutputShapes(call);
  const absl::StatusOr<std::vector<DType>> types = OutputTypes(*call.op, call.attrs);
  if (!shapes.ok() || !types.ok()) return false;
  for (size_t i = 0; i < shapes->size(); ++i) {
    if (!(*shapes)[i].IsFullyDefined()) continue;
    const absl::StatusOr<Shape> shape = (*shapes)[i].AsShape();
    const auto size = static_cast<int64_t>(std::max<size_t>(DTypeSize((*types)[i]), 1));
    if (shape.ok() && shape->num_elements() > kMaxOutputBytes / size) return true;
  }
  return false;
}

}  // namespace

bool CanFeed(DType dtype) {
  return !IsRef(dtype) && dtype != DType::kResource && dtype != DType::kVariant;
}

std::optional<Call> CallMaker::Make(Random& random, const OpDef& op,
                                    const std::optional<GivenInput>& given) const {
  const std::vector<RecordedCall>& recorded = recorded_.Of(op.name);
  if (!given.has_value() && !recorded.empty() && random.Chance(0.85)) {
    std::optional<Call> call = Vary(random, op, random.Pick(recorded));
    if (call.has_value() && (options_.hostile || !IsTooLarge(*call))) return call;
  }
  std::optional<Call> call = Invent(random, op, given);
  if (call.has_value() && !options_.hostile && IsTooLarge(*call)) return std::nullopt;
  return call;
}

void CallMaker::DisturbAttr(Random& random, const AttrDef& attr, AttrMap* attrs) const {
  if (attr.type == "type" || attr.type == "list(type)") return;
  static const OpDef no_op;
  std::optional<AttrValue> value =
      RandomAttr(random, no_op, attr, {options_.hostile, options_.functions});
  if (value.has_value()) (*attrs)[attr.name] = *std::move(value);
}

std::optional<Call> CallMaker::Vary(Random& random, const OpDef& op,
                                    const RecordedCall& recorded) const {
  Call call{&op, recorded.attrs, {}, {}};
  if (random.Chance(0.4)) {
    for (const AttrDef& attr : op.attrs) {
      if (attr.type == "type") call.attrs.erase(attr.name);
    }
    if (!DrawTypes(random, op, &call.attrs)) call.attrs = recorded.attrs;
  }
  if (!op.attrs.empty() && random.Chance(options_.hostile ? 0.4 : 0.2)) {
    const AttrMap before = call.attrs;
    DisturbAttr(random, random.Pick(op.attrs), &call.attrs);
    const absl::StatusOr<std::vector<DType>> types = InputTypes(op, call.attrs);
    if (!types.ok() || types->size() != recorded.inputs.size()) call.attrs = before;
  }
  if (!options_.hostile) FixSeed(random, op, &call.attrs);
  if (!CompleteAttrs(op, &call.attrs).ok() || !HasKernel(op, call.attrs)) return std::nullopt;
  absl::StatusOr<std::vector<DType>> types = InputTypes(op, call.attrs);
  if (!types.ok() || types->size() != recorded.inputs.size()) return std::nullopt;
  call.input_types = *std::move(types);
  auto to = random.Chance(0.4) ? SizeChanges::To::kOthers : SizeChanges::To::kSame;
  if (options_.hostile && random.Chance(0.07)) to = SizeChanges::To::kExtremes;
  SizeChanges sizes(random, to);
  for (const Tensor& input : recorded.inputs) sizes.Of(input.shape());
  for (size_t i = 0; i < recorded.inputs.size(); ++i) {
    if (!CanFeed(call.input_types[i])) return std::nullopt;
    call.inputs.push_back(Varied(random, recorded.inputs[i], call.input_types[i], sizes));
  }
  if (!call.inputs.empty() && random.Chance(options_.hostile ? 0.5 : 0.07)) {
    const int64_t i = random.Below(static_cast<int64_t>(call.inputs.size()));
    ElementChoice choice = ChoiceLike(recorded.inputs[i]);
    choice.hostile = options_.hostile;
    const Shape shape =
        random.Chance(0.5) ? call.inputs[i].shape() : RelatedShape(random, call.inputs[i].shape());
    call.inputs[i] = RandomTensor(random, call.input_types[i], shape, choice);
  }
  return call;
}

std::optional<Call> CallMaker::Invent(Random& random, const OpDef& op,
                                      const std::optional<GivenInput>& given) const {
  Call call{&op, {}, {}, {}};
  for (const AttrDef& attr : op.attrs) {
    const bool is_type = attr.type == "type" || attr.type == "list(type)";
    if (attr.default_value.has_value() && random.Chance(is_type            ? 0.3
                                                        : options_.hostile ? 0.6
                                                                           : 0.8)) {
      call.attrs[attr.name] = *attr.default_value;
    } else if (!is_type) {
      std::optional<AttrValue> value =
          RandomAttr(random, op, attr, {options_.hostile, options_.functions});
      if (value.has_value()) call.attrs[attr.name] = *std::move(value);
    }
  }
  if (given.has_value()) {
    const std::string& type_attr = op.inputs[0].type_attr;
    if (!type_attr.empty()) call.attrs[type_attr] = given->dtype;
  }
  if (!options_.hostile) FixSeed(random, op, &call.attrs);
  if (!DrawTypes(random, op, &call.attrs) || !CompleteAttrs(op, &call.attrs).ok()) {
    return std::nullopt;
  }
  absl::StatusOr<std::vector<DType>> types = InputTypes(op, call.attrs);
  if (!types.ok()) return std::nullopt;
  call.input_types = *std::move(types);
  if (given.has_value() && (call.input_types.empty() || call.input_types[0] != given->dtype)) {
    return std::nullopt;
  }
  const int attempts = random.Chance(0.05) ? 1 : 30;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const bool is_extreme = options_.hostile && random.Chance(0.1);
    const Shape base = given.has_value() ? given->shape
                       : is_extreme      ? ExtremeShape(random, 4)
                                         : RandomShape(random, 4);
    call.inputs.clear();
    for (size_t i = 0; i < call.input_types.size(); ++i) {
      const ArgDef* arg = ArgOf(op, call.attrs, static_cast<int>(i));
      const DType dtype = call.input_types[i];
      if (arg == nullptr || !CanFeed(dtype)) {
        call.inputs.emplace_back();
      } else if (i == 0 && given.has_value()) {
        call.inputs.push_back(RandomTensor(random, dtype, base, {}));
      } else {
        call.inputs.push_back(RandomInput(random, *arg, dtype, base, options_.hostile));
      }
    }
    if (ShapesAgree(call)) return call;
  }
  // Most calls of several shall succeed: an error hides all that comes after it.
  if (given.has_value() && random.Chance(0.9)) return std::nullopt;
  return call;
}

}  // namespace tessera
