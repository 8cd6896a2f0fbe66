// Neural network layers.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/array_shapes.h"
#include "runtime/ops/nn_shapes.h"
#include "runtime/ops/window_shapes.h"

namespace tessera {

REGISTER_OP("ApproxTopK")
    .Input("input: T").Output("values: T").Output("indices: int32").Attr("k: int >= 0")
    .Attr("reduction_dimension: int = -1").Attr("recall_target: float = 0.949999988")
    .Attr("is_max_k: bool = true").Attr("reduction_input_size_override: int = -1")
    .Attr("aggregate_to_topk: bool = true").Attr("T: {half, bfloat16, float}")
    .ShapeFn(shape::ApproxTopK);
REGISTER_OP("AvgPool")
    .Input("value: T").Output("output: T").Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4").Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::Pool);
REGISTER_OP("AvgPool3D")
    .Input("input: T").Output("output: T").Attr("ksize: list(int) >= 5")
    .Attr("strides: list(int) >= 5").Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::Pool);
REGISTER_OP("AvgPool3DGrad")
    .Input("orig_input_shape: int32").Input("grad: T").Output("output: T")
    .Attr("ksize: list(int) >= 5").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
    .Attr("T: {half, bfloat16, float, double}").ShapeFn(shape::FromShapeInput0);
REGISTER_OP("AvgPoolGrad")
    .Input("orig_input_shape: int32").Input("grad: T").Output("output: T")
    .Attr("ksize: list(int) >= 4").Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: {half, bfloat16, float, double}").ShapeFn(shape::FromShapeInput0);
