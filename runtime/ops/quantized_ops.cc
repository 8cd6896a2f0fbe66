// Quantised arithmetic.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"
#include "runtime/ops/component_shapes.h"
#include "runtime/ops/matrix_shapes.h"
#include "runtime/ops/window_shapes.h"

namespace tessera {
namespace {

// A tensor of the input's shape, and its range: that of the range that is given, but scalars for a
// single slice.
absl::Status Quantized(ShapeContext& c) {
  const PartialShape& range = c.input(1);
  const bool is_vector = range.known_rank() && range.rank() == 1;
  const bool is_unknown = !range.known_rank() || (is_vector && range.dim(0) < 0);
  const bool is_single = is_vector && range.dim(0) == 1;
  c.set_output(0, c.input(0));
  for (int i = 1; i < 3; ++i) {
    c.set_output(i, is_unknown ? PartialShape() : is_single ? PartialShape(Shape()) : range);
  }
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("Dequantize")
    .Input("input: T").Input("min_range: float").Input("max_range: float").Output("output: dtype")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'")
    .Attr("narrow_range: bool = false").Attr("axis: int = -1")
    .Attr("dtype: {bfloat16, float} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FakeQuantWithMinMaxArgs")
    .Input("inputs: float").Output("outputs: float").Attr("min: float = -6")
    .Attr("max: float = 6").Attr("num_bits: int = 8").Attr("narrow_range: bool = false")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FakeQuantWithMinMaxArgsGradient")
    .Input("gradients: float").Input("inputs: float").Output("backprops: float")
    .Attr("min: float = -6").Attr("max: float = 6").Attr("num_bits: int = 8")
    .Attr("narrow_range: bool = false").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FakeQuantWithMinMaxVars")
    .Input("inputs: float").Input("min: float").Input("max: float").Output("outputs: float")
    .Attr("num_bits: int = 8").Attr("narrow_range: bool = false").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FakeQuantWithMinMaxVarsGradient")
    .Input("gradients: float").Input("inputs: float").Input("min: float").Input("max: float")
    .Output("backprops_wrt_input: float").Output("backprop_wrt_min: float")
    .Output("backprop_wrt_max: float").Attr("num_bits: int = 8")
    .Attr("narrow_range: bool = false").ShapeFn(shape::Spec<"[*s], [*s], [], [] -> [*s], [], []">);
REGISTER_OP("FakeQuantWithMinMaxVarsPerChannel")
    .Input("inputs: float").Input("min: float").Input("max: float").Output("outputs: float")
    .Attr("num_bits: int = 8").Attr("narrow_range: bool = false").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FakeQuantWithMinMaxVarsPerChannelGradient")
    .Input("gradients: float").Input("inputs: float").Input("min: float").Input("max: float")
    .Output("backprops_wrt_input: float").Output("backprop_wrt_min: float")
    .Output("backprop_wrt_max: float").Attr("num_bits: int = 8")
    .Attr("narrow_range: bool = false")
    .ShapeFn(shape::Spec<"[*s], [*s], [d], [d] -> [*s], [d], [d]">);
REGISTER_OP("QuantizeAndDequantize")
    .Input("input: T").Output("output: T").Attr("signed_input: bool = true")
    .Attr("num_bits: int = 8").Attr("range_given: bool = false").Attr("input_min: float = 0")
    .Attr("input_max: float = 0").Attr("T: {bfloat16, half, float, double}").Deprecated(22)
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("QuantizeAndDequantizeV2")
    .Input("input: T").Input("input_min: T").Input("input_max: T").Output("output: T")
    .Attr("signed_input: bool = true").Attr("num_bits: int = 8").Attr("range_given: bool = false")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'")
    .Attr("narrow_range: bool = false").Attr("axis: int = -1").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("QuantizeAndDequantizeV3")
    .Input("input: T").Input("input_min: T").Input("input_max: T").Input("num_bits: int32")
    .Output("output: T").Attr("signed_input: bool = true").Attr("range_given: bool = true")
    .Attr("T: {bfloat16, half, float, double}").Attr("narrow_range: bool = false")
    .Attr("axis: int = -1").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("QuantizeAndDequantizeV4")
    .Input("input: T").Input("input_min: T").Input("input_max: T").Output("output: T")
    .Attr("signed_input: bool = true").Attr("num_bits: int = 8").Attr("range_given: bool = false")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'")
    .Attr("narrow_range: bool = false").Attr("axis: int = -1").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("QuantizeAndDequantizeV4Grad")
    .Input("gradients: T").Input("input: T").Input("input_min: T").Input("input_max: T")
    .Output("input_backprop: T").Output("input_min_backprop: T").Output("input_max_backprop: T")
    .Attr("T: {bfloat16, half, float, double}").Attr("axis: int = -1")
    .ShapeFn(shape::Spec<"[*s], [*s], [*r], [*r] -> [*s], [*r], [*r]">);
REGISTER_OP("QuantizeDownAndShrinkRange")
    .Input("input: Tinput").Input("input_min: float").Input("input_max: float")
    .Output("output: out_type").Output("output_min: float").Output("output_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
    .ShapeFn(shape::Spec<"[*s], [], [] -> [*s], [], []">);
REGISTER_OP("QuantizeV2")
    .Input("input: float").Input("min_range: float").Input("max_range: float").Output("output: T")
    .Output("output_min: float").Output("output_max: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'")
    .Attr("round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'")
    .Attr("narrow_range: bool = false").Attr("axis: int = -1")
    .Attr("ensure_minimum_range: float = 0.00999999978")
    .ShapeFn(Quantized);
REGISTER_OP("QuantizedAdd")
    .Input("x: T1").Input("y: T2").Input("min_x: float").Input("max_x: float")
    .Input("min_y: float").Input("max_y: float").Output("z: Toutput").Output("min_z: float")
    .Output("max_z: float").Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32")
    .ShapeFn(shape::QuantizedBroadcast);
REGISTER_OP("QuantizedAvgPool")
    .Input("input: T").Input("min_input: float").Input("max_input: float").Output("output: T")
    .Output("min_output: float").Output("max_output: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}").Attr("ksize: list(int)")
    .Attr("strides: list(int)").Attr("padding: {'SAME', 'VALID'}").ShapeFn(shape::QuantizedPool);
REGISTER_OP("QuantizedBatchNormWithGlobalNormalization")
    .Input("t: Tinput").Input("t_min: float").Input("t_max: float").Input("m: Tinput")
    .Input("m_min: float").Input("m_max: float").Input("v: Tinput").Input("v_min: float")
    .Input("v_max: float").Input("beta: Tinput").Input("beta_min: float").Input("beta_max: float")
    .Input("gamma: Tinput").Input("gamma_min: float").Input("gamma_max: float")
    .Output("result: out_type").Output("result_min: float").Output("result_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}").Attr("variance_epsilon: float")
    .Attr("scale_after_normalization: bool")
    .ShapeFn(shape::Spec<"[b, h, w, c], [], [], [c], [], [], [c], [], [], [c], [], [], [c], [], [] -> [b, "
        "h, w, c], [], []">);
REGISTER_OP("QuantizedBiasAdd")
    .Input("input: T1").Input("bias: T2").Input("min_input: float").Input("max_input: float")
    .Input("min_bias: float").Input("max_bias: float").Output("output: out_type")
    .Output("min_out: float").Output("max_out: float")
    .Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
    .ShapeFn(shape::Spec<"[*s], [c], [], [], [], [] -> [*s], [], []">);
REGISTER_OP("QuantizedReshape")
    .Input("tensor: T").Input("shape: Tshape").Input("input_min: float").Input("input_max: float")
    .Output("output: T").Output("output_min: float").Output("output_max: float").Attr("T: type")
    .Attr("Tshape: {int32, int64} = int32").ShapeFn(shape::Unknown);
REGISTER_OP("QuantizedConcat")
    .Input("concat_dim: int32").Input("values: N * T").Input("input_mins: N * float")
    .Input("input_maxes: N * float").Output("output: T").Output("output_min: float")
    .Output("output_max: float").Attr("N: int >= 2").Attr("T: type")
    .ShapeFn(shape::QuantizedConcat);
REGISTER_OP("QuantizedConcatV2")
    .Input("values: N * T").Input("axis: Tidx").Input("input_mins: N * float")
    .Input("input_maxes: N * float").Output("output: T").Output("output_min: float")
    .Output("output_max: float").Attr("N: int >= 2").Attr("T: type")
    .Attr("Tidx: {int32, int64} = int32").ShapeFn(shape::QuantizedConcat);
REGISTER_OP("QuantizedConv2D")
    .Input("input: Tinput").Input("filter: Tfilter").Input("min_input: float")
    .Input("max_input: float").Input("min_filter: float").Input("max_filter: float")
    .Output("output: out_type").Output("min_output: float").Output("max_output: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("Tfilter: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = qint32")
    .Attr("strides: list(int)").Attr("padding: {'SAME', 'VALID'}")
    .Attr("dilations: list(int) = [1, 1, 1, 1]").ShapeFn(shape::QuantizedConvolution);
REGISTER_OP("QuantizedInstanceNorm")
    .Input("x: T").Input("x_min: float").Input("x_max: float").Output("y: T")
    .Output("y_min: float").Output("y_max: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}").Attr("output_range_given: bool = false")
    .Attr("given_y_min: float = 0").Attr("given_y_max: float = 0")
    .Attr("variance_epsilon: float = 9.99999975e-06")
    .Attr("min_separation: float = 0.00100000005")
    .ShapeFn(shape::Spec<"[b, h, w, c], [], [] -> [b, h, w, c], [], []">);
REGISTER_OP("QuantizedMatMul")
    .Input("a: T1").Input("b: T2").Input("min_a: float").Input("max_a: float")
    .Input("min_b: float").Input("max_b: float").Output("out: Toutput").Output("min_out: float")
    .Output("max_out: float").Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32")
    .Attr("transpose_a: bool = false").Attr("transpose_b: bool = false")
    .Attr("Tactivation: {qint8, quint8, qint32, qint16, quint16} = quint8")
    .ShapeFn(shape::QuantizedMatMul);
REGISTER_OP("QuantizedMaxPool")
    .Input("input: T").Input("min_input: float").Input("max_input: float").Output("output: T")
    .Output("min_output: float").Output("max_output: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16}").Attr("ksize: list(int)")
    .Attr("strides: list(int)").Attr("padding: {'SAME', 'VALID'}").ShapeFn(shape::QuantizedPool);
REGISTER_OP("QuantizedMul")
    .Input("x: T1").Input("y: T2").Input("min_x: float").Input("max_x: float")
    .Input("min_y: float").Input("max_y: float").Output("z: Toutput").Output("min_z: float")
    .Output("max_z: float").Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("Toutput: {qint8, quint8, qint32, qint16, quint16} = qint32")
    .ShapeFn(shape::QuantizedBroadcast);
REGISTER_OP("QuantizedRelu")
    .Input("features: Tinput").Input("min_features: float").Input("max_features: float")
    .Output("activations: out_type").Output("min_activations: float")
    .Output("max_activations: float").Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = quint8")
    .ShapeFn(shape::Spec<"[*s], [], [] -> [*s], [], []">);
REGISTER_OP("QuantizedRelu6")
    .Input("features: Tinput").Input("min_features: float").Input("max_features: float")
    .Output("activations: out_type").Output("min_activations: float")
    .Output("max_activations: float").Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = quint8")
    .ShapeFn(shape::Spec<"[*s], [], [] -> [*s], [], []">);
REGISTER_OP("QuantizedResizeBilinear")
    .Input("images: T").Input("size: int32").Input("min: float").Input("max: float")
    .Output("resized_images: T").Output("out_min: float").Output("out_max: float")
    .Attr("T: {quint8, qint32, float}").Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .ShapeFn(shape::Spec<"[b, ?, ?, c], [2], [], [] -> [b, <1>, c], [], []">);
REGISTER_OP("RequantizationRange")
    .Input("input: Tinput").Input("input_min: float").Input("input_max: float")
    .Output("output_min: float").Output("output_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .ShapeFn(shape::Scalar);
REGISTER_OP("RequantizationRangePerChannel")
    .Input("input: T").Input("input_min: float").Input("input_max: float")
    .Output("output_min: float").Output("output_max: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16} = qint32").Attr("clip_value_max: float")
    .ShapeFn(shape::Spec<"_, [c], [c] -> [], []">);
REGISTER_OP("Requantize")
    .Input("input: Tinput").Input("input_min: float").Input("input_max: float")
    .Input("requested_output_min: float").Input("requested_output_max: float")
    .Output("output: out_type").Output("output_min: float").Output("output_max: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
    .ShapeFn(shape::Spec<"[*s], _, _, [], [] -> [*s], [], []">);
REGISTER_OP("RequantizePerChannel")
    .Input("input: T").Input("input_min: float").Input("input_max: float")
    .Input("requested_output_min: float").Input("requested_output_max: float")
    .Output("output: out_type").Output("output_min: float").Output("output_max: float")
    .Attr("T: {qint8, quint8, qint32, qint16, quint16} = qint32")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = quint8")
    .ShapeFn(shape::Spec<"[*s], [c], [c], [], [] -> [*s], [], []">);
REGISTER_OP("UniformDequantize")
    .Input("input: Tin").Input("scales: float").Input("zero_points: int32").Output("output: Tout")
    .Attr("Tin: {qint8, quint8, qint32}").Attr("Tout: {float}")
    .Attr("quantization_axis: int = -1").Attr("quantization_min_val: int")
    .Attr("quantization_max_val: int")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("UniformQuantize")
    .Input("input: Tin").Input("scales: float").Input("zero_points: int32").Output("output: Tout")
    .Attr("Tin: {float}").Attr("Tout: {qint8, quint8, qint32}")
    .Attr("quantization_axis: int = -1").Attr("quantization_min_val: int")
    .Attr("quantization_max_val: int")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("UniformQuantizedAdd")
    .Input("lhs: T").Input("rhs: T").Input("lhs_scales: float").Input("lhs_zero_points: int32")
    .Input("rhs_scales: float").Input("rhs_zero_points: int32").Input("output_scales: float")
    .Input("output_zero_points: int32").Output("output: T")
    .Attr("lhs_quantization_axis: int = -1").Attr("lhs_quantization_min_val: int")
    .Attr("lhs_quantization_max_val: int").Attr("rhs_quantization_axis: int = -1")
    .Attr("rhs_quantization_min_val: int").Attr("rhs_quantization_max_val: int")
    .Attr("output_quantization_axis: int = -1").Attr("output_quantization_min_val: int")
    .Attr("output_quantization_max_val: int").Attr("T: {qint32}").ShapeFn(shape::Broadcast);
REGISTER_OP("UniformQuantizedClipByValue")
    .Input("operand: T").Input("min: T").Input("max: T").Input("scales: float")
    .Input("zero_points: int32").Output("output: T").Attr("T: {qint32}")
    .Attr("quantization_axis: int = -1").Attr("quantization_min_val: int")
    .Attr("quantization_max_val: int")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("UniformQuantizedConvolution")
    .Input("lhs: Tin").Input("rhs: Tin").Input("lhs_scales: float")
    .Input("lhs_zero_points: int32").Input("rhs_scales: float").Input("rhs_zero_points: int32")
    .Input("output_scales: float").Input("output_zero_points: int32").Output("output: Tout")
    .Attr("Tin: {qint8}").Attr("Tout: {qint32}").Attr("window_strides: list(int) = []")
    .Attr("padding: string").Attr("explicit_padding: list(int) = []")
    .Attr("lhs_dilation: list(int) = []").Attr("rhs_dilation: list(int) = []")
    .Attr("batch_group_count: int = 1").Attr("feature_group_count: int = 1")
    .Attr("dimension_numbers: string = ''").Attr("lhs_quantization_axis: int = -1")
    .Attr("lhs_quantization_min_val: int").Attr("lhs_quantization_max_val: int")
    .Attr("rhs_quantization_axis: int = -1").Attr("rhs_quantization_min_val: int")
    .Attr("rhs_quantization_max_val: int").Attr("output_quantization_axis: int = -1")
    .Attr("output_quantization_min_val: int").Attr("output_quantization_max_val: int")
    .ShapeFn(shape::SameRankAsFirstInput);
REGISTER_OP("UniformQuantizedConvolutionHybrid")
    .Input("lhs: Tlhs").Input("rhs: Trhs").Input("rhs_scales: float")
    .Input("rhs_zero_points: int32").Output("output: Tout").Attr("Tlhs: {float}")
    .Attr("Trhs: {qint8}").Attr("Tout: {float}").Attr("window_strides: list(int) = []")
    .Attr("padding: string").Attr("explicit_padding: list(int) = []")
    .Attr("lhs_dilation: list(int) = []").Attr("rhs_dilation: list(int) = []")
    .Attr("batch_group_count: int = 1").Attr("feature_group_count: int = 1")
    .Attr("dimension_numbers: string = ''").Attr("rhs_quantization_axis: int = -1")
    .Attr("rhs_quantization_min_val: int").Attr("rhs_quantization_max_val: int")
    .ShapeFn(shape::SameRankAsFirstInput);
REGISTER_OP("UniformQuantizedDot")
    .Input("lhs: Tin").Input("rhs: Tin").Input("lhs_scales: float")
    .Input("lhs_zero_points: int32").Input("rhs_scales: float").Input("rhs_zero_points: int32")
    .Input("output_scales: float").Input("output_zero_points: int32").Output("output: Tout")
    .Attr("Tin: {qint8}").Attr("Tout: {qint32}").Attr("lhs_quantization_axis: int = -1")
    .Attr("lhs_quantization_min_val: int").Attr("lhs_quantization_max_val: int")
    .Attr("rhs_quantization_axis: int = -1").Attr("rhs_quantization_min_val: int")
    .Attr("rhs_quantization_max_val: int").Attr("output_quantization_axis: int = -1")
    .Attr("output_quantization_min_val: int").Attr("output_quantization_max_val: int")
    .ShapeFn(shape::Spec<"[m, k], [k, n], _, _, _, _, _, _ -> [m, n]">);
REGISTER_OP("UniformQuantizedDotHybrid")
    .Input("lhs: Tlhs").Input("rhs: Trhs").Input("rhs_scales: float")
    .Input("rhs_zero_points: int32").Output("output: Tout").Attr("Tlhs: {float}")
    .Attr("Trhs: {qint8}").Attr("Tout: {float}").Attr("rhs_quantization_axis: int = -1")
    .Attr("rhs_quantization_min_val: int").Attr("rhs_quantization_max_val: int")
    .ShapeFn(shape::Spec<"[m, k], [k, n], _, _ -> [m, n]">);

}  // namespace tessera
