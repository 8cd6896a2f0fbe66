#include "runtime/training/pipeline/field_plan.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 31;
// Those of the op DecodeRaw.
constexpr DType kRawDTypes[] = {
    DType::kHalf,     DType::kFloat,     DType::kDouble,     DType::kInt32, DType::kUint16,
    DType::kUint8,    DType::kInt16,     DType::kInt8,       DType::kInt64, DType::kBool,
    DType::kBfloat16, DType::kComplex64, DType::kComplex128,
};

absl::StatusOr<FieldDecoding> DecodingOf(const std::string& name) {
  if (name.empty()) return FieldDecoding::kNone;
  if (name == "jpeg") return FieldDecoding::kJpeg;
  if (name == "png") return FieldDecoding::kPng;
  if (name == "image") return FieldDecoding::kImage;
  if (name == "raw") return FieldDecoding::kRaw;
  return absl::InvalidArgumentError(
      absl::StrCat("decode: '", name, "' is none of jpeg, png, image, raw"));
}

absl::StatusOr<DType> NamedDType(const std::string& what, const std::string& name) {
  const DType dtype = DTypeFromName(name);
  if (dtype != DType::kInvalid && !IsRef(dtype)) return dtype;
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": '", name, "' is no dtype such as float32, int64, uint8, string"));
}

// What a record can hold without `decode`.
absl::Status CheckStored(DType dtype, RecordFormat format) {
  switch (format) {
    case RecordFormat::kTfRecord:
      if (dtype == DType::kFloat || dtype == DType::kInt64 || dtype == DType::kString) break;
      return absl::InvalidArgumentError(
          absl::StrCat("dtype: a tf.Example holds float32, int64 or string, not ", DTypeName(dtype),
                       "; use one of these and `cast`, or `decode: raw`"));
    case RecordFormat::kCsv:
    case RecordFormat::kText:
      if (dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kInt32 ||
          dtype == DType::kInt64 || dtype == DType::kString) {
        break;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("dtype: text is read as float32, float64, int32, int64 or string, not ",
                       DTypeName(dtype), "; use one of these and `cast`"));
    case RecordFormat::kFixedLength:
      if (std::ranges::find(kRawDTypes, dtype) != std::end(kRawDTypes)) break;
      return absl::InvalidArgumentError(
          absl::StrCat("dtype: ", DTypeName(dtype), " cannot be read from bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ParseMissing(const std::string& text, DType dtype) {
  float number = 0;
  double wide = 0;
  int32_t narrow = 0;
  int64_t integer = 0;
  switch (dtype) {
    case DType::kString:
      return Tensor::Scalar(text);
    case DType::kFloat:
      if (absl::SimpleAtof(text, &number)) return Tensor::Scalar(number);
      break;
    case DType::kDouble:
      if (absl::SimpleAtod(text, &wide)) return Tensor::Scalar(wide);
      break;
    case DType::kInt32:
      if (absl::SimpleAtoi(text, &narrow)) return Tensor::Scalar(narrow);
      break;
    case DType::kInt64:
      if (absl::SimpleAtoi(text, &integer)) return Tensor::Scalar(integer);
      break;
    default:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("missing_value: '", text, "' is no ", DTypeName(dtype)));
}

// `value`, repeated to the shape.
Tensor Filled(const Tensor& value, const std::vector<int64_t>& dims) {
  const Shape shape = Shape::Make(dims).value();
  Tensor filled = Tensor::Allocate(value.dtype(), shape).value();
  if (value.dtype() == DType::kString) {
    std::ranges::fill(filled.flat<std::string>(), value.scalar<std::string>());
    return filled;
  }
  const size_t size = DTypeSize(value.dtype());
  for (int64_t i = 0; i < filled.num_elements(); ++i) {
    std::copy_n(value.raw(), size, filled.mutable_raw() + i * size);
  }
  return filled;
}

absl::Status PlanShape(const training::FieldSpec& spec, FieldPlan* plan) {
  plan->shape.assign(spec.shape().begin(), spec.shape().end());
  plan->variable_length = spec.variable_length();
  int64_t elements = 1;
  for (size_t i = 0; i < plan->shape.size(); ++i) {
    const int64_t dim = plan->shape[i];
    if (dim == -1 && plan->is_image() && i < 2) continue;
    if (dim == -1 && i == 0 && plan->variable_length) continue;
    if (dim < 1 || dim > kMaxElements / elements) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape: dimension ", dim,
                       " is not possible; for a length that differs, set variable_length"));
    }
    elements *= dim;
  }
  if (plan->is_image() && !plan->shape.empty() && (plan->shape.size() != 3 || plan->shape[2] > 4)) {
    return absl::InvalidArgumentError(
        "shape: that of an image is [height, width, channels], -1 for sizes that differ");
  }
  if (!plan->variable_length) return absl::OkStatus();
  if (plan->decoding != FieldDecoding::kNone) {
    return absl::InvalidArgumentError("variable_length: not with decode");
  }
  if (plan->shape.empty()) {
    plan->shape = {-1};
  } else {
    plan->shape[0] = -1;
  }
  return absl::OkStatus();
}

