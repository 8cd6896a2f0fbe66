// Audio.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/framework/shape_spec.h"
#include "runtime/ops/nn_shapes.h"

namespace tessera {

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
