"""Images, boxes, audio and linear algebra."""

import numpy as np
import tensorflow as tf

from kernels.case import Case, doubles, fixed, floats, integers, strings, uniform

raw = tf.raw_ops


def boxes(count):
    def make(rng):
        low = rng.uniform(0, 0.8, (count, 2))
        return np.concatenate([low, low + rng.uniform(0.02, 0.2, (count, 2))], 1).astype(np.float32)

    return make


def photo(encode):
    """A smooth picture with some noise, encoded by TensorFlow."""
    def make(rng):
        y, x = np.mgrid[0:375, 0:500]
        planes = [np.sin(x / 40 + k) + np.cos(y / (30 + k)) for k in range(3)]
        picture = np.stack(planes, -1) * 60 + 128 + rng.normal(0, 4, (375, 500, 3))
        return np.array([encode(picture.clip(0, 255).astype(np.uint8)).numpy()], object)

    return make


def picture(rng):
    y, x = np.mgrid[0:375, 0:500]
    planes = [np.sin(x / 40 + k) + np.cos(y / (30 + k)) for k in range(3)]
    return (np.stack(planes, -1) * 60 + 128).astype(np.uint8)


def positive_definite(batch, size):
    def make(rng):
        x = rng.standard_normal((batch, size, size)).astype(np.float32)
        return x @ x.transpose(0, 2, 1) + size * np.eye(size, dtype=np.float32)

    return make


def resize(method, height, width):
    op = getattr(raw, method)
    return lambda x: op(images=x, size=[height, width], half_pixel_centers=True,
                        align_corners=False)


def combined(boxes_, scores):
    return tf.image.combined_non_max_suppression(boxes_, scores, 100, 100)


def mfcc(x):
    spectrogram = raw.AudioSpectrogram(input=x, window_size=640, stride=320, magnitude_squared=True)
    return raw.Mfcc(spectrogram=spectrogram, sample_rate=16000)


def complexes(*shape):
    return lambda rng: (rng.standard_normal(shape)
                        + 1j * rng.standard_normal(shape)).astype(np.complex64)


