"""Crops of images. Random ones are keyed on (seed, epoch, index): neither order nor workers can change them."""

import math

import numpy as np
import torch
from PIL import Image
from torch import Tensor

CHANNEL_MEAN = (0.485, 0.456, 0.406)
CHANNEL_STD = (0.229, 0.224, 0.225)

_AREA = (0.08, 1.0)
_RATIO = (3 / 4, 4 / 3)
_TRIES = 10
_RESIZE_OVER_CROP = 256 / 224

Box = tuple[int, int, int, int]


def random_crop(image: Image.Image, size: int, seed: int, epoch: int, index: int) -> Image.Image:
    """A random part of the image at `size` x `size`, mirrored half of the time.

    The part has 8 % to 100 % of the area and a ratio of width to height of 3/4 to 4/3, even on a logarithmic scale.
    """
    random = np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, epoch, index))))
    # Crop, then resize: resize(box=...) lets the filter see past the box and differs by several levels.
    crop = image.crop(_random_box(random, *image.size)).resize((size, size), Image.Resampling.BILINEAR)
    return crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else crop


def centre_crop(image: Image.Image, size: int) -> Image.Image:
    """The middle at `size` x `size`, after the shorter side was resized to 256/224 of it."""
    short = round(size * _RESIZE_OVER_CROP)
    width, height = (short * side // min(image.size) for side in image.size)
    left, top = round((width - size) / 2), round((height - size) / 2)
    return image.resize((width, height), Image.Resampling.BILINEAR).crop((left, top, left + size, top + size))


def to_tensor(image: Image.Image) -> Tensor:
    """uint8, shape (3, height, width)."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()


def _random_box(random: np.random.Generator, width: int, height: int) -> Box:
    for _ in range(_TRIES):
        area = width * height * random.uniform(*_AREA)
        ratio = math.exp(random.uniform(math.log(_RATIO[0]), math.log(_RATIO[1])))
        across, down = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < across <= width and 0 < down <= height:
            left, top = int(random.integers(width - across + 1)), int(random.integers(height - down + 1))
            return left, top, left + across, top + down
    return _largest_box(width, height)


def _largest_box(width: int, height: int) -> Box:
    """The largest part in the middle with an allowed ratio: for images so long that no try fitted."""
    across = max(1, min(width, round(height * _RATIO[1])))
    down = max(1, min(height, round(width / _RATIO[0])))
    left, top = (width - across) // 2, (height - down) // 2
    return left, top, left + across, top + down
