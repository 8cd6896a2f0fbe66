// Fourier transforms.
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/ops/nn_shapes.h"

namespace tessera {

REGISTER_OP("FFT")
    .Input("input: Tcomplex").Output("output: Tcomplex")
    .Attr("Tcomplex: {complex64, complex128} = complex64").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FFT2D")
    .Input("input: Tcomplex").Output("output: Tcomplex")
    .Attr("Tcomplex: {complex64, complex128} = complex64").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("FFT3D")
    .Input("input: Tcomplex").Output("output: Tcomplex")
    .Attr("Tcomplex: {complex64, complex128} = complex64").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("IFFT")
    .Input("input: Tcomplex").Output("output: Tcomplex")
    .Attr("Tcomplex: {complex64, complex128} = complex64").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("IFFT2D")
    .Input("input: Tcomplex").Output("output: Tcomplex")
    .Attr("Tcomplex: {complex64, complex128} = complex64").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("IFFT3D")
    .Input("input: Tcomplex").Output("output: Tcomplex")
    .Attr("Tcomplex: {complex64, complex128} = complex64").ShapeFn(shape::SameAsFirstInput);
REGISTER_OP("IRFFT")
    .Input("input: Tcomplex").Input("fft_length: int32").Output("output: Treal")
    .Attr("Treal: {float, double} = float").Attr("Tcomplex: {complex64, complex128} = complex64")
    .ShapeFn(shape::InverseRealFft);
REGISTER_OP("IRFFT2D")
    .Input("input: Tcomplex").Input("fft_length: int32").Output("output: Treal")
    .Attr("Treal: {float, double} = float").Attr("Tcomplex: {complex64, complex128} = complex64")
    .ShapeFn(shape::InverseRealFft);
REGISTER_OP("IRFFT3D")
    .Input("input: Tcomplex").Input("fft_length: int32").Output("output: Treal")
    .Attr("Treal: {float, double} = float").Attr("Tcomplex: {complex64, complex128} = complex64")
    .ShapeFn(shape::InverseRealFft);
REGISTER_OP("RFFT")
    .Input("input: Treal").Input("fft_length: int32").Output("output: Tcomplex")
    .Attr("Treal: {float, double} = float").Attr("Tcomplex: {complex64, complex128} = complex64")
    .ShapeFn(shape::RealFft);
REGISTER_OP("RFFT2D")
    .Input("input: Treal").Input("fft_length: int32").Output("output: Tcomplex")
    .Attr("Treal: {float, double} = float").Attr("Tcomplex: {complex64, complex128} = complex64")
    .ShapeFn(shape::RealFft);
REGISTER_OP("RFFT3D")
    .Input("input: Treal").Input("fft_length: int32").Output("output: Tcomplex")
    .Attr("Treal: {float, double} = float").Attr("Tcomplex: {complex64, complex128} = complex64")
    .ShapeFn(shape::RealFft);

}  // namespace tessera