CASES = [
    Case("ResizeBilinear 1x480x640x3 to 300x300", resize("ResizeBilinear", 300, 300),
         [uniform(0, 255, 1, 480, 640, 3)]),
    Case("ResizeBilinear uint8 1x480x640x3 to 224x224", resize("ResizeBilinear", 224, 224),
         [integers(256, 1, 480, 640, 3, dtype=np.uint8)]),
    Case("ResizeBilinear 1x33x33x21 to 513x513", resize("ResizeBilinear", 513, 513),
         [floats(1, 33, 33, 21)]),
    Case("ResizeBilinear 1x32x32x256 to 64x64", resize("ResizeBilinear", 64, 64),
         [floats(1, 32, 32, 256)]),
    Case("ResizeNearestNeighbor 1x32x32x256 to 64x64",
         lambda x: raw.ResizeNearestNeighbor(images=x, size=[64, 64]), [floats(1, 32, 32, 256)]),
    Case("ResizeBicubic 1x240x320x3 to 224x224", resize("ResizeBicubic", 224, 224),
         [uniform(0, 255, 1, 240, 320, 3)], tolerance=1e-3),
    Case("ResizeArea 1x480x640x3 to 224x224",
         lambda x: raw.ResizeArea(images=x, size=[224, 224]), [uniform(0, 255, 1, 480, 640, 3)]),
    Case("ScaleAndTranslate Lanczos 480x640x3 to 224x224",
         lambda x: tf.image.resize(x, [224, 224], "lanczos3", antialias=True),
         [uniform(0, 255, 1, 480, 640, 3)], tolerance=1e-3),
    Case("CropAndResize 100 of 14x14, 38x50x256",
         lambda x, b: tf.image.crop_and_resize(x, b, tf.zeros([100], tf.int32), [14, 14]),
         [floats(1, 38, 50, 256), boxes(100)]),
    Case("CropAndResize 1 of 224x224, 480x640x3",
         lambda x, b: tf.image.crop_and_resize(x, b, [0], [224, 224]),
         [uniform(0, 255, 1, 480, 640, 3), boxes(1)], tolerance=1e-3),
    Case("NonMaxSuppressionV3 1000",
         lambda b, s: raw.NonMaxSuppressionV3(boxes=b, scores=s, max_output_size=100,
                                              iou_threshold=0.5, score_threshold=0.0),
         [boxes(1000), uniform(0, 1, 1000)]),
    Case("NonMaxSuppressionV4 6000, 300",
         lambda b, s: raw.NonMaxSuppressionV4(boxes=b, scores=s, max_output_size=300,
                                              iou_threshold=0.7, score_threshold=0.0),
         [boxes(6000), uniform(0, 1, 6000)]),
    Case("NonMaxSuppressionV5 1000, soft",
         lambda b, s: raw.NonMaxSuppressionV5(boxes=b, scores=s, max_output_size=100,
                                              iou_threshold=0.5, score_threshold=0.01,
                                              soft_nms_sigma=0.5),
         [boxes(1000), uniform(0, 1, 1000)]),
    Case("CombinedNonMaxSuppression 1x1917, 20 classes", combined,
         [lambda rng: boxes(1917)(rng)[None, :, None], uniform(0, 1, 1, 1917, 20)]),
    Case("RgbToHsv 4x224x224", tf.image.rgb_to_hsv, [uniform(0, 1, 4, 224, 224, 3)]),
    Case("HsvToRgb 4x224x224", tf.image.hsv_to_rgb, [uniform(0, 1, 4, 224, 224, 3)]),
    Case("AdjustContrastv2 4x224x224", lambda x: tf.image.adjust_contrast(x, 1.5),
         [uniform(0, 1, 4, 224, 224, 3)]),
    Case("AdjustHue 4x224x224", lambda x: tf.image.adjust_hue(x, 0.1),
         [uniform(0, 1, 4, 224, 224, 3)]),
    Case("AdjustSaturation 4x224x224", lambda x: tf.image.adjust_saturation(x, 1.5),
         [uniform(0, 1, 4, 224, 224, 3)]),
    Case("ImageProjectiveTransformV3 224x224x3",
         lambda x, t: raw.ImageProjectiveTransformV3(
             images=x, transforms=t, output_shape=[224, 224], fill_value=0.0,
             interpolation="BILINEAR"),
         [uniform(0, 1, 1, 224, 224, 3), fixed([[0.9, 0.1, 5, -0.1, 0.9, 20, 0, 0]], np.float32)]),
    Case("ExtractImagePatches 3x3, 64x64x32",
         lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
         [floats(1, 64, 64, 32)]),
    Case("DrawBoundingBoxesV2 480x640, 20",
         lambda x, b: tf.image.draw_bounding_boxes(x, b[None], [[1.0, 0, 0]]),
         [uniform(0, 1, 1, 480, 640, 3), boxes(20)]),
    Case("DecodeJpeg 500x375", lambda x: tf.io.decode_jpeg(x[0], 3),
         [photo(tf.io.encode_jpeg)], tolerance=float("inf")),
    Case("DecodeJpeg 500x375, half", lambda x: tf.io.decode_jpeg(x[0], 3, ratio=2),
         [photo(tf.io.encode_jpeg)], tolerance=float("inf")),
    Case("DecodeAndCropJpeg 500x375, 224x224",
         lambda x: tf.io.decode_and_crop_jpeg(x[0], [75, 138, 224, 224], 3),
         [photo(tf.io.encode_jpeg)], tolerance=0),
    Case("DecodePng 500x375", lambda x: tf.io.decode_png(x[0], 3), [photo(tf.io.encode_png)]),
    Case("EncodeJpeg 500x375", lambda x: tf.strings.length(tf.io.encode_jpeg(x)), [picture],
         tolerance=float("inf")),
    Case("EncodePng 500x375", lambda x: tf.strings.length(tf.io.encode_png(x)), [picture],
         tolerance=float("inf")),
    Case("DecodeBmp 500x375", lambda x: tf.io.decode_bmp(x[0], 3), [strings(
        lambda rng: bmp(picture(rng)), 1)]),
    Case("RFFT 64x1024", tf.signal.rfft, [floats(64, 1024)]),
    Case("RFFT 98x400, padded to 512", lambda x: tf.signal.rfft(x, [512]), [floats(98, 400)]),
    Case("RFFT 64x1000", tf.signal.rfft, [floats(64, 1000)]),
    Case("IRFFT 64x513", tf.signal.irfft, [complexes(64, 513)]),
    Case("FFT 64x1024", tf.signal.fft, [complexes(64, 1024)]),
    Case("FFT2D 4x256x256", tf.signal.fft2d, [complexes(4, 256, 256)]),
    Case("RFFT2D 4x256x256", tf.signal.rfft2d, [floats(4, 256, 256)]),
    Case("STFT 1x16000, 400 by 160", lambda x: tf.signal.stft(x, 400, 160, 512),
         [floats(1, 16000)]),
    Case("STFT 1x480000, Whisper", lambda x: tf.abs(tf.signal.stft(x, 400, 160, 400)),
         [floats(1, 480000)]),
    Case("AudioSpectrogram and Mfcc 16000", mfcc, [uniform(-1, 1, 16000, 1)], tolerance=1e-3),
    Case("DecodeWav 16000", lambda x: tf.audio.decode_wav(x[0])[0],
         [strings(lambda rng: wav(rng), 1)]),
    Case("MfccsFromLogMel 98x80", lambda x: tf.signal.mfccs_from_log_mel_spectrograms(x),
         [floats(98, 80)]),
    Case("OverlapAndAdd 100x400", lambda x: tf.signal.overlap_and_add(x, 160), [floats(100, 400)]),
    Case("Cholesky 64x64x64", tf.linalg.cholesky, [positive_definite(64, 64)]),
    Case("Cholesky 1x512x512", tf.linalg.cholesky, [positive_definite(1, 512)]),
    Case("MatrixInverse 64x32x32", tf.linalg.inv, [positive_definite(64, 32)]),
    Case("MatrixDeterminant 64x32x32", tf.linalg.slogdet, [positive_definite(64, 32)]),
    Case("MatrixSolve 16x64x64", tf.linalg.solve, [positive_definite(16, 64), floats(16, 64, 8)]),
    Case("MatrixTriangularSolve 16x128x128", tf.linalg.triangular_solve,
         [positive_definite(16, 128), floats(16, 128, 16)]),
    Case("Qr 16x64x32", lambda x: [tf.abs(y) for y in tf.linalg.qr(x)], [floats(16, 64, 32)],
         tolerance=1e-3),
    Case("Svd 16x32x32, values", lambda x: tf.linalg.svd(x, compute_uv=False),
         [floats(16, 32, 32)], tolerance=1e-3),
    Case("Svd 4x64x48", lambda x: tf.linalg.svd(x)[0], [floats(4, 64, 48)], tolerance=1e-3),
    Case("SelfAdjointEigV2 16x32x32", lambda x: tf.linalg.eigh(x)[0], [positive_definite(16, 32)],
         tolerance=1e-3),
    Case("MatrixExponential 16x16x16", lambda x: tf.linalg.expm(x * 0.1), [floats(16, 16, 16)],
         tolerance=1e-3),
    Case("Lu 16x64x64", lambda x: tf.linalg.lu(x)[0], [positive_definite(16, 64)], tolerance=1e-3),
    Case("TridiagonalSolve 64x256",
         lambda d, r: tf.linalg.tridiagonal_solve(d + [[[0.0], [8.0], [0.0]]], r),
         [floats(64, 3, 256), floats(64, 256, 4)]),
    Case("Cross 65536", tf.linalg.cross, [floats(65536, 3)] * 2),
]


def bmp(pixels):
    """24 bits a pixel, uncompressed, top row first."""
    height, width, _ = pixels.shape
    rows = pixels[..., ::-1].reshape(height, -1)
    rows = np.pad(rows, [[0, 0], [0, -rows.shape[1] % 4]])
    head = b"BM" + np.array([54 + rows.size, 0, 54, 40, width, -height], "<i4").tobytes()
    return (head + np.array([1, 24], "<i2").tobytes()
            + np.array([0, rows.size, 0, 0, 0, 0], "<i4").tobytes() + rows.tobytes())


def wav(rng):
    samples = rng.uniform(-1, 1, (16000, 1)).astype(np.float32)
    return tf.audio.encode_wav(samples, 16000).numpy()
