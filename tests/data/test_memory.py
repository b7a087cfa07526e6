"""Batches of data in memory."""

import numpy as np
import pytest
import torch

from widealign.data import InMemory

pytestmark = pytest.mark.quick


@pytest.fixture
def stored() -> InMemory:
    images = torch.arange(256, dtype=torch.uint8).view(64, 1, 2, 2)
    return InMemory(images, torch.arange(64) % 10, "cpu")


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_a_batch_follows_its_indices(stored, kind):
    inputs, labels = stored.batch(kind([63, 0, 63]))
    assert inputs.shape == (3, 1, 2, 2)
    assert (inputs.dtype, labels.dtype) == (torch.float32, torch.int64)
    assert (inputs[:, 0, 1, 1] * 255).round().tolist() == [255, 3, 255]
    assert labels.tolist() == [3, 0, 3]


def test_every_pixel_value_is_the_float_nearest_to_its_255th(stored):
    inputs, _ = stored.batch(range(64))
    assert np.array_equal(inputs.flatten().numpy(), (np.arange(256) / 255).astype(np.float32))


def test_pixels_stay_bytes(stored):
    stored.batch([1, 2])
    assert stored.images.dtype == torch.uint8
    assert stored.images.flatten().tolist() == list(range(256))
    assert len(stored) == 64


def test_float64_batches():
    stored = InMemory(
        torch.full((1, 1, 1, 1), 51, dtype=torch.uint8), torch.zeros(1, dtype=torch.int64), "cpu", torch.float64
    )
    assert stored.batch([0])[0].item() == 51 / 255


def test_an_index_out_of_range_is_refused(stored):
    with pytest.raises(IndexError):
        stored.batch([64])
