// Audio.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/nn_shapes.h"

namespace tessera {

REGISTER_OP("AudioMicrofrontend")
    .Input("audio: int16").Output("filterbanks: out_type").Attr("sample_rate: int = 16000")
    .Attr("window_size: int = 25").Attr("window_step: int = 10").Attr("num_channels: int = 32")
    .Attr("upper_band_limit: float = 7500").Attr("lower_band_limit: float = 125")
    .Attr("smoothing_bits: int = 10").Attr("even_smoothing: float = 0.025")
    .Attr("odd_smoothing: float = 0.06").Attr("min_signal_remaining: float = 0.05")
    .Attr("enable_pcan: bool = false").Attr("pcan_strength: float = 0.95")
    .Attr("pcan_offset: float = 80").Attr("gain_bits: int = 21").Attr("enable_log: bool = true")
    .Attr("scale_shift: int = 6").Attr("left_context: int = 0").Attr("right_context: int = 0")
    .Attr("frame_stride: int = 1").Attr("zero_padding: bool = false").Attr("out_scale: int = 1")
    .Attr("out_type: {uint16, float} = DT_UINT16").ShapeFn(shape::Spec<"[?] -> [?, ?]">);
REGISTER_OP("AudioSpectrogram")
    .Input("input: float").Output("spectrogram: float").Attr("window_size: int")
    .Attr("stride: int").Attr("magnitude_squared: bool = false").ShapeFn(shape::AudioSpectrogram);
REGISTER_OP("DecodeWav")
    .Input("contents: string").Output("audio: float").Output("sample_rate: int32")
    .Attr("desired_channels: int = -1").Attr("desired_samples: int = -1")
    .ShapeFn(shape::Spec<"[] -> [@desired_samples, @desired_channels], []">);
REGISTER_OP("EncodeWav")
    .Input("audio: float").Input("sample_rate: int32").Output("contents: string")
    .ShapeFn(shape::Spec<"[?, ?], [] -> []">);
REGISTER_OP("Mfcc")
    .Input("spectrogram: float").Input("sample_rate: int32").Output("output: float")
    .Attr("upper_frequency_limit: float = 4000").Attr("lower_frequency_limit: float = 20")
    .Attr("filterbank_channel_count: int = 40").Attr("dct_coefficient_count: int = 13")
    .ShapeFn(shape::Spec<"[c, t, ?], [] -> [c, t, @dct_coefficient_count]">);

}  // namespace tessera