REGISTER_OP("BatchNormWithGlobalNormalization")
    .Input("t: T").Input("m: T").Input("v: T").Input("beta: T").Input("gamma: T")
    .Output("result: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("variance_epsilon: float").Attr("scale_after_normalization: bool").Deprecated(9)
    .ShapeFn(shape::Spec<"[b, h, w, c], [c], [c], [c], [c] -> [b, h, w, c]">);
REGISTER_OP("BatchNormWithGlobalNormalizationGrad")
    .Input("t: T").Input("m: T").Input("v: T").Input("gamma: T").Input("backprop: T")
    .Output("dx: T").Output("dm: T").Output("dv: T").Output("db: T").Output("dg: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("variance_epsilon: float").Attr("scale_after_normalization: bool").Deprecated(9)
    .ShapeFn(shape::Spec<"[b, h, w, c], [c], [c], [c], [b, h, w, c] -> [b, h, w, c], [c], [c], [c], [c]">);
REGISTER_OP("BiasAdd")
    .Input("value: T").Input("bias: T").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BiasAddGrad")
    .Input("out_backprop: T").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").ShapeFn(shape::BiasAddGrad);
REGISTER_OP("BiasAddV1")
    .Input("value: T").Input("bias: T").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
        "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("BlockLSTM")
    .Input("seq_len_max: int64").Input("x: T").Input("cs_prev: T").Input("h_prev: T")
    .Input("w: T").Input("wci: T").Input("wcf: T").Input("wco: T").Input("b: T").Output("i: T")
    .Output("cs: T").Output("f: T").Output("o: T").Output("ci: T").Output("co: T").Output("h: T")
    .Attr("forget_bias: float = 1").Attr("cell_clip: float = 3")
    .Attr("use_peephole: bool = false").Attr("T: {half, float}")
    .ShapeFn(shape::Spec<"[], [t, b, ?], [b, c], [b, c], [?, q], [c], [c], [c], [q] -> [t, b, c]...">);
REGISTER_OP("BlockLSTMGrad")
    .Input("seq_len_max: int64").Input("x: T").Input("cs_prev: T").Input("h_prev: T")
    .Input("w: T").Input("wci: T").Input("wcf: T").Input("wco: T").Input("b: T").Input("i: T")
    .Input("cs: T").Input("f: T").Input("o: T").Input("ci: T").Input("co: T").Input("h: T")
    .Input("cs_grad: T").Input("h_grad: T").Output("x_grad: T").Output("cs_prev_grad: T")
    .Output("h_prev_grad: T").Output("w_grad: T").Output("wci_grad: T").Output("wcf_grad: T")
    .Output("wco_grad: T").Output("b_grad: T").Attr("use_peephole: bool").Attr("T: {half, float}")
    .ShapeFn(shape::Spec<"[], [t, b, i], [b, c], [b, c], [r, q], [x], [y], [z], [q], [t, b, c], [t, b, c], "
        "[t, b, c], [t, b, c], [t, b, c], [t, b, c], [t, b, c], [t, b, c], [t, b, c] -> "
        "[t, b, i], [b, c], [b, c], [r, q], [x], [y], [z], [q]">);
REGISTER_OP("BlockLSTMGradV2")
    .Input("seq_len_max: int64").Input("x: T").Input("cs_prev: T").Input("h_prev: T")
    .Input("w: T").Input("wci: T").Input("wcf: T").Input("wco: T").Input("b: T").Input("i: T")
    .Input("cs: T").Input("f: T").Input("o: T").Input("ci: T").Input("co: T").Input("h: T")
    .Input("cs_grad: T").Input("h_grad: T").Output("x_grad: T").Output("cs_prev_grad: T")
    .Output("h_prev_grad: T").Output("w_grad: T").Output("wci_grad: T").Output("wcf_grad: T")
    .Output("wco_grad: T").Output("b_grad: T").Attr("use_peephole: bool").Attr("T: {half, float}")
    .ShapeFn(shape::Spec<"[], [t, b, i], [b, c], [b, c], [r, q], [x], [y], [z], [q], [t, b, c], [t, b, c], "
        "[t, b, c], [t, b, c], [t, b, c], [t, b, c], [t, b, c], [t, b, c], [t, b, c] -> "
        "[t, b, i], [b, c], [b, c], [r, q], [x], [y], [z], [q]">);
REGISTER_OP("BlockLSTMV2")
    .Input("seq_len_max: int64").Input("x: T").Input("cs_prev: T").Input("h_prev: T")
    .Input("w: T").Input("wci: T").Input("wcf: T").Input("wco: T").Input("b: T").Output("i: T")
    .Output("cs: T").Output("f: T").Output("o: T").Output("ci: T").Output("co: T").Output("h: T")
    .Attr("cell_clip: float = 0").Attr("use_peephole: bool = false").Attr("T: {half, float}")
    .ShapeFn(shape::Spec<"[], [t, b, ?], [b, c], [b, c], [?, q], [c], [c], [c], [q] -> [t, b, c]...">);
REGISTER_OP("CTCBeamSearchDecoder")
    .Input("inputs: T").Input("sequence_length: int32")
    .Output("decoded_indices: top_paths * int64").Output("decoded_values: top_paths * int64")
    .Output("decoded_shape: top_paths * int64").Output("log_probability: T")
    .Attr("beam_width: int >= 1").Attr("top_paths: int >= 1").Attr("merge_repeated: bool = true")
    .Attr("T: {float, double} = float").ShapeFn(shape::CtcBeamSearchDecoder);
REGISTER_OP("CTCGreedyDecoder")
    .Input("inputs: T").Input("sequence_length: int32").Output("decoded_indices: int64")
    .Output("decoded_values: int64").Output("decoded_shape: int64").Output("log_probability: T")
    .Attr("merge_repeated: bool = false").Attr("blank_index: int = -1")
    .Attr("T: {float, double} = float")
    .ShapeFn(shape::Spec<"[t, b, k], [b] -> [?, 2], [?], [2], [b, 1]">);
REGISTER_OP("CTCLoss")
    .Input("inputs: T").Input("labels_indices: int64").Input("labels_values: int32")
    .Input("sequence_length: int32").Output("loss: T").Output("gradient: T")
    .Attr("preprocess_collapse_repeated: bool = false").Attr("ctc_merge_repeated: bool = true")
    .Attr("ignore_longer_outputs_than_inputs: bool = false").Attr("T: {float, double} = float")
    .ShapeFn(shape::Spec<"[t, b, k], [n, 2], [n], [b] -> [b], [t, b, k]">);
REGISTER_OP("Conv")
    .Input("input: T").Input("filter: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32}").Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}").Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'")
    .Attr("dilations: list(int) = []").Attr("batch_dims: int = 1").Attr("groups: int = 1")
    .ShapeFn(shape::Convolution);
