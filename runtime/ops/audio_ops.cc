// Audio.
#include "runtime/framework/op.h"

namespace tessera {

REGISTER_OP("AudioSpectrogram")
    .Input("input: float").Output("spectrogram: float").Attr("window_size: int")
    .Attr("stride: int").Attr("magnitude_squared: bool = false");
REGISTER_OP("DecodeWav")
    .Input("contents: string").Output("audio: float").Output("sample_rate: int32")
    .Attr("desired_channels: int = -1").Attr("desired_samples: int = -1");
REGISTER_OP("EncodeWav")
    .Input("audio: float").Input("sample_rate: int32").Output("contents: string");
REGISTER_OP("Mfcc")
    .Input("spectrogram: float").Input("sample_rate: int32").Output("output: float")
    .Attr("upper_frequency_limit: float = 4000").Attr("lower_frequency_limit: float = 20")
    .Attr("filterbank_channel_count: int = 40").Attr("dct_coefficient_count: int = 13");

}  // namespace tessera
