"""Reducers, combiners and comparators of StableHLO use values from outside their regions."""

import json

import numpy as np
import tensorflow as tf

from clients.test_stablehlo import model_of, run

# def program(x, i):
#     n = x.shape[0]  # any size
#     over = lax.reduce(x, 0., lambda a, c: lax.min(a + c, 1. * n), (1,))
#     scaled = x.at[i].apply(lambda a: a * n + n // 2)
#     return jnp.concatenate([over[:, None], scaled], axis=1)
SIZE_IN_REGIONS = (
    "eNqFVW1r21YU1u3x7Z0mNCGEJjQhpGCCJ1Lb9bxg0pCFtiRd15a0C23pQhGydW2r1YsnyWm7Mdj/2i/Yb9jnfR7sD2znSk"
    "7T0MFu8D3nnpfnOefca+fRw7++V0/raJrybx+ehOejwWh3cFMitymhIwIKDDXDcrxub2c4nuwf3r334OT0+Vk4W8Bv1S4x"
    "mdZVNEVRDAVCRWiWMlQ8T9EMRayhhrZWxeXgx8PVnghVNBhpmmawCf4ZzEAarzs2DMsyJtc+p54OFBiTFVCB7uqE0Ando/"
    "sARkIPgMjMC4hK3ENgQ8dh4Dm6tFnubY/KBBUU4swUgCMVTp64d92jbte9597HaLKJNkxKiWGSrqvCvfvuA/eRe+I+cU/d"
    "p1jOFsiI7nS3GZFlz7pAvSYEQ/BfDxuBHNR9rlD3hXtGsTZy7VpAdKwvIHYAqi4HVPpns3TV+eBkqm4AVCe4mTrVFDB0di"
    "Ga1UiMkKksZADvU9UAiInodkBVquOmo0XWPwCnaueLTyl5Qihhnb9lILb8mADrvAbVoa4pwR2CkP1jwnDUhB4TGWTK6PCI"
    "6AqVmXJMVDAYEyn4FjBXY53POtA/ZXKbrYOFu4HZd4jZ7BYw3G1g3WfEgR4FjYJqUVWVtOuIQ/tDVUggbnNUxzuNHO0Kio"
    "nwYSX6MXHx7SlYkQc7FCfTGgyBoVBqG0Iyy6Ho2II+uE3AELTtZ6QLGr6GLQq6I2iv0PVH2NM2DpQRIree3bau8Z4oYL+H"
    "BwuII0YyotssOCY9GFO9h5YADBp0RdgOjmKHdU5BNZgsy1JbNiB2HxCaUdSGrYbhVBajG7HO7+COm/h27u3MPJGLJ7vFaA"
    "XFzsd4F6pmbtwbgyFbaJCpbm41DkVc0i7gc7dsRZTmINWEdYagKLKsI5cYFcX7ZcIroxcb/RO8yUeFIMM+ImO1G0SF0Q27"
    "umHX5OZGPlBUoRyIwsy2MEvXmhxNbYltRxPE7nV8X0T6QXu5Bd9dpwH+MGyZjjbWdFfdDva8vrVnWaZt2p6uOWagWbpuWr"
    "am6NN1ktZJLp0v00LKinidcmlW5FUd5TX+XKGeraKSC7Xk9brMhTZf57PGGaVpG5Sf87KJj+JYiGlZRPEsquowycM4yYSt"
    "4imf1S1SFiV5zMsmI28yqmSRb7BmUc1z/IhjtsbyVuk7ocfJeRI31mo9rcvoAixez1orJtYC9Cs0Vsto1Vjjd3mUJbPwv0"
    "rKkjzJ1o264LWw8rxKijyskp+a5Nm6qossvGj0VfR2sK54FbboqyJ9lxXlaplUmZThBAc5guG86qRGlOrSVvJVmiC59Cqp"
    "w7nEy7Iow4xXVbTg0qpMzrFdKXyz5KUQZbRa8ThEtpC/XRU4WTEv0T/ekDRPC0xuh3E5yqY2bBvnhQ3OC6nVpSZztZ4ifR"
    "OySItplIYXdyxNpfv5al37TUeVHxd+XtR+FtWzpV8vuX/Z4+wiplrxWTLHdkSTA//oLZ5rHvvnUbrm/jcH/sifF6X/fpro"
    "KBPxL9DvTXsD/2mV5IsGe16kafFGnP6PpbrlR+WiOrv5ctC4/QP/y+kN/+tg4J9Ma2wR6T/mwyxkxNifb/7iz8siuwraOK"
    "9WeoUEFf/LJjm44Q/8xymPKu5XnPvLul5Vt4bDuJhVAzHVmJ8PeT5M8Rqrethe2vDykQyWdZZ2m3M/qir8riBZv3kFVVMB"
    "9s79mGMnaTWQpDbzfaT0yR+H1COKebf/4BH04Da1FvrrrDB/NE0TRop32h+5EEIEAcyAwz7Y1NqBrn5waHe79uE+jFnXtu"
    "FA8Z6aYxcmsKd4u+bEpdYWbCvPX5jbrjDsoeGMvtz6F37b3s4="
)
# A module in text, of an array, a number n and a table, whose regions use the last two: the sums of
# rows, but n at most; the maxima of windows, and n; two rows times n, and an update; two rows looked
# up in the table; n times a source, where the nearest to n of a window is; rows in the order of the
# distance to n; rows in descending order, as n > 0
VALUES_IN_REGIONS = (
    "eNqtVPtr21YY1c3nq1shjNCEuQhjhGdCEMbVNGNMCCFtQpyVNLhdiEMJwyi215r6kcZ2shBKO0oppZRSxhihhK6UMroyyj"
    "bGGGPsxRhjjLF/pPsTtiP50cJ+neyj73G+c+7Hdcja2b/fjq/3g+1W462z5eqef9IvnHxDYfOc8RwjnbKGJZNOZibr5Ytz"
    "C0srq+X1za0qvT71l8+OdOv/e2hW9zzD8HRd9/Tw7Tjlslcud8ueoevkG8KSAsuEHyEdS0qI0Jh6oXFfMsYk4wRkgDWgK5"
    "mQkmkJyfSiZDIlWQb1NOJMWrJ8UrLTwJIjWRXxCtADbliS3QRuAbeBO8Bd4B587gvJBogD+O3D48CW7BC4ClwzJAvABeBq"
    "qBvARfg1gcvI2+A3wG+A30R9AdhCbxm9ZfRWUJ8BVjG/BpSRnwdfAF8AX0Q9C8wB8+i76LvoZ1HnAA89Gz0bvSTqFOCgF4"
    "dXfF4yA7UJWIbGnITJlOHj8ElqadyZDrlRrXASOjEn87LBMD41KjKpVD5VcJgW2YTh+j8OT49pmhyQHh8wphw5MQE7HlT/"
    "Kxg/TtKH+wKyU/gC14GPgR9OvXLiS4PJwpbGhBCay0hzSdNcbtqUclnWpYBcrtnkUhz4gvDioDVuJ/GOkykEM8lyycRcXA"
    "uHIScGhCKfmMtsaCj22gnOzhETsReCGE+ew6XFfhLkbQpDkJbRFW0xziFcRMlSFVMjhzPBSTM43aP7iqF+AJ3nZ9UPEfNE"
    "sY+o4FQsndKcacO5m3RLsdXb0Zyt3hnN3aWCtpiIkzRL0iCDmFWxTcLihjmUHdJVRarXQhkZ6vuhzKfYDSpYleRkULc4de"
    "mKMqP2KEe+Wxpo5HGe5+o+MSpQ7ICK2mLKomS64iRClRQaGUlOVQoUXa1F9rraQPQprl6EKh9Xm6FYlC5L0nlxlmJtmot2"
    "2qBN7HQhGjbUrVCcp9g7VEhU0jaFVxh5L9MKvM+MvFdH3mtD7/LQ+3xy5L1Oc2YpkwqvIFGZthFTnOKSU5FmFVGaC+eweG"
    "k+TDxflBacKJlWT5Mu8oUixZZolqszNENxroZ/ExZXswgJruYQbK56CEmu+vjxnUwpnybL0NOZ6Rk3S7EC5VRsyJRPY0UY"
    "y4xMOLlMwpS2KS3DsG0pE4Zubg+arX6zo+xdanWVdrc+aDWU3UZ/sNvBv11kvUvBTiNMa932TrA7Sju9ftDph3lvsN3fDW"
    "pRHmz3olCvR0yrWYvGe7Wg32/sVvfeVHrd3WiyPcChO62DKA/ea7YH7TB9d9CpDY+tD4baUbbf7NS7+5FZo9XAaUGnXp34"
    "RhuhaHSAV4aGxF5jeGb9oBO0m7XqZK92szM+OIctcAnKicMMZ0x/+vnTL7+ir+kbeqAfPzv+9jv6Xvz487H58LNHjx8/ev"
    "KAfhHPnj/nR3/yh0/40Sfi19+O+dEf9Pu/eWwGyQ=="
)