REGISTER_OP("Conv2D")
    .Input("input: T").Input("filter: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32}").Attr("strides: list(int)")
    .Attr("use_cudnn_on_gpu: bool = true").Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []").Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("dilations: list(int) = [1, 1, 1, 1]").ShapeFn(shape::Convolution);
REGISTER_OP("Conv2DBackpropFilter")
    .Input("input: T").Input("filter_sizes: int32").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("strides: list(int)")
    .Attr("use_cudnn_on_gpu: bool = true").Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []").Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("dilations: list(int) = [1, 1, 1, 1]").ShapeFn(shape::FromShapeInput1);
REGISTER_OP("Conv2DBackpropInput")
    .Input("input_sizes: int32").Input("filter: T").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32}").Attr("strides: list(int)")
    .Attr("use_cudnn_on_gpu: bool = true").Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []").Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("dilations: list(int) = [1, 1, 1, 1]").ShapeFn(shape::ConvolutionInputGradient);
REGISTER_OP("Conv3D")
    .Input("input: T").Input("filter: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
    .Attr("dilations: list(int) = [1, 1, 1, 1, 1]").ShapeFn(shape::Convolution);
REGISTER_OP("Conv3DBackpropFilter")
    .Input("input: T").Input("filter: T").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, float, double}").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
    .Deprecated(10)
    .ShapeFn(shape::Spec<"[b, ?, ?, ?, c], [x, y, z, c, o], [b, ?, ?, ?, o] -> [x, y, z, c, o]">);
REGISTER_OP("Conv3DBackpropFilterV2")
    .Input("input: T").Input("filter_sizes: int32").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
    .Attr("dilations: list(int) = [1, 1, 1, 1, 1]").ShapeFn(shape::FromShapeInput1);
REGISTER_OP("Conv3DBackpropInput")
    .Input("input: T").Input("filter: T").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, float, double}").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
    .Deprecated(10)
    .ShapeFn(shape::Spec<"[b, x, y, z, c], [?, ?, ?, c, o], [b, ?, ?, ?, o] -> [b, x, y, z, c]">);
REGISTER_OP("Conv3DBackpropInputV2")
    .Input("input_sizes: Tshape").Input("filter: T").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
    .Attr("dilations: list(int) = [1, 1, 1, 1, 1]").Attr("Tshape: {int32, int64} = int32")
    .ShapeFn(shape::FromShapeInput0);