absl::Status PlanMissing(const training::FieldSpec& spec, RecordFormat format, FieldPlan* plan) {
  const bool has_value = spec.has_missing_value();
  if (plan->variable_length) {
    if (has_value) {
      ASSIGN_OR_RETURN(plan->missing_value, ParseMissing(spec.missing_value(), plan->dtype));
    } else {
      ASSIGN_OR_RETURN(plan->missing_value, Tensor::Zeros(plan->dtype, {}));
    }
    return absl::OkStatus();
  }
  if (!has_value) return absl::OkStatus();
  if (plan->decoding != FieldDecoding::kNone || format == RecordFormat::kFixedLength) {
    return absl::InvalidArgumentError("missing_value: not for bytes that are decoded");
  }
  if (format == RecordFormat::kText) {
    return absl::InvalidArgumentError("missing_value: not with text, of which no line is missing");
  }
  ASSIGN_OR_RETURN(plan->missing_value, ParseMissing(spec.missing_value(), plan->dtype));
  // Of CSV, each column may be missing by itself.
  if (format != RecordFormat::kCsv) plan->missing_value = Filled(plan->missing_value, plan->shape);
  return absl::OkStatus();
}

// What becomes of the value after it was read.
absl::Status PlanConversions(const training::FieldSpec& spec, FieldPlan* plan) {
  plan->output_dtype = plan->dtype;
  plan->output_shape = plan->is_image() && plan->shape.empty()
                           ? PartialShape::UnknownOfRank(3)
                           : PartialShape(absl::Span<const int64_t>(plan->shape));
  if (spec.resize_size() > 0) {
    if (!plan->is_image()) return absl::InvalidArgumentError("resize: only decoded images have it");
    if (spec.resize_size() != 2 || spec.resize(0) < 1 || spec.resize(1) < 1 ||
        spec.resize(0) > 1 << 16 || spec.resize(1) > 1 << 16) {
      return absl::InvalidArgumentError("resize: must be [height, width] in pixels");
    }
    plan->resize.assign(spec.resize().begin(), spec.resize().end());
    const int64_t channels = plan->shape.empty() ? -1 : plan->shape[2];
    plan->output_shape = PartialShape({plan->resize[0], plan->resize[1], channels});
    plan->output_dtype = DType::kFloat;
  }
  if (spec.scale() != 0) plan->scale = spec.scale();
  plan->offset = spec.offset();
  if (plan->is_scaled()) {
    if (plan->dtype == DType::kString) {
      return absl::InvalidArgumentError("scale and offset: not for strings");
    }
    if (!IsFloating(plan->output_dtype)) plan->output_dtype = DType::kFloat;
  }
  if (spec.cast().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(plan->output_dtype, NamedDType("cast", spec.cast()));
  if ((plan->dtype == DType::kString) != (plan->output_dtype == DType::kString)) {
    return absl::InvalidArgumentError("cast: strings and numbers cannot be cast to each other");
  }
  return absl::OkStatus();
}

absl::Status CheckColumns(const training::FieldSpec& spec, RecordFormat format,
                          const FieldPlan& plan) {
  constexpr int64_t kMaxColumns = 1 << 16;
  if (format != RecordFormat::kCsv) {
    if (spec.columns().empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("columns: only fields of csv have it");
  }
  if (plan.variable_length) {
    return absl::InvalidArgumentError(
        "variable_length: all lines of CSV have the same columns; give `shape`");
  }
  int64_t columns = 1;
  for (int64_t dim : plan.shape) columns *= dim;
  if (columns <= kMaxColumns) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("shape: ", columns, " columns are too many; the most are ", kMaxColumns));
}

absl::StatusOr<FieldPlan> Plan(const training::FieldSpec& spec, RecordFormat format) {
  FieldPlan plan;
  plan.name = spec.name();
  if (plan.name.empty()) return absl::InvalidArgumentError("it has no name");
  ASSIGN_OR_RETURN(plan.decoding, DecodingOf(spec.decode()));
  if (plan.decoding != FieldDecoding::kNone && format != RecordFormat::kTfRecord) {
    return absl::InvalidArgumentError("decode: only fields of a tf.Example have it");
  }
  if (plan.is_image() && spec.dtype().empty()) {
    plan.dtype = DType::kUint8;
  } else if (spec.dtype().empty()) {
    return absl::InvalidArgumentError("dtype: must be given, such as float32, int64 or string");
  } else {
    ASSIGN_OR_RETURN(plan.dtype, NamedDType("dtype", spec.dtype()));
  }
  if (plan.is_image() && plan.dtype != DType::kUint8) {
    return absl::InvalidArgumentError(
        "dtype: the pixels of an image are uint8; use `scale` and `cast` for others");
  }
  if (plan.decoding == FieldDecoding::kNone) {
    RETURN_IF_ERROR(CheckStored(plan.dtype, format));
  } else if (plan.decoding == FieldDecoding::kRaw) {
    RETURN_IF_ERROR(CheckStored(plan.dtype, RecordFormat::kFixedLength));
  }
  RETURN_IF_ERROR(PlanShape(spec, &plan));
  if (format == RecordFormat::kText && !plan.shape.empty()) {
    return absl::InvalidArgumentError("shape: a line of text is a scalar");
  }
  RETURN_IF_ERROR(CheckColumns(spec, format, plan));
  if (format == RecordFormat::kFixedLength && plan.variable_length) {
    return absl::InvalidArgumentError("variable_length: not in records of fixed length");
  }
  RETURN_IF_ERROR(PlanMissing(spec, format, &plan));
  RETURN_IF_ERROR(PlanConversions(spec, &plan));
  return plan;
}

}  // namespace

absl::StatusOr<FieldPlan> PlanField(const training::FieldSpec& spec, RecordFormat format) {
  absl::StatusOr<FieldPlan> plan = Plan(spec, format);
  if (plan.ok()) return plan;
  return Annotate(plan.status(), absl::StrCat("field '", spec.name(), "': "));
}

}  // namespace tessera
