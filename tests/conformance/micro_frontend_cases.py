"""Calls of AudioMicrofrontend, which TensorFlow Lite's Python package brings."""

import numpy as np
import tensorflow as tf
# Registers the op.
from tensorflow.lite.experimental.microfrontend.python.ops import audio_microfrontend_op  # pylint: disable=unused-import

from conformance.recording import OpFile


def _sound(count, seed, loudness=3000):
    random = np.random.RandomState(seed)
    tone = np.sin(np.arange(count) * 0.21 * (1 + np.arange(count) / count))
    return np.clip(loudness * (tone + random.randn(count)), -32768, 32767).astype(np.int16)


def microphone():
    file = OpFile("AudioMicrofrontend")

    def add(sound, **attrs):
        file.add([sound], **{"out_type": tf.uint16, "num_channels": 8, **attrs})

    sound = _sound(1000, seed=1)
    add(sound)
    add(sound, num_channels=32)
    add(_sound(1000, seed=2, loudness=30000), enable_pcan=True)
    add(_sound(1000, seed=3, loudness=3), enable_pcan=True, smoothing_bits=12)
    add(sound, enable_pcan=True, pcan_strength=0.5, pcan_offset=1, gain_bits=15)
    add(sound, enable_log=False)
    add(sound, scale_shift=3, even_smoothing=0.5, odd_smoothing=0.9, min_signal_remaining=0.3)
    add(sound, out_scale=16, out_type=tf.float32, left_context=1, right_context=2, frame_stride=2)
    add(sound, out_scale=3, left_context=2, zero_padding=True)
    add(sound, sample_rate=8000, window_size=32, window_step=20, upper_band_limit=3800)
    add(sound, window_size=16, num_channels=3, lower_band_limit=300)
    add(np.zeros(800, np.int16))
    add(np.full(800, -32768, np.int16))
    add(sound[:399])
    add(sound[:0])
    add(sound[:0], out_scale=0)
    add(sound[:400].reshape(2, 200))
    add(sound, upper_band_limit=9000)
    return file


def record(directory):
    """Writes DIRECTORY/AudioMicrofrontend.pb."""
    return [microphone().write(directory)]