REGISTER_OP("CudnnRNN")
    .Input("input: T").Input("input_h: T").Input("input_c: T").Input("params: T")
    .Output("output: T").Output("output_h: T").Output("output_c: T").Output("reserve_space: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("is_training: bool = true").Stateful().Random().ShapeFn(shape::Unknown);
REGISTER_OP("CudnnRNNBackpropV3")
    .Input("input: T").Input("input_h: T").Input("input_c: T").Input("params: T")
    .Input("sequence_lengths: int32").Input("output: T").Input("output_h: T").Input("output_c: T")
    .Input("output_backprop: T").Input("output_h_backprop: T").Input("output_c_backprop: T")
    .Input("reserve_space: T").Input("host_reserved: int8").Output("input_backprop: T")
    .Output("input_h_backprop: T").Output("input_c_backprop: T").Output("params_backprop: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("num_proj: int = 0").Attr("time_major: bool = true").Stateful().Random()
    .ShapeFn(shape::Unknown);
REGISTER_OP("CudnnRNNV3")
    .Input("input: T").Input("input_h: T").Input("input_c: T").Input("params: T")
    .Input("sequence_lengths: int32").Output("output: T").Output("output_h: T")
    .Output("output_c: T").Output("reserve_space: T").Output("host_reserved: int8")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("num_proj: int = 0").Attr("is_training: bool = true").Attr("time_major: bool = true")
    .Stateful().Random().ShapeFn(shape::Unknown);
REGISTER_OP("DataFormatDimMap")
    .Input("x: T").Output("y: T").Attr("T: {int32, int64} = int32")
    .Attr("src_format: string = 'NHWC'").Attr("dst_format: string = 'NCHW'")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DataFormatVecPermute")
    .Input("x: T").Output("y: T").Attr("T: {int32, int64} = int32")
    .Attr("src_format: string = 'NHWC'").Attr("dst_format: string = 'NCHW'")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("DepthwiseConv2dNative")
    .Input("input: T").Input("filter: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}").Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("dilations: list(int) = [1, 1, 1, 1]")
    .ShapeFn(shape::DepthwiseConvolution);
REGISTER_OP("DepthwiseConv2dNativeBackpropFilter")
    .Input("input: T").Input("filter_sizes: int32").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}").Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("dilations: list(int) = [1, 1, 1, 1]")
    .ShapeFn(shape::FromShapeInput1);
REGISTER_OP("DepthwiseConv2dNativeBackpropInput")
    .Input("input_sizes: int32").Input("filter: T").Input("out_backprop: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}").Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("dilations: list(int) = [1, 1, 1, 1]")
    .ShapeFn(shape::ConvolutionInputGradient);
REGISTER_OP("Dilation2D")
    .Input("input: T").Input("filter: T").Output("output: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("strides: list(int) >= 4").Attr("rates: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}").ShapeFn(shape::Dilation);
REGISTER_OP("Dilation2DBackpropFilter")
    .Input("input: T").Input("filter: T").Input("out_backprop: T").Output("filter_backprop: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("strides: list(int) >= 4").Attr("rates: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}").ShapeFn(shape::SameAsSecondInput);
REGISTER_OP("Dilation2DBackpropInput")
    .Input("input: T").Input("filter: T").Input("out_backprop: T").Output("in_backprop: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("strides: list(int) >= 4").Attr("rates: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Elu")
    .Input("features: T").Output("activations: T").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("EluGrad")
    .Input("gradients: T").Input("outputs: T").Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FractionalAvgPool")
    .Input("value: T").Output("output: T").Output("row_pooling_sequence: int64")
    .Output("col_pooling_sequence: int64").Attr("pooling_ratio: list(float) >= 4")
    .Attr("pseudo_random: bool = false").Attr("overlapping: bool = false")
    .Attr("deterministic: bool = false").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("T: {float, double, int32, int64}").ShapeFn(shape::FractionalPool);
REGISTER_OP("FractionalAvgPoolGrad")
    .Input("orig_input_tensor_shape: int64").Input("out_backprop: T")
    .Input("row_pooling_sequence: int64").Input("col_pooling_sequence: int64").Output("output: T")
    .Attr("overlapping: bool = false").Attr("T: {float, double, int32, int64}")
    .ShapeFn(shape::FromShapeInput0);
REGISTER_OP("FractionalMaxPool")
    .Input("value: T").Output("output: T").Output("row_pooling_sequence: int64")
    .Output("col_pooling_sequence: int64").Attr("pooling_ratio: list(float) >= 4")
    .Attr("pseudo_random: bool = false").Attr("overlapping: bool = false")
    .Attr("deterministic: bool = false").Attr("seed: int = 0").Attr("seed2: int = 0")
    .Attr("T: {float, double, int32, int64}").ShapeFn(shape::FractionalPool);
REGISTER_OP("FractionalMaxPoolGrad")
    .Input("orig_input: T").Input("orig_output: T").Input("out_backprop: T")
    .Input("row_pooling_sequence: int64").Input("col_pooling_sequence: int64").Output("output: T")
    .Attr("overlapping: bool = false").Attr("T: {float, double, int32, int64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FusedBatchNorm")
    .Input("x: T").Input("scale: T").Input("offset: T").Input("mean: T").Input("variance: T")
    .Output("y: T").Output("batch_mean: T").Output("batch_variance: T")
    .Output("reserve_space_1: T").Output("reserve_space_2: T").Attr("T: {float}")
    .Attr("epsilon: float = 9.99999975e-05").Attr("exponential_avg_factor: float = 1")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("is_training: bool = true")
    .ShapeFn(shape::BatchNorm);
REGISTER_OP("FusedBatchNormGrad")
    .Input("y_backprop: T").Input("x: T").Input("scale: T").Input("reserve_space_1: T")
    .Input("reserve_space_2: T").Output("x_backprop: T").Output("scale_backprop: T")
    .Output("offset_backprop: T").Output("reserve_space_3: T").Output("reserve_space_4: T")
    .Attr("T: {float}").Attr("epsilon: float = 9.99999975e-05")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("is_training: bool = true")
    .ShapeFn(shape::Spec<"[*s], [*s], [c], _, _ -> [*s], [c], [c], [?], [?]">);
REGISTER_OP("FusedBatchNormGradV2")
    .Input("y_backprop: T").Input("x: T").Input("scale: float").Input("reserve_space_1: U")
    .Input("reserve_space_2: U").Output("x_backprop: T").Output("scale_backprop: U")
    .Output("offset_backprop: U").Output("reserve_space_3: U").Output("reserve_space_4: U")
    .Attr("T: {half, bfloat16, float}").Attr("U: {float}").Attr("epsilon: float = 9.99999975e-05")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'").Attr("is_training: bool = true")
    .ShapeFn(shape::Spec<"[*s], [*s], [c], _, _ -> [*s], [c], [c], [?], [?]">);
REGISTER_OP("FusedBatchNormGradV3")
    .Input("y_backprop: T").Input("x: T").Input("scale: float").Input("reserve_space_1: U")
    .Input("reserve_space_2: U").Input("reserve_space_3: U").Output("x_backprop: T")
    .Output("scale_backprop: U").Output("offset_backprop: U").Output("reserve_space_4: U")
    .Output("reserve_space_5: U").Attr("T: {half, bfloat16, float}").Attr("U: {float}")
    .Attr("epsilon: float = 9.99999975e-05")
    .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
    .Attr("is_training: bool = true")
    .ShapeFn(shape::Spec<"[*s], [*s], [c], _, _, _ -> [*s], [c], [c], [?], [?]">);
REGISTER_OP("FusedBatchNormV2")
    .Input("x: T").Input("scale: U").Input("offset: U").Input("mean: U").Input("variance: U")
    .Output("y: T").Output("batch_mean: U").Output("batch_variance: U")
    .Output("reserve_space_1: U").Output("reserve_space_2: U").Attr("T: {half, bfloat16, float}")
    .Attr("U: {float}").Attr("epsilon: float = 9.99999975e-05")
    .Attr("exponential_avg_factor: float = 1").Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("is_training: bool = true").ShapeFn(shape::BatchNorm);
REGISTER_OP("FusedBatchNormV3")
    .Input("x: T").Input("scale: U").Input("offset: U").Input("mean: U").Input("variance: U")
    .Output("y: T").Output("batch_mean: U").Output("batch_variance: U")
    .Output("reserve_space_1: U").Output("reserve_space_2: U").Output("reserve_space_3: U")
    .Attr("T: {half, bfloat16, float}").Attr("U: {bfloat16, float}")
    .Attr("epsilon: float = 9.99999975e-05").Attr("exponential_avg_factor: float = 1")
    .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
    .Attr("is_training: bool = true").ShapeFn(shape::BatchNorm);
REGISTER_OP("FusedPadConv2D")
    .Input("input: T").Input("paddings: int32").Input("filter: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double}").Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .Attr("strides: list(int)").Attr("padding: {'SAME', 'VALID'}")
    .ShapeFn(shape::PaddedConvolution);
REGISTER_OP("GRUBlockCell")
    .Input("x: T").Input("h_prev: T").Input("w_ru: T").Input("w_c: T").Input("b_ru: T")
    .Input("b_c: T").Output("r: T").Output("u: T").Output("c: T").Output("h: T")
    .Attr("T: {float}")
    .ShapeFn(shape::Spec<"[b, ?], [b, c], [?, ?], [?, c], [?], [c] -> [b, c]...">);
REGISTER_OP("GRUBlockCellGrad")
    .Input("x: T").Input("h_prev: T").Input("w_ru: T").Input("w_c: T").Input("b_ru: T")
    .Input("b_c: T").Input("r: T").Input("u: T").Input("c: T").Input("d_h: T").Output("d_x: T")
    .Output("d_h_prev: T").Output("d_c_bar: T").Output("d_r_bar_u_bar: T").Attr("T: {float}")
    .ShapeFn(shape::Spec<"[b, i], [b, c], [?, q], [?, c], [q], [c], [b, c], [b, c], [b, c], [b, c] -> [b, "
        "i], [b, c], [b, c], [b, q]">);
REGISTER_OP("InTopK")
    .Input("predictions: float").Input("targets: T").Output("precision: bool").Attr("k: int")
    .Attr("T: {int32, int64} = int32").ShapeFn(shape::Spec<"[b, ?], [b] -> [b]">);
REGISTER_OP("InTopKV2")
    .Input("predictions: float").Input("targets: T").Input("k: T").Output("precision: bool")
    .Attr("T: {int32, int64} = int32").ShapeFn(shape::Spec<"[b, ?], [b], [] -> [b]">);
REGISTER_OP("IsotonicRegression")
    .Input("input: T").Output("output: output_dtype").Output("segments: int32")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("output_dtype: {half, bfloat16, float, double} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("L2Loss")
    .Input("t: T").Output("output: T").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::Scalar);
REGISTER_OP("LRN")
    .Input("input: T").Output("output: T").Attr("depth_radius: int = 5").Attr("bias: float = 1")
    .Attr("alpha: float = 1").Attr("beta: float = 0.5").Attr("T: {half, bfloat16, float} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LRNGrad")
    .Input("input_grads: T").Input("input_image: T").Input("output_image: T").Output("output: T")
    .Attr("depth_radius: int = 5").Attr("bias: float = 1").Attr("alpha: float = 1")
    .Attr("beta: float = 0.5").Attr("T: {half, bfloat16, float} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LSTMBlockCell")
    .Input("x: T").Input("cs_prev: T").Input("h_prev: T").Input("w: T").Input("wci: T")
    .Input("wcf: T").Input("wco: T").Input("b: T").Output("i: T").Output("cs: T").Output("f: T")
    .Output("o: T").Output("ci: T").Output("co: T").Output("h: T").Attr("forget_bias: float = 1")
    .Attr("cell_clip: float = 3").Attr("use_peephole: bool = false").Attr("T: {half, float}")
    .ShapeFn(shape::Spec<"[b, ?], [b, c], [b, c], [?, ?], [?], [?], [?], [?] -> [b, c]...">);
REGISTER_OP("LSTMBlockCellGrad")
    .Input("x: T").Input("cs_prev: T").Input("h_prev: T").Input("w: T").Input("wci: T")
    .Input("wcf: T").Input("wco: T").Input("b: T").Input("i: T").Input("cs: T").Input("f: T")
    .Input("o: T").Input("ci: T").Input("co: T").Input("cs_grad: T").Input("h_grad: T")
    .Output("cs_prev_grad: T").Output("dicfo: T").Output("wci_grad: T").Output("wcf_grad: T")
    .Output("wco_grad: T").Attr("use_peephole: bool").Attr("T: {half, float}")
    .ShapeFn(shape::Spec<"[b, ?], [b, c], [b, c], [?, q], [x], [y], [z], [q], [b, c], [b, c], [b, c], [b, "
        "c], [b, c], [b, c], [b, c], [b, c] -> [b, c], [b, q], [x], [y], [z]">);
REGISTER_OP("LeakyRelu")
    .Input("features: T").Output("activations: T").Attr("alpha: float = 0.200000003")
    .Attr("T: {half, bfloat16, float, double} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LeakyReluGrad")
    .Input("gradients: T").Input("features: T").Output("backprops: T")
    .Attr("alpha: float = 0.200000003").Attr("T: {half, bfloat16, float, double} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("LogSoftmax")
    .Input("logits: T").Output("logsoftmax: T").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MaxPool")
    .Input("input: T").Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, "
        "qint8} = float")
    .Attr("ksize: list(int) >= 4").Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}").Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'").ShapeFn(shape::Pool);
