"""Models that JAX, or Keras on JAX, exports answer as they do in JAX.

The graph of such a model is one XlaCallModule node. tests/data/stablehlo/record.py has recorded the
models, and JAX's answers.
"""

import base64
import itertools
import json
import subprocess
import zlib

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from clients.server import DATA, Model, Server, binary

FOLDER = DATA / "stablehlo"
MODELS = ("mlp", "cnn", "lstm", "signal", "numbers", "matrices", "sizes")
AN_OP_OF = {
    "mlp": "MatMul",
    "cnn": "Conv2D",
    "lstm": "MatMul",
    "signal": "IRFFT",
    "numbers": "_SortByKey",
    "matrices": "_LapackGetrf",
    "sizes": "XlaReduceWindow",
}


@pytest.fixture(scope="module", name="server")
def _server():
    with Server(models=[Model(name, FOLDER / name) for name in MODELS]) as server:
        yield server


def predict(server, name, instances):
    status, _, body = server.http(
        "POST", f"/v1/models/{name}:predict", json.dumps({"instances": instances})
    )
    assert status == 200, body
    return np.array(json.loads(body)["predictions"])


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_jax(server, name):
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    answer = predict(server, name, recorded["instances"])
    np.testing.assert_allclose(answer, recorded["predictions"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_batches_of_another_size_are_served_too(server, name):
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    answer = predict(server, name, recorded["instances"][1:2])
    np.testing.assert_allclose(answer, recorded["predictions"][1:2], rtol=1e-4, atol=1e-5)


def ops_of(folder):
    arguments = [binary(), "inspect", "--json", str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    (meta_graph,) = json.loads(done.stdout)["meta_graphs"]
    return meta_graph["ops"]


@pytest.mark.parametrize("name", MODELS)
def test_inspect_counts_the_ops_of_the_module(name):
    ops = ops_of(FOLDER / name / "1")
    assert "XlaCallModule" not in ops
    assert AN_OP_OF[name] in ops
    assert not any(op["without_kernel"] for op in ops.values())


def test_the_first_of_an_approximate_order_are_found_without_sorting_all():
    """This model has `approx_min_k`, whose comparator is a function of the module."""
    ops = ops_of(FOLDER / "numbers" / "1")
    assert "TopKV2" in ops
    assert "XlaVariadicSort" not in ops


# Portable artifacts of modules, compressed. TensorFlow's and JAX's tools wrote the valid ones.
CALLS_ITSELF = (
    "eNotUNuK1EAQ7ZpK2YYmhNCEsIYmhLBIkBl3EBGRRRZxV3BlB1fwcchtNJgb2WTwh/wBwe/yF6wMFpyu"
    "c7pu3fXp9u9n537K8qb6cHu3P243F5sLAYaAHECFytVBGGH93odY6ZP9d1rjuVrMPZ1KK5cZ+q7U2pWh"
    "DPXqyYo8RPd1AIgBEMNdsGV8JR2A5wWgJUfWjLsAJGuboRiORDC+QhOYM8SEIHFMmHjGmMjBN5cm1goi"
    "DTZIlQLaKTqYoo0puMYj4BvwiABliqCsPwQ7Amn9QrBxJ1Fa96g0oY+BsK/PCAmBbkLkCBGqa2OjvRRb"
    "Ebfc2UpaW5SK+HuOoBvvlLeENdIjrgTxe5UYl5+NlFKQ+pHHIp/rZqo7cfze9KLty7mpxGHuCl6yKOaH"
    "qW/3RdY0ixyraR67heVjn5VF9jDt625f1u0puW+HbKwWuhYtd9vkWfGj6sp90XeH+ps4CHE1DGP/80s/"
    "fBTDWB+zqRJtxsOHOW/qggeUczHV/amneHzp8IpU/DxOtvjWO3+aPlvHcUxX71T8In756h8MvFd2"
)
GATHER_OF_SCALARS = (
    "eNo1j2FKw0AQhXecjOuyLMuyhKWEEKS/8sO2HkEK4o9Kiz1ASdpoA0kqIek9PJTn8QpOpT54zOO978+8"
    "rn7ezHYoyqZ6Wa1358fZYrYQMCEgBahRWh/wKfNgtf8TurlmWb1GLwPPifT+5ptMAER2zF6y2wDkAkiZ"
    "WSeuQpjq1KbOAxJk7h7+++tNc3KGVA4mR0OOUKJKcmZzVBBtCTYIMloiEG54jOYoNUlplaBnTagIuDRI"
    "t0yA+PJWUxw7q1051s1Qd+J8bE6iPR3GphLvY7fnf8VHMRyr/pL6ahj77pIeRFsw/jmWTb0Xd1NJANp5"
    "FwdjJ4lN7S9LNSlX"
)
CALL_OF_ANOTHER_RANK = (
    "eNo9UMFKw0AQ3XEyrssSliWEpYRQpIjsoaV+gbfqoWLRo4eSpCkGtmmJSf0Ev8cv8VP8BacUfPDmPd4M"
    "7zBPy9+X+LUvylA/Lp/Xx7vZfDYXkBGQBtSoTOIyfLi14HTyD7T6DIPWJNK5LJEX32QcIDJTB4pV3THf"
    "HGjrIJac3zsg9lIi5Hai8mSi8zR34xg8kEdLypOKySLXWJI8PYLJoy+CFYKMPpF7V4Qy8kiab4RaJISI"
    "QFHKspJSRlOUmoxCLeQiVuelQbpkBfEzMtoSeZtaNuXQhL5pxfE97MVuvxlCLbZDW/EbRFf3Q9eeXFWE"
    "cNKy2xebqvjo10273jS7UzYVW3HommPR12JXcNVhKENTiSuvCUC7zI1yvNFu7K4nOPoDOz02sg=="
)
BRANCH_IN_A_REDUCER = (
    "eNptkf9q2zAQx3W5XDUjjDAmMyEIE0xpTUnSUMLoxja2sV+sZb9g/xonURd3tmP8o7SPtIfYK2ywF9kr"
    "TE4yNuhOSHd8dPqeTjo/+/XB/ljH81S/OnsbXU3H09n4mMGQgBxAgVK63sAPDvDmzQCmXLYWCCnEZpql"
    "HQIHZpFuS/yJEEBCoie553oul2Z0HnV8NQEHSSlQPqhhgFw6LvWIeg4w8qhPAzUAUuTTkAK1D7SvQqAD"
    "NQIK6QjxxIbARjy18cFDNVITNVUnPlmHX/LvvnTYzizkHCzodELgVkiOzUO0uYMWihDJMZI9CKE/6P4g"
    "eA828O43BKJ3gLz71dwJ3T7jTzkhWZ8sjoLajQyFS21zTLw4sNA10N47Qg9J3kUk5JbRwC4a23rArmVK"
    "djnSnkHAftLMPNRwdB5KZxrQcD88dTyv13d6UjjzJknrJGdXq3TNsvWySTUrdd2UufkQdtHki9Yv1nlV"
    "x3ndxqVeNgu9pVkRl7swv9LlZn8RVxt0GV+Pm0pXUbWKCx0V6/QmW5fFKqkylplq47zJInO+TurEyP9l"
    "pS7SxKiwy6SOjPAy2pZk1y05/IeEt8Bkl7p193f+dtrn+jb704NOdaZNr/VNof+btdz0VuqqSesoyS/W"
    "bBuzLDYvWTRzc312JxA0ATGd3Xv8BJ/hc3r5+jfvYKRt"
)
# jnp.argsort(a, 0, descending=True, stable=True), as floats
STABLE_ORDER = (
    "eNplUutq3EYUnuOzx9NhEIMQQizLIMyybMTi3RhjFudKHLKucYzjhraUEBZ5M4nl6rLRxSS/+gZ9i/7p"
    "U+SN8godaTctbTXoO2e+Od+5aHTx8usPzus6vk7N9y8vl3cH04Oj6X0GYwIKACX6ygsG4XA8mR3iH42G"
    "M642z1AqKe2rOiv/9tuF+1LNNrzyNodhaAFIKuyrIFCcc2s8vjPFUO8LfQA6Aj0BF0nPQB8Ccs8PZF/S"
    "wAVGmkLa0+EeDfUQaKTHQGOKaEL7NKMDOtRzoCP9EGiunwId6+dAD/Up0GOBiD+HfZdtH/3Uc4EDRweG"
    "PuJbB5exfqaf6xf6dBjos5AEY19+6wxjhIK4BAE7OxE4EY1EByqCgRjYhpWLHHkLIkJyoXeLBFdgK/RO"
    "EEHIV3aO3hy5QnXMvMVjmxDB331mFSh6L5DkK8157/cd9IboMOcEBJJFiaRORg4KvrBajtBZYWv9JFzi"
    "goQkHEyEtDc0tovhwvFQkke0S0h8QB4ulN8y3oYJUW9j/G3MkPxtjO9vmDGOcHEUWGYvEj2Bk21VJXqA"
    "7i4CAftz99y1V7zn6tM5OdzjjhRyJPuj6DhwXbfv+oEfKOleN0laJzm7u0kLlhXvmtSwVZGt49LYv4xV"
    "JjWruvVKc2fKymzcuinz1nvf5KvWroq8quO8C0yKOu6kRdntV3GabmNsho66jT9Nm8pUy+omXpvlukg/"
    "Z0W5vkmqjGW2kWneZEvbQp3Uic38D1eadZqs4ordJvVymcbZ9bu49R+0cO/RhngSzeyu66PtumukgwfM"
    "fPw2Uc5yw9J6WRfs0//F9+LyQ6uI/nP0bQabIzN23Prz2vw7hG2V3YylqRpbI8nfF2zjsyy2H3vdXNsx"
    "2LpM7uLasO8u+jQHef7Lm5XBS3n+4fwywV8xwyu8oKuCzl7T2Y/0sfoLLWrHug=="
)
# jnp.lexsort((a[:, 1], a[:, 0])), as floats
ORDER_BY_TWO_KEYS = (
    "eNplU39rG0cQ3fVotD6W41gOcQixCFUI5zCyKowRjusKx1humhjFNWkwphxneRNfcj9k6c6NW0oopZRS"
    "Sr9Sab9N/yn0E3Tvh21w7tDMm7dvd96OpKPn/35lnqT+eai+eD71rocbw62NTwntI0VJgUPLsp1Wu7u2"
    "Ptgc7Yzh7z869JRZt0+XW5zrj1VkfofvWRjd0QNu2TnWod3m0+l0QJFbIC3LtpntMGY5Tout/FVry00q"
    "B1wOqdyisk8FoBxR+ZTKZxSY02yZ0sSOoAS72MM12e2hK9corst1in0c4BA3cQtHuC13KO7IMcVduU9x"
    "LA8p7uE+HsgpxUN5QvGpfEXxmQGMMjCpgQCePLIblPE21w3Kp9sCuDJhmcmpPJYn8iWg53WlfNVGg5A/"
    "PxSJEIQ276xWe1aqrKkKEXpPrX5EiTuVQVdWXGq6tO1Cx3TBaBga2C52DLMlXZojNAUIMAQaBli09iUi"
    "Pabade0TBGoYL/SYahlYbegeEHMiEJpArboNBoAu2X3JmpMjfQSi0aof65qz2kswjRcdDf4DEA4KQfgT"
    "agLqaAGKJ64Ay/6a28wwLAb5zEZnJsfyHeiXwIQ1gKFgWAdAJpmAieHkjCiZDrYrjV1pesyuNLZdMi6u"
    "VZpGpenrqtQ0GiUzxEGlcSrNFnMqjeOUzDaOYGI1NbO5U4HuOky2WwVo1Hd13tt16ns6j/dZjcMBq1Gw"
    "6kCRkn/YqdC/3Y6Qh6O+i8wwTWYzk/Meb/bcbUeYlhCO3RSNhmNxcZ4FYRrE5PoyTEiUXGShIrMkmvsL"
    "pf9bZKlCNUtztFBptohz9DqLZ3meJfEy9eNidRkGM1XKlpf+vIBBkvrFWrIoNH58kadkUWz2w7A65FqV"
    "62/99xvZUi298oR5Et5EyWJ+GSwjEml7G3EWedpYGqSBbn3PLdRct/eX5G2Qel7oR+cXfo4f5+HRZyXx"
    "uTvQVWGqcFSEx0Rd3d4xJrEiYeqliSbzqP1qs8R/cEpx1YfcVabUd+rjfo9C9T5v5D5Yur22bh0pPcL0"
    "Zv5gN6l2FmPRU820tSB+nZASk8jX39o8O9duyHwRXPupIquexDHlsyj59ob98us79tvv70Dx73+YqQ/w"
    "I/wEb/DNz3h6hqffoB+gf/Y/5dP6eg=="
)
# jnp.cumsum(a, 0)
CUMULATIVE_SUMS = (
    "eNp9Udtq20AQ3fVoshWLuqjCGBMWYYxRRLAdE0xweiMtTRuakKSFvoq1pRAF3dAlab6i39Df6c/0qe9d"
    "xQmlDXRAM7PnzOyZHZ0c//xkfa7VMok+HJ8G17PJbD7ZIXSAFG0KHIRwepvu0IPb8y4dMyHEkAvO9ffg"
    "BYeR4FPemnBa74pvpxS5ALsnGHN6Tq/zDFwpqQ0oXQDGLYE2YtemBHvYx03Z66OUmxRdHOBQDimOpEfR"
    "k9sUfYDnQ+FaunhtcluOgcqpRQFeW3DwVs7krpzLPZeZLe/a1HUOPPJ/c63B1n36cDE1aafj43eT+5RL"
    "0wfT1BODnoCaPpqmaTztID3XZcz4BdTCMwrM8AE58AFhhyNdCxQ0AnjWZczwWsrUDDXXDG0ZyplxA6aj"
    "GfMNWHodhyCAAVhfQOvpzTNjrFEUTDAiNvTCUDcaure9gW0ARUp+4ELvfuDYQs7RG414f+QvxNDv23ZX"
    "cHvZxEkdZ+T6MslJmodNEpEyqpsy0z+ZXDTZqo0rlSR3Mc+qWmV1my/LXIUrVdVBnAVhnLZYGYXNKgpu"
    "4izMb1pAhWEbrtTXSVNFVVBdqiIKijy5TfOyuIyrlKRaeZI1aVCoso7rWEv8wcqoSGItQq7iOggSlS5D"
    "1eb7rdt6sQZe+VN9+ke8atLHyD5Rjxu3Vk2qOf9vhqxRUpTxtaqj+2Owc/eWMqqapH34RU7WOUmV3mLR"
    "LPW45MmRgx7l4+nLd+9hV8fx7hwWfG+6t5jDEXzks5PZ6ew3sS2mVg=="
)
# lax.reduce_window(a, -jnp.inf, lax.max, (5, 7), (1, 1), "SAME")
WINDOW_MAXIMA = (
    "eNptUduK2zAQlTKeVYUwwphgQhAmBJOaJUlDWcr2SvpQ+rBle4G+Gif2slp8w5e9vPUHSj+h/9Of6R+0"
    "lTcpZdsKiTMzZ0ZnRnpz8v29/aGNN1n6+uQ0ulwtVkeLB4T6SFFSEGBL1xv7U9DrIQ2YlHIqpBD9ud2g"
    "lj26JiR8+eWUopDgSI8x13O9wbeBr0bUAVT+BJiwJTqIrkMJDtHDkfIojlEpRdHHiZpSnPq2YXcLILTp"
    "VAIsbVg9VIGaqVAd+sgJ+fTTd6jvrgf71N8If6FvT3Bvsj1STgeDkIoQg5VQPATOHWDAQqA8RM659RXp"
    "O5PFrM9AEd9SYNYNcBfkkLCXgID8lSlAAPERODDzUsyam+lQMMGIfQCASAEsg2CNgR2Yayj5Yc2lkJNg"
    "ptY4CsJjbxqOnKEUzqbTWasLcnmelSQvky5LSZ22XV2Y7yBnXbHtcVsWTRsXbW9v6jJOtnHTRrqIEp33"
    "sTpNum0aXekiKa/6QB5f67y75S7i60XXpE3UnMdVGlVldpOXdXWum5zkRnVRmLwqrlvdaiPzJ1anVaaN"
    "ELnQbRRlcb5JYhL33v2nO+95uLyrbGTv8uQf/jH5T4lpsU6bLutnOivJzjZDmIepuo3pgtwLBc6omB3O"
    "jx7BMTwRwbPgRfALcYiQrA=="
)
# lax.reduce_window(a, 0., lax.add, (1, 7, 7, 1), (1, 1, 1, 1), "VALID")
WINDOW_COUNTS = (
    "eNptUduK2zAQlTKeVYUwwphgQhAiGJOaJUlDWcr2SvpQ+rClN+ircWIv8dY3fNntfkTpJ/SP+intL1Ru"
    "upRtKyTOzDkzmhnp1dmPd/b7Lt7m6cuz19Hlerk+Wd4jVCNFSUGALV1vqn34uPFowKSUvpBCDOfXBrUa"
    "0DWU0HL1haKQ4ErGtHY91xt9G2k1oQ6g0jNgwpboILoOJThGDyfKozhFpRRFjTPlU/S1NOphAYQ29R2A"
    "lQ3r+ypQcxWqY418ELVL9dj5HUm03Nxksb/whqecjkYhZVyFnAczmxmwuQFwuDNMGgLlITqcW1+RvjXh"
    "zPoMFPENBWZdA3fBGxP2HBCQvwBmEMQH4GCbt2LWwoyHgglG7CMARApgGQRrCuzIXEPJd2shhZwFc7XB"
    "SRCeSj+cOGMpnG2f5V1Wkst9XpGiSvo8JU3a9U1pPoSc9+VuwF1Vtl1cdoO9bao42cVtF2VllGTFwDVp"
    "0u/S6Cork+pqIOIkGeAi/rTs27SN2n1cp1Fd5ddF1dT7rC1IYSouy76I6rjpsi4zJf5wTVrnmSlCLrIu"
    "ivK42CYxiQfv7uOD9zRc3a7a9sVtnfyjPyT/STEtNmnb58M85xU52KSIzaPU/dZ0Qe6EAudUzI8XJw/g"
    "FB6J4EnwLPgJ7RWOAQ=="
)
RELU_OF_A_BROADCAST = (
    "eNolj8tKxEAQRbus1LRNE5omhGYYQhausnAYl24VxcWIg65chbzEhjwkkwz+gZ/oZ/gLVvTAhcOluFCP"
    "+5/n8GUqyrZ52D/lp6vtbrsTkBBQCKhRm8htUrxOQrA6+gdDzaQGQ2eki+TZF1kHiJyYc+uAjAPJURxN"
    "CBcyiZI4BSWYVEFGTAakLCJChqCTwBMcEGTwikB4IJTBHaoIpRR0o3hD3muJgKBWIV8Q6sCgXLGC+HZG"
    "U+yytTXalrNvJ9+L03s7iG6o57YRb3Nf8W+iGvrjVPTT4uU4FHVVHKfc93ntu6Xrik/fzX86NtM89otd"
    "cs17H3PZ+kqcJ4oAtI1s7HCNm18V8jTz"
)
MINIMUM_OF_BOOL = (
    "eNotT8tKxEAQnLbSO4YhDGEIw7KEHDzlsA9P3vXiYcVFwask2YiBPGTN7M2zJ7/KD/IXdrJYUHR1FRTd"
    "D9u/p+h5LMq2vt8+vh6vV5vVRlDKxBFBQWljFxluFhFpZc5ApDzMGpE20hp58c2xJbm2BHgmnneWWFsK"
    "GXQlU5MmGUFkYSz+kRPnCJliAJSDVRr8MO2YZPAFYt5JyKCB1JChkLfK94QvkD4iHywhveMh1AxnDwHA"
    "CCLwbNrFr9WKbTKPE63i0jXt2PTi+N4Oohv2rq3FoR7doffvijfXV9Oshv5zLPpx0od676p6Ul3TN53r"
    "JrkUXeFbPlzZNpW4TP35pHSsTQKL+QlKHzFy"
)
# x @ w, y * 3, sort(y, 1) and max(y, 1) of int4: w a constant, and y made of x; as floats
FOUR_BITS = (
    "eNpdUgFr21YQfpfz5UV704QQRhjzMMYEVwTHy0IISSihDXVX2pB6Ji1t6IRiK4k6yfJkyUsYY2z7X4P9ov2FneSE"
    "uHvw7r67d+++T/d0+ubfH8xRHlzG4fdvzvzFzvbO3va3AnoEpAEVNi3HbbY63a3+7v7RMf7z1xYMpXW/OspSivej"
    "LY21xJbCXWUx7Ks+R456WI5z5gApC7uW60opXddxXUu60mG/Nqi19D7oXdBd0HtgI2lP6qegX5+irLsN1VTUtkFQ"
    "hzapq9sd8vQm0Bb1qK97QDt6B2iX9mifDvQR0BE91c+AjvULoGf6FdAJvdBnQC87bcSg1QHdcyxq1bnlcrnAwT0W"
    "JnRcxGsTo5/0K/1an+qzTkMPCQ0pVYtwgze2nPaG8ZX62vzGErCGNVqXSJ8+gQFrax4ojwy7Mmbd0Oz3TI9sziBZ"
    "Nhpo2yhReqChTJsnHoLloVHeoMqYtT+RYAgOyNpHRDCMt4Cy9uMatk/Q6Qv5nAhJPjdkZQ10cB25J5SuhdIeHCg0"
    "CJQaWCbnyVm3UJJhlefMXx8cc8yoCuvuO7Jxkwym6KFUpGxli+Y6UxAg1dirwYmDXWyUFzxsNgYv62gbpuNqqhnY"
    "Mt62XFm74Do0hflONkotstavmpnKFNZgq4nNqhuroRogdwIC8ffGyOYfpu02evue7h3Xt8g0lVbOpnfg8qs0Wq7t"
    "2Y26ayn7sojiPJqKxU2ciiSdFHEoxul0EWY5/8YiC/Mim5aIk/M8mFbZq2I6Lv1llgaTcTDP/WjqT6KkzM3T5c1x"
    "msyCLCzhJM3963AaZkHsL74TScGMs/iuqgrieMkzKcbhPc84yMMp7zJMgtsoKarOn4Pb7WIezv35TTAL/Vka3yVp"
    "NruJ5olIWP72lOuYM4/yiMU+5rJwFkcsU3yOcv8qLbISHJbmSRl5fUaV7socijj381TcrhTcy2Mxj8mV44eBhXGY"
    "hDyi/G4WrhyvfP9KlsfwpYQnJftq2/+P90vGhymJR3GHYlUojysL5zxsvn6ViiXmgfJrz4pLnoiYZdGi7LBxrekI"
    "1GgcJin+ir/h743h8Hx4MRz+cT70h3iO7/ECffygRj+P3s/pQ0G/3P0HWT4HlQ=="
)
# lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 3, 1), "SAME")
MAX_POOL = (
    "eNp1UduK2zAQlTKeVYUwwphgQlBFMCY1S5KGspS0lLJ9KH3Y0hv01TiJl3jxDV/28tZ+QOkn9A/6Mf2RfkIr74WlbHeQOIc"
    "zI53R6O3R74/2pzZeZ8mbo3fR6XK+PJg/JlQjRUlBgC1db6x9yA89GjAppS+kEP2+XKAW33viGk1o+XBAUUhwJWNau57rDX"
    "6CViPqACo9ASZsiQ6i61CCQ/RwpDyKY1RKUdQ4UT5FX0uTvQotD2/o4BrhGm90gH2b+g7A0oYnBypQUxWqfY2ckC9/tEv18"
    "Cu5J+g9eKeO08EgpIyrkKOtkBngtgFwuNOPKATKQ3Q4t34g/WDKmfUNKOJ7Csy6AO6CNyTsFSAgfw3MIIjPwME2Q2bWzIwF"
    "BROM2HsAiBTAMgjWGNieuYaSX9ZMCjkJpsMVukG48vxw5AylcNZdmrVpQU53WUnycttlCamTtqsL85PkuCs2PW7Komnjou3"
    "5ui7j7SZu2igtom2a91qdbLtNEp2lxbY864U8Pk/z7jJ3Ep/PuyZpomYXV0lUldlFXtbVLm1ykhvXeWHqqrhu0zY1NrdanV"
    "RZaozISdqaY2VG4p4+6mm4+NfS+N3myJ3cM/KfctNXnTRd1j/kuCRX3HRuplF1a2NNHoQCp1SEs8XTFTyHFyJ4GUynfwGi3"
    "43C"
)
# population_count, clz, shift_right_logical and shift_right_arithmetic by arange(16) % 6, each of a as
# int4 and of a + 8 as uint4; as floats
BITS_OF_FOUR = (
    "eNp1kv+K2kAQx7OOYxpCWEKQILINImJTOa2IiBwi9ui1pXfYu3uAEDV35ppf5MfRu/9L37Mv0Dco3TUeSn8s7Hxm5rtkZ2Z"
    "zefHzWrvJ3VXgfbhYOg/D/nDcfyMRGwk2CKhgUsNsWu1ubzCawLcbi4xl+rzaKlXV3S4XWAMeUEP41nJJKUGVQtMwDUOWTW"
    "rKsmFUXoLFuoSNCOsQHZDZhPUIOyFsQNiQgGw2mgpTkOlEQgtb2GZtgh3soo09PMEBDnGEY0vo5QKYaqRdB5hrsDhjEzZlp"
    "2xmGQrXFpbSkkgFqniwlvp3qkkMSohCKhUbFpqNyA0sTL4bCrOxxUOi8WpBr1s2EGoD0up1FckVqRO5+roKBPXPvPrqL4Cz"
    "78CvkN/KCAa3MijcKnyWNQCFHzznk0IAo8aBZJdWQVNqGlcVARWoWqMiEuCRVtNBQQUFVaQyrRm7WFDE4hO8thJGiXoJs0S"
    "jRLMEK2HhOWogQ2vP9p6dPbt72nv29jzZc1A/Rwq6PhyNJ9PT2dysyrCo8Q6J9EOeU5W2Wmcz/iDzOhode1q3qD4eDOoN26"
    "Sqvir8IPcj6WEbxFIYb4rAk9Zx9OClOf8NpVUau5u1m+WOHzkbPxQ5Lme5G+30JE7WpbeOC+4EnrvxozvnyUvjTKSzrX+bO"
    "6l/t+VifOev3eDPtJv6+Tb0cn8tlNsi2tHdbPaXrd3ci/gWYerlRRoJ79792i8yL3OyrZt4ThIHj2GcJls/C6WQN9OPitBJ"
    "3DT3c58XfMilXhLwMjLp3s+dlZ9nkivcV8K1D97geQpe4IUeby1/TLwjmdd3FPE5FIErbnJ2gzj+TvB0FP1jHv9RD2M5PpC"
    "76y+73lMvKwLxLLexVPpS6PKHTIoVb096caLjnKiT09m79/ARPsElLGEMV78BSxLllw=="
)
# lax.reduce_window(a, -jnp.inf, lax.max, (1, 3, 5, 1), (1, 1, 1, 1),
#                   ((0, 0), (0, 1), (1, 0), (0, 0))), for a of "1, h, w, 1"
DYNAMIC_MAX_POOL = (
    "eNrVVG1rG0cQ3vVosz2W4zgOIYzZ3hphlMO2FFUEYRs3uMF2Q2KcF5JSgjlO0lq69N56eyc5DYH2S7/2F7T/ob+sPyHdO9k"
    "OTpr2W6CDpJmd2Zl55plFJ4/+emo+K4JRJL99dOrP+93+3e4dhDsEkxYGBk3Laa257c5mbwB/vnXxkFqVMKvNLMaq7/LDHO"
    "bAMevVdi2WdmlpObV2rS9XfnN1IsOEWbDmWxaljtVyqdOiK0+Jy9exDYR3PL6NeQ+TNT7AQJ1mi6wSwm2MiUvWSZu7mGyQD"
    "t/AxCObfBOTbdIjfQDzNRno3zeAXcvGaCkmBnjG7/KhQSlhhO/wAQGAvbZjwvPv+B7f5/f4AVB/vGfCvYDf17+SH7ab/Ng1"
    "DIR+fueuYnftF/QJwR/oT4lrHVxdgUtNPkh1qVGZDiMOM/gD/hAbeGXFMwh6dynXBjE93PKwyQ0PbOZhrokDYlM9I5A1DzD"
    "ziG0w3PhjheAn2Ma0MV8BbJDHmtHG72B1wED0G0yAGkcGBapjR4ZRaXbEGNiEgHlo9U1ikEsHrRx3TcoIbR5hCwglFEMDg6"
    "mL2rTxFkyHmibjui44YFhH0ARd0X4BLSCEGLSxDTrboQ5Fzi0Ag+jVNEADb7SB3QJMMBo1T36lo1u6vX5f6zDw1qm70bEGx"
    "Nzwdrjdantua3vVblrMHpVhVIQJms+iFMXppIwkymVR5ol+w+i8TMaVHqeJKoKkqOypLPxJGMtEhWniq/AnubwRZ0G+NEtV"
    "pLE/DqKoOo7yNJiMA1X4YVIlVr5cTsqx9BdhMkkXlSMOLsK4rGNXeTLP09yPpVLBVKJXwUW3VFL5ahZk0s/S6HWc5tksVDG"
    "KNfZuorM1giIsNCz13pfLLAp1e/QqLPwpCip9e+r1bkLQ/S8D6KPA7scudJMAzQla4gqUknmFoAY8jdJREPlX7CF/kQdZJi"
    "e+DvryIkvzQlfT7Ne3c6nKqGLpPEVLG9XBrBzpCdAMLVCWh/OgkOhBkpWFqFsqMUlFkhYiDorxTBQzKd6TM766ozI5Ds81D"
    "xW2rji80OdCTsQ8iEopvt4XfXGe5uJ6LB3Iw+rPTHRmna54rsJkWtc+T6MoXVSn/+qidkWQT9XLO2fdOiz2xe3+lphticWW"
    "6HtdcToq9HgaxMddda7uqzPe3HkrzvM0vlm6Dt7Ee6PVy/6ZuF0ne1uiKx5HMlBSKCnFrCgytdvrTdKx6lakT+S8J5NepFl"
    "VRW+5k977N9adFXHUrs/b17vdrp+mqhFoBqSYSD1JpLqfdS+L//le9ABVof4/F1r8e6GvloX6n3vBX5ytkiFmp0/2v38JCk"
    "pYkPuH9vGDh8OT4XAIB+xsun8Qwg8Qs51058edvwEpbi3D"
)
# maxima and sums of windows of 9 rows
LARGER_WINDOWS = (
    "eNp9UmtrE0EUncnNzTgOy7AscSlhWEIIcQlNDKWUtBRpxarYUmtR0S/LJtnaLfsI+2jrN8Ef4E/1J+hsHthS8bKz"
    "595zDzNn7u7J8a/3xnnhT6Lg9fGpdz0ajLYHzwjtIEWLggBTWnbL6fT68OOzTcdMLqIjpBDrtX6gPZTDn1Vq6YZw"
    "HElRSLCkw5hj2ZZd+wKOcqhqUxNQ9ajaHKqtbWCm1WQ2Q9ukBDewhUopig62saO6FLvYU32KLvbViOImDtUOxZEj"
    "tXoZjkWdpknWlTxYN/gKaytc8wAvDNoxAd4Y8PZEbalttaPGDi70C/j+2+JIOa3VXCpcnRpcKK4Tw+TCBZObYABz"
    "gXIXTc7rVzWkZ1RSVj+sAUXjHQVWf1KDZh9aLcIOKQKyQ2CAcARcv5F/1MNlSBmrbwITKAxhELMBgEgB61ApsVIC"
    "/4gLpVgrdRDRwJVSozzqaDfIDTjiXB8CoqEBpYl1F6yGNkTJY7YnhWx3e93eRnu0v4921x3bjik7G01XCnNShlER"
    "JuT6MkpJnM7KKCCTLPVnUz8vvDDxZmGsfw+SBUWZJVU2TZO88JNiyc7KaeDdhMksvakIfzar4KJMpivt1C+CRK+q"
    "jP3bMC4X+135t4MyD3Ivv/TngTdPo29xms0vwzwmsfYySLRu7mdFWIT6wL9cFsyjUJsjV2HhRX72NcjIbVU8XRbu"
    "8L4pfeZ/unkZ3+veMXyP1/e6W5MHu+w+pMgDI7vkH970ILIgL6Nq2hcpWeZ6VPqjzMuJvit5NJK4RcXBy1enZ3AO"
    "H2BPjPfHz8fw6Q/PscmK"
)
# solutions of all kinds of systems with triangles of a and of complex(a, a^T), behind the Cholesky
# factor of a; see the test
TRIANGULAR_SYSTEMS = (
    "eNpVlQFo3FQYgJP3+i7GcIb0uIUzxOM8as1Ke55HLV2ppZbcnF2t2+jGLPNIb7n21lzudsl1q6IyRYfKFJU5VKboUFGZ"
    "IkNkiIiIiIiIiIiIiIiKiAwRERHR9/L+7GJK3ve/7///15d34W5h54Xd6T2hs+K5N+5crG2Ux8rjY9cI4ggRiSFiBefU"
    "jG7ki8MjpcrEFD5Zz4uzKr0kehcVVVHozf74oERzXFyEKKOoGRYtikRRsaEbumTo+YxkKJKBGticks2KbI7L5oScNydl"
    "DRPTkrGUyerpXJrkNVEgBVIkQ2ZeJsNmUSaWOSyTETJqjsqkZJZlUiYVMk4myCSZMmdkMp3PFESBXwhIMBELuEAKdF0x"
    "LWKyuFjUMd6XxvuXzRlz1pwz7URbfImyiJBF0mnFkqKRDjnZkmYhNixpELEYy1lTI4RgDSvEkmTqBrbpRNwla6I0MKhj"
    "kWi30Kca+HELfg3tJUQxlYKQqQ7RjWFRTalYpoedTY3QKeZTLOvVksTSpIplTAjddZV+GBDItERSpBRbICOnWGEmyvd1"
    "jusc1emEznOdp1qNV9PiQE0UWrzQivJ9XeK6RHUmoce5Hqc6G6+mx0E2UTjDC2eifF/bXNtU5xJ6nut5qo14NTMOjETh"
    "Ei9civJ9vcz1MtX5hHa4dqguxKsV46CQKFznhetRvq8Pc32Y6qGEPsL1EaqH49WsOBhOFB7jhceifF8f5/o41SMJfYLr"
    "E1SPxquV4mA0UXiKF56K8n19muvTVJcT+gzXZ6iuxKuNx0ElUXiWF56N8n19jutzVE8k9Hmuz6dTCn2fRA7+cqnk3ffY"
    "nOD3cVWcxBJ9MzlVoAbMAnWgATSBBWAROAQcBo4AR4FlYAU4AZwETgGngbPAOeB24A7gAnARuAu4B7gPuB94AFgD1oEu"
    "cBXYBLaAbWAA7AE3gXcA7wTeDbwXeB/wAeBDwEeAjwIfB54EPgl8Gvgs8DngC8CXgC8DXwW+DnwD+CbwLeDbwHeAHyhV"
    "cQqnCx9+9PEnn372+RdffvX1N99+9/0PoH/6+ZdfL/z2+x9//vX3P/8ilEKXIshchgbRFnQ5ugJdia5CW9EYuhZdh7ah"
    "69ENqIpuistuRrvRXnQrug2toAY6hHzURRvodnQXugfdjx7kZSZ5GD3GQ015Aj2FnkHPoxdRbmAav4JS9JtYFHZL2+nP"
    "XEE1JnO5ckHPFwlJD1mT2VzW0HQ9r2mWpSraSq/phU1f2Fjz2kKrfbDnucJKt+0crDtBWGv6tYPNFv2hFcJu0/FXe57T"
    "rQVtb8Nlrus6HmOz5awy1tt+3Qldn94w3XC7IQ9bHc89ysJGz6/zBR0/6LSDqNR3V+OmtbbnBuubfP2w1/VZdMg5OtYL"
    "3KAWrDkdt9Zpe5utdrez1gxaQovufMzvtWodpxs2w2bbD/qu63a8Jn0U4VAzrDUER1hh0dUNq3Tx/8cC9hhP6ZYuZmBP"
    "/db/n0Xs2XnEMTuT/sr8IFzPbbl+WAs3Oxd7gtCpr8MkesyuG/Q8dvKNtsBjoeXQD6jTW6FPIlyyFU2TCVHZtWfpQA07"
    "eE6em9vOhh1smI+mNpuyYZ4ONsvaLGuzrM2yNsvaNGuzXpv12qzXZr0267VZr816bdZrs16b9dqsl05t+r2z8B+XSYKV"
)
# jnp.linalg.cholesky(a), which calls LAPACK on CPUs and cuSOLVER on GPUs
CHOLESKY_OF_TWO_PLATFORMS = (
    "eNqlVP9rI0UU3+nL67gMy7IsMZQwLiGE3BLaGEoptRz1rlzqcS29WspRjmPZJJt0r5vduLvpXRE5RA5RERERERERERER"
    "ETlERPQU8Xf/Ef8F32yud+fdj75k35fPvPeZ92Y22dn+52VjP/d7UfDS9q530lnqrCw9r7E2Z6hLBiZU7UrVqTdb7eXV"
    "9Y1NeG7urw7b5WYhQoi6UNosPqLw6FuvzwAYmcIm0C5WEtMW7YR8cxYLR0lCNLsFICptm1C0za2KadLXZChMWKyaJq9w"
    "m1fpsavUj03C5/7mjuwwucgsQNlmcpnJNYZ1bGATeGWhyiVH12IMW7iIbVlvYEc2GS7LFsMVXMU1XMfzcpXhBl6Q5xlu"
    "Ajc/ta7bP5L9Vll5ieEleZnhltxheNmpM50DZgcGq9fkugFffClAXgGGDGDkuB2mzWRO+68AfA04+oYzZ9E6w5yFzpn7"
    "ZJkB01tyR+4CvGrAa3fkntyXB/IawIE8dHS9qFbmtzsO11UxmYeg9uJjzHNP7GALZgvk6DRrT2/62efyOoK8IT3pl4Ex"
    "5rQedmvAd9/Lvt3eloEFrCx0JfAT/vonU2Lzez//QrdggU7u/T8sMCywbLjHdDY353JKrrjMdllFuqjrNnMpsVrgpu6C"
    "IWwCTIoRTYv6A3SBCZVq0oKgjKoLqB5RK72NyPZYmfFSD4HpxlUGvLQIXKAhNrVqd4vK6UawdAXQuFrjvPR7CVr7aOga"
    "v8h00EmLQhvASZuFptYrXdcGBDDnFQO9+V29TLGxMK9TbNnWswCcdqQLxxKAeGB1hSNUdLBq5S24UKFcKEOXHguE3oUF"
    "kLjYJqAKDnSKBSSiLkjylsU8VfPV1oriWptxbDj/h8O+KGpgQBfLpIWaxsCqJLQOht5daUADnRp0jSaV1skqKhTz60TR"
    "WGhiiYE7r15qLdZHDdFEx7Dot1yruWC20K5zYet6uSKMhrvWWHatctWxLNMqVxbKrqkLqzcNozyMtZOjKNGywak2TgbT"
    "KNB6aeIP+n6We2HsDcIx/ddoaZBP01h5/STOcj/OZ/544qeBcrMgCvoFOJzGfWX9waDI8bMiIUxyv4inWZ6Mvb4fRSrM"
    "Uz/OJsksZxCehINgVjVbHlNvSz2/fxzEA4+2HoajGTZMkzhXoJ/nadib5kGmZljKjvx0EMYjL1Wj3PRvL02zIPMIngTe"
    "JIlOx0k6OQqz8Ywmno49GiEP85DmeoSlwSQKqXXtZph7I6VfUOrcyG2TedS1mlK1rfWPkijIjk+LObXR06d4dkKx5j/G"
    "dO6szn0AakXPoyjp+ZF3dtaaN4n8fJikYyIbBLeLnDTIppFiHybazNfGPl3nZNqj1rVJGp74eaBFya0g1dRMPT/vH6lW"
    "Mq24hiQ6CVI6kzwdesNhqE0n9B5E/oRO28sewc/cdXGDif1rp6+/AYdk7x6+CW/BO/AuvAfvwwewa93wfvD7QXiMe2NI"
    "4BWKvypi+BA+wr2P4ZN/AcASRpc="
)
# the same, exported with jax_enable_x64: the index of the platform has 64 bits
CHOLESKY_IN_64_BITS = (
    "eNqlVP+L3FQQz7vZudfcI4QQ1rAsj7As6zYcd+tyHMd5nmdbumdpy/UspZRSQnY3u5dedrMm2WsPkSIiUkREREVERERE"
    "REREihS/ISL+Nf7mz87L9nq2/dHZZL58Zt7nZTIve/HC3y8Zl/OgG4cvXtjxD9rL7dXlZzTW5gx1l4EJ0naqbr252FpZ"
    "29g6sw1Pz/21wna4WYgQoi6UNoufKDy66vUZAJEpbALtIpOYtmgl5JuzWLgtlyQhnp0CEU7LJhhtc9sxTbpMhsKEVlVt"
    "53C7yrlNumo7NgmfWzjhyjaTS8wClC0mV5hcZ9jAJnrAnUqVS46LFmO4hC1sy3oDV2ST4apcZLiG67iBm7gl1xiewjNy"
    "k+FZ4Oan1nX7R7LfKivPMtyW5xiekxcZnncbTOeA2RWD1ety04AvvhQgLwJDBjB0F9tMm8mc9qgAfA04/IYzt2UdYW61"
    "feQ+vsyA6S25I3cBXjHg1Tvysrwir8prAFfkdVfXi9XGMZFCfr3jCl3xkHkIai/8Z5O5xzazObM5cnS92pP7f/a5vIEg"
    "fRnIXhkYY+7Sw/0M+O57GdrtC3JoASsLXQncx9/+ZEpsfu+nX2ggFujk/v6HBYYFlg33mM7m5jxOxY70mOOxise4h7rO"
    "mQd6pchYetUDg9sEWAQgWhYaCDTPWalFCU4V0qOJ081rpZ8R2S4rM176AIHpxiUGvLQEXGBFnNFkZ5uWo8LOAxqXapyX"
    "/ilB6zpWdA1PMx100gIM0kbhmyBIW4W2QXc6XhkQwJxXPGBBR3coNivzOsV2uToPIIBZTylT0eks8BKA8cAKhSNUdbBq"
    "5W04VaEl4ECHbhsMvQNVcLG9QoCEGqwWCQSdrAtlWBNEjnyjta64NmccW7X/w2GfFnX6qjvokOaqKRPdGqENMPXOahOa"
    "WG9Ax/BoaZOsokIxv0EUnlzkJQZL8+q8awsLUUM0kc4hfei1mgdyHe06F7aulxui0vDWGyue5ZSrrmWZVtkpVzxTF1Z3"
    "GsV5NNYO9uJEy/qH2ijpT+NQ66ZJ0O8FWe5HY78fjeivSOsl4ywPxrny0zCfpuMZOpoEaajcLIzDXpEeTMc9ZYN+v6gJ"
    "sqIgSvKgiKdZnoz8XhDHKszTYJxNkllNPzqI+uGD/Q7CNJ8RzCpH9JjL3aC3H477PuUH0XCGDdJknCswyPM06k7zMFPt"
    "LGd7QdqPxkM/VV3dDG4vT7Mw8wmehP4kiQ9HSTrZi7LRjGY8HfnUTR7lETV7jKXhJI6oC+1mlPt+HIy6/UD5zyp18rkZ"
    "8LzXoui4G9W9akfr7SVxmO0fFv1rwyff7tGbG2vBk4Qnj5Z7j+a0op1hnHSD2D+ajeZP4iAfJOmIqPvh7aImDbNprPYa"
    "JNrM10YBDX0y7VJX2iSNDoI81OLkVphqqt1ukPf21INlWjGsJKZB0OvK04E/GETadEKnJQ4mNAg/O4ZP3F3ELSYuXz18"
    "7XW4RvaNa2/CXXgL3oZ34F14D96HHeuG/0PQC6N93B1BAi9T/FURw4fwEe5+DJ/8C4qdV/g="
)


def model_of(folder, artifact, inputs, output, platforms=("CPU",)):
    """A SavedModel that calls a module, made without TensorFlow's tracing, which would refuse some."""
    file = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta_graph = file.meta_graphs.add()
    meta_graph.meta_info_def.tags.append("serve")
    graph = meta_graph.graph_def
    graph.versions.producer = 1087
    signature = meta_graph.signature_def["serving_default"]
    signature.method_name = "tensorflow/serving/predict"
    call = graph.node.add(name="call", op="XlaCallModule")
    call.attr["module"].s = zlib.decompress(base64.b64decode(artifact))
    call.attr["version"].i = 9
    call.attr["platforms"].list.s.extend(platform.encode() for platform in platforms)
    call.attr["Tout"].list.type.append(output.as_datatype_enum)
    call.attr["Sout"].list.shape.add(unknown_rank=True)
    signature.outputs["y"].name = "call:0"
    signature.outputs["y"].dtype = output.as_datatype_enum
    for name, (dtype, shape) in inputs.items():
        node = graph.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        call.input.append(name)
        call.attr["Tin"].list.type.append(dtype.as_datatype_enum)
        signature.inputs[name].name = f"{name}:0"
        signature.inputs[name].dtype = dtype.as_datatype_enum
        signature.inputs[name].tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
    (folder / "saved_model.pb").write_bytes(file.SerializeToString())
    return folder


def run(folder, **inputs):
    arguments = [f"--input={name}={json.dumps(value)}" for name, value in inputs.items()]
    return subprocess.run([binary(), "run", folder, "--json", *arguments], capture_output=True,
                          text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "artifact, shapes, told",
    [
        (CALLS_ITSELF, ([3], []), "calls itself"),
        (GATHER_OF_SCALARS, ([4, 3], []), ""),
        (CALL_OF_ANOTHER_RANK, ([2, 3], []), "of other types"),
    ],
    ids=["calls itself", "gather", "call"],
)
def test_modules_that_are_no_good_end_in_an_error(artifact, shapes, told, tmp_path):
    types = [tf.int32 if artifact == GATHER_OF_SCALARS and not shape else tf.float32
             for shape in shapes]
    inputs = dict(zip(("a", "b"), zip(types, shapes)))
    values = {name: np.ones(shape).tolist() for name, shape in zip(("a", "b"), shapes)}
    done = run(model_of(tmp_path, artifact, inputs, tf.float32), **values)
    assert done.returncode == 1, done
    assert told in done.stderr


def test_a_zero_in_full_gives_its_shape_to_a_broadcast_scalar(tmp_path):
    model = model_of(tmp_path, RELU_OF_A_BROADCAST, {"a": (tf.float32, [])}, tf.float32)
    assert json.loads(run(model, a=3).stdout)["outputs"] == [[3.0]]


def test_a_minimum_of_bools_starts_with_its_initial_value(tmp_path):
    model = model_of(tmp_path, MINIMUM_OF_BOOL, {"a": (tf.bool, [2])}, tf.bool)
    assert json.loads(run(model, a=[True, True]).stdout)["outputs"] is False


def test_a_reducer_branches_for_each_element(tmp_path):
    model = model_of(tmp_path, BRANCH_IN_A_REDUCER, {"a": (tf.float32, [4, 3])}, tf.float32)
    rows = [[1, 5, 2], [7, 0, 3], [4, 9, 1], [0, 2, 8]]
    assert json.loads(run(model, a=rows).stdout)["outputs"] == [7.0, 9.0, 8.0]


def test_sorting_by_a_key_keeps_the_order_of_equal_keys(tmp_path):
    model = model_of(tmp_path, STABLE_ORDER, {"a": (tf.float32, [9, 2])}, tf.float32)
    keys = [3, -0.0, 0.0, 3, -1, 5, 0.0, -1, 5]
    order = json.loads(run(model, a=[[key, -key] for key in keys]).stdout)["outputs"]
    assert [row[0] for row in order] == [5, 8, 0, 3, 1, 2, 6, 4, 7]
    assert [row[1] for row in order] == [4, 7, 1, 2, 6, 0, 3, 5, 8]


def test_sorting_by_two_keys_looks_at_the_second_where_the_first_are_equal(tmp_path):
    model = model_of(tmp_path, ORDER_BY_TWO_KEYS, {"a": (tf.float32, [8, 2])}, tf.float32)
    keys = [[2, 5], [1, 7], [2, -1], [0.0, 3], [-0.0, 2], [1, 7], [2, 5], [-4, 9]]
    answer = json.loads(run(model, a=keys).stdout)["outputs"]
    assert answer == [7, 4, 3, 1, 5, 2, 0, 6]


def test_cumulative_sums_are_sums_of_windows(tmp_path):
    model = model_of(tmp_path, CUMULATIVE_SUMS, {"a": (tf.float32, [40, 2])}, tf.float32)
    numbers = np.arange(80).reshape(40, 2) % 7 - 2.0
    answer = json.loads(run(model, a=numbers.tolist()).stdout)["outputs"]
    np.testing.assert_array_equal(answer, np.cumsum(numbers, 0))


def test_maxima_of_windows_in_two_dimensions(tmp_path):
    model = model_of(tmp_path, WINDOW_MAXIMA, {"a": (tf.float32, [9, 12])}, tf.float32)
    numbers = np.arange(108).reshape(9, 12) * 31 % 109 - 60.0
    answer = json.loads(run(model, a=numbers.tolist()).stdout)["outputs"]
    padded = np.pad(numbers, ((2, 2), (3, 3)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 7))
    np.testing.assert_array_equal(answer, windows.max((2, 3)))


def test_sums_of_windows_are_exact(tmp_path):
    """A count of 26.999998 ones would be 26 as an integer."""
    model = model_of(tmp_path, WINDOW_COUNTS, {"a": (tf.float32, [2, 9, 8, 3])}, tf.float32)
    numbers = (np.arange(432).reshape(2, 9, 8, 3) * 31 % 43 < 23).astype(np.float32)
    answer = json.loads(run(model, a=numbers.tolist()).stdout)["outputs"]
    windows = np.lib.stride_tricks.sliding_window_view(numbers, (7, 7), (1, 2))
    np.testing.assert_array_equal(answer, windows.sum((4, 5)))


def test_integers_of_four_bits_are_computed_with(tmp_path):
    model = model_of(tmp_path, FOUR_BITS, {"a": (tf.float32, [2, 4])}, tf.float32)
    x = np.array([[9.5, -3, 7, -20], [1, -1, 2.5, 0]])
    answer = np.array(json.loads(run(model, a=x.tolist()).stdout)["outputs"])
    np.testing.assert_array_equal(answer[:, :4], x @ np.arange(-8, 8).reshape(4, 4))
    saturated = np.clip(np.trunc(x), -8, 7)
    np.testing.assert_array_equal(answer[:, 4:8], (saturated * 3 + 8) % 16 - 8)
    np.testing.assert_array_equal(answer[:, 8:12], np.sort(saturated, 1))
    np.testing.assert_array_equal(answer[:, 12], saturated.max(1))


def test_maxima_of_pools_are_those_of_all_floats(tmp_path):
    """NaN is the maximum of a window that has it, and -inf that of a window without another number."""
    model = model_of(tmp_path, MAX_POOL, {"a": (tf.float32, [1, 3, 7, 1])}, tf.float32)
    x = np.full((3, 7), -np.inf)
    x[0, 3], x[1, 5], x[1, 6], x[2, 4] = 2, np.nan, 3, -1
    answer = json.loads(run(model, a=x.reshape(1, 3, 7, 1).tolist()).stdout)["outputs"]
    maxima = np.array(answer, dtype=float).reshape(2, 3)
    np.testing.assert_array_equal(maxima, [[-np.inf, 2, np.nan], [-np.inf, -1, -np.inf]])


def test_bits_of_integers_of_four_bits(tmp_path):
    model = model_of(tmp_path, BITS_OF_FOUR, {"a": (tf.float32, [16])}, tf.float32)
    x = np.arange(-8, 8)
    answer = json.loads(run(model, a=x.tolist()).stdout)["outputs"]
    bits, shifted, places = x & 15, x + 8, np.arange(16) % 6

    def signed(values):
        return (values ^ 8) - 8

    expected = [
        [int(value).bit_count() for value in bits],
        [int(value).bit_count() for value in shifted],
        [4 - int(value).bit_length() for value in bits],
        [4 - int(value).bit_length() for value in shifted],
        signed(bits >> places),
        shifted >> places,
        x >> places,
        signed(shifted) >> places & 15,
    ]
    np.testing.assert_array_equal(answer, expected)


def test_windows_that_do_not_fit_into_the_operand_have_no_results(tmp_path):
    model = model_of(tmp_path, LARGER_WINDOWS, {"a": (tf.float32, [1, 3, 4, 2])}, tf.float32)
    done = run(model, a=np.ones((1, 3, 4, 2)).tolist())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"] == [[]]


@pytest.mark.parametrize("rows, columns", [(4, 6), (1, 6), (1, 2), (4, 1)])
def test_windows_need_not_fit_into_an_operand_of_any_size(rows, columns, tmp_path):
    model = model_of(tmp_path, DYNAMIC_MAX_POOL, {"a": (tf.float32, [1, None, None, 1])}, tf.float32)
    x = np.arange(rows * columns).reshape(rows, columns) * 31 % 43 - 20.0
    done = run(model, a=x.reshape(1, rows, columns, 1).tolist())
    assert done.returncode == 0, done.stderr
    answer = np.array(json.loads(done.stdout)["outputs"])
    padded = np.pad(x, ((0, 1), (1, 0)), constant_values=-np.inf)
    if padded.shape[0] < 3 or padded.shape[1] < 5:
        assert answer.size == 0
        return
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 5))
    np.testing.assert_array_equal(answer[0, :, :, 0], windows.max((2, 3)))


def test_triangular_systems_have_sides_triangles_and_transposes(tmp_path):
    shapes = {"a": (tf.float32, [3, 3]), "b": (tf.float32, [3, 3])}
    model = model_of(tmp_path, TRIANGULAR_SYSTEMS, shapes, tf.float32)
    a = np.array([[4, 1, -1], [1, 3, 0.5], [-1, 0.5, 2]])
    b = np.array([[1, 2, -3], [0, 4, 5], [6, -1, 2]])
    done = run(model, a=a.tolist(), b=b.tolist())
    assert done.returncode == 0, done.stderr
    answer = iter(np.array(json.loads(done.stdout)["outputs"]))
    np.testing.assert_allclose(np.tril(next(answer)), np.linalg.cholesky(a), rtol=1e-5, atol=1e-6)

    def solve(matrix, sides, left):
        return np.linalg.solve(matrix, sides) if left else np.linalg.solve(matrix.T, sides.T).T

    def expect(matrices, sides, left):
        for matrix in matrices:
            x = next(answer)
            x = x + 1j * next(answer) if np.iscomplexobj(matrix) else x
            np.testing.assert_allclose(x, solve(matrix, sides, left), rtol=1e-5, atol=1e-5)

    for left, lower, unit in itertools.product((True, False), repeat=3):
        for matrix, sides in ((a, b), (a + 1j * a.T, b - 1j * b)):
            triangle = np.tril(matrix) if lower else np.triu(matrix)
            if unit:
                np.fill_diagonal(triangle, 1)
            kinds = [triangle, triangle.T] + [triangle.conj().T] * np.iscomplexobj(matrix)
            expect(kinds, sides, left)
    np.testing.assert_allclose(next(answer), np.linalg.solve(np.tril(a), b), rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    "artifact", [CHOLESKY_OF_TWO_PLATFORMS, CHOLESKY_IN_64_BITS], ids=["32 bits", "64 bits"]
)
def test_branches_of_other_platforms_need_no_translation(artifact, tmp_path):
    """A matrix that is not positive definite has no Cholesky factor, which is no error."""
    shapes = {"a": (tf.float32, [2, 2, 2])}
    platforms = ("CPU", "CUDA")
    model = model_of(tmp_path, artifact, shapes, tf.float32, platforms)
    done = run(model, a=[[[1, 2], [2, 1]], [[4, 2], [2, 5]]])
    assert done.returncode == 0, done.stderr
    factors = np.array(json.loads(done.stdout)["outputs"], dtype=float)
    np.testing.assert_array_equal(np.isnan(factors[0]), [[True, False], [True, True]])
    np.testing.assert_allclose(factors[1], [[2, 0], [1, 2]])