def test_regions_use_the_size_of_a_dynamic_dimension(tmp_path):
    inputs = {"x": (tf.float32, [None, 4]), "i": (tf.int32, [3])}
    model = model_of(tmp_path, SIZE_IN_REGIONS, inputs, tf.float32)
    for size in (5, 4):
        x = (np.arange(4 * size) * 7 % 20).reshape(size, 4)
        indices = [3, 0, 3]
        done = run(model, x=x.tolist(), i=indices)
        assert done.returncode == 0, done.stderr
        scaled = x.copy()
        for i in indices:
            scaled[i] = scaled[i] * size + size // 2
        expected = np.column_stack([np.minimum(x.sum(1), size), scaled])
        np.testing.assert_array_equal(json.loads(done.stdout)["outputs"], expected)


def test_regions_use_arguments_of_the_module(tmp_path):
    inputs = {"a": (tf.float32, [4, 6]), "n": (tf.float32, []), "table": (tf.float32, [3])}
    model = model_of(tmp_path, VALUES_IN_REGIONS, inputs, tf.float32)
    a, n, table = (np.arange(24) * 7 % 24).reshape(4, 6) / 2, 5.25, np.array([10, 20, 30])
    done = run(model, a=a.tolist(), n=n, table=table.tolist())
    assert done.returncode == 0, done.stderr
    windows = np.lib.stride_tricks.sliding_window_view(a, (2, 3))[:, ::2]
    combined, looked_up, nearest = a.copy(), a.copy(), np.zeros((4, 6))
    combined[[2, 0]] = a[[2, 0]] * n + a[1:3]
    looked_up[[2, 0]] = table[np.minimum(a[1:3].astype(int), 2)]
    for i in range(6):
        row, column = i // 3 * 2, i % 3 * 2
        place = np.abs(a[row : row + 2, column : column + 2] - n).argmin()
        nearest[row + place // 2, column + place % 2] = n * (i + 1)
    order = np.argsort(np.abs(a - n), 1, kind="stable")
    expected = [
        np.minimum(a.sum(1), n),
        np.maximum(windows.max((2, 3)), n),
        combined,
        looked_up,
        nearest,
        np.take_along_axis(a, order, 1),
        -np.sort(-a[:2], 1),
    ]
    answer = json.loads(done.stdout)["outputs"]
    np.testing.assert_array_equal(answer, np.concatenate([part.ravel() for part in expected]))