REGISTER_OP("MaxPool3D")
    .Input("input: T").Output("output: T").Attr("ksize: list(int) >= 5")
    .Attr("strides: list(int) >= 5").Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'").Attr("T: {half, bfloat16, float}")
    .ShapeFn(shape::Pool);
REGISTER_OP("MaxPool3DGrad")
    .Input("orig_input: TInput").Input("orig_output: TInput").Input("grad: T").Output("output: T")
    .Attr("ksize: list(int) >= 5").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
    .Attr("T: {half, bfloat16, float} = float").Attr("TInput: {half, bfloat16, float} = float")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MaxPool3DGradGrad")
    .Input("orig_input: T").Input("orig_output: T").Input("grad: T").Output("output: T")
    .Attr("ksize: list(int) >= 5").Attr("strides: list(int) >= 5")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::SameAsSecondInput);
REGISTER_OP("MaxPoolGrad")
    .Input("orig_input: T").Input("orig_output: T").Input("grad: T").Output("output: T")
    .Attr("ksize: list(int) >= 4").Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}").Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MaxPoolGradGrad")
    .Input("orig_input: T").Input("orig_output: T").Input("grad: T").Output("output: T")
    .Attr("ksize: list(int) >= 4").Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}").Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::SameAsSecondInput);
REGISTER_OP("MaxPoolGradGradV2")
    .Input("orig_input: T").Input("orig_output: T").Input("grad: T").Input("ksize: int32")
    .Input("strides: int32").Output("output: T").Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::SameAsSecondInput);
