"""Pictures as inputs of a signature."""

import json

import numpy as np

from clients.conftest import DIGITS
from clients.picture import png
from clients.test_command_line import done, tessera


def test_a_picture_gives_what_its_pixels_give(tmp_path):
    pixels = np.arange(0, 256, 4).reshape(8, 8)
    (tmp_path / "digit.png").write_bytes(png(pixels.tolist()))
    exact = json.dumps((pixels[None, :, :, None] / 255).tolist())
    by_values, by_picture = (
        json.loads(done("run", DIGITS / "2", "--json", "--input", f"image={value}"))["outputs"]
        for value in (exact, f"@{tmp_path}/digit.png")
    )
    np.testing.assert_allclose(
        by_picture["probabilities"], by_values["probabilities"], atol=1e-5
    )


def test_pictures_that_fit_nothing_are_refused(tmp_path):
    (tmp_path / "digit.png").write_bytes(png([[0, 255], [255, 0]]))
    (tmp_path / "cut.png").write_bytes(png([[0, 255], [255, 0]])[:40])
    for flags, word in [
        ([f"--input=image=@{tmp_path}/digit.png", "--image_size=9x9"], "not that of the input"),
        ([f"--input=image=@{tmp_path}/digit.png", "--image_size=big"], "HEIGHTxWIDTH"),
        ([f"--input=image=@{tmp_path}/digit.png", "--image_range=1"], "BLACK,WHITE"),
        ([f"--input=image=@{tmp_path}/cut.png"], "input 'image'"),
    ]:
        code, _, err = tessera("run", DIGITS / "2", *flags)
        assert code == 1 and word in err, err