REGISTER_OP("MaxPoolGradV2")
    .Input("orig_input: T").Input("orig_output: T").Input("grad: T").Input("ksize: int32")
    .Input("strides: int32").Output("output: T").Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64} = float").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MaxPoolGradWithArgmax")
    .Input("input: T").Input("grad: T").Input("argmax: Targmax").Output("output: T")
    .Attr("ksize: list(int) >= 4").Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}").Attr("include_batch_in_index: bool = false")
    .Attr("Targmax: {int32, int64}")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("MaxPoolV2")
    .Input("input: T").Input("ksize: int32").Input("strides: int32").Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, "
        "qint8} = float")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'").ShapeFn(shape::PoolV2);
REGISTER_OP("MaxPoolWithArgmax")
    .Input("input: T").Output("output: T").Output("argmax: Targmax").Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4").Attr("Targmax: {int32, int64} = int64")
    .Attr("padding: {'SAME', 'VALID'}").Attr("include_batch_in_index: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::PoolWithArgmax);
REGISTER_OP("NthElement")
    .Input("input: T").Input("n: int32").Output("values: T").Attr("reverse: bool = false")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").ShapeFn(shape::Spec<"[*s, ?], [] -> [*s]">);
REGISTER_OP("Relu")
    .Input("features: T").Output("activations: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64, qint8}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Relu6")
    .Input("features: T").Output("activations: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Relu6Grad")
    .Input("gradients: T").Input("features: T").Output("backprops: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("ReluGrad")
    .Input("gradients: T").Input("features: T").Output("backprops: T")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Selu")
    .Input("features: T").Output("activations: T").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SeluGrad")
    .Input("gradients: T").Input("outputs: T").Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Softmax")
    .Input("logits: T").Output("softmax: T").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SoftmaxCrossEntropyWithLogits")
    .Input("features: T").Input("labels: T").Output("loss: T").Output("backprop: T")
    .Attr("T: {half, bfloat16, float, double}").ShapeFn(shape::CrossEntropy);
REGISTER_OP("Softplus")
    .Input("features: T").Output("activations: T").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SoftplusGrad")
    .Input("gradients: T").Input("features: T").Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("Softsign")
    .Input("features: T").Output("activations: T").Attr("T: {half, bfloat16, float, double}")
    .ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("SoftsignGrad")
    .Input("gradients: T").Input("features: T").Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("TopK")
    .Input("input: T").Output("values: T").Output("indices: int32").Attr("k: int >= 0")
    .Attr("sorted: bool = true")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}").Deprecated(7)
    .ShapeFn(shape::Spec<"[*s, ?] -> [*s, @k], [*s, @k]">);
REGISTER_OP("TopKV2")
    .Input("input: T").Input("k: Tk").Output("values: T").Output("indices: index_type")
    .Attr("sorted: bool = true")
    .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
        "uint64}")
    .Attr("Tk: {int16, int32, int64} = int32").Attr("index_type: {int16, int32, int64} = int32")
    .ShapeFn(shape::Spec<"[*s, ?], [] -> [*s, $1], [*s, $1]">);

}  // namespace tessera
