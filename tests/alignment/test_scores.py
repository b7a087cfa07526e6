"""The alignment score against its definition, its bounds, and its estimates."""

import math
import time
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from widealign.alignment import Images, as_matrix, score, score_images, score_permuted, score_probe, score_sketched
from widealign.errors import Diverged, UsageError

SHAPES = st.one_of(
    st.tuples(st.integers(1, 12), st.integers(1, 30)),
    st.tuples(st.integers(1, 6), st.integers(1, 5), st.sampled_from([1, 3]), st.sampled_from([1, 3])),
)


def by_definition(delta_w: Tensor, delta_w_star: Tensor) -> float:
    """Equation 13 with the fan-in × fan-in matrices written out."""
    delta = delta_w.double().flatten(1).mT @ delta_w.double().flatten(1)
    sigma = delta_w_star.double().flatten(1).mT @ delta_w_star.double().flatten(1)
    return (torch.trace(delta @ sigma) / (torch.trace(delta @ delta) * torch.trace(sigma @ sigma)).sqrt()).item()


def pair(shape: tuple[int, ...], seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator), torch.randn(shape, generator=generator)


@pytest.mark.quick
@given(shape=SHAPES, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_score_is_equation_13(shape: tuple[int, ...], seed: int) -> None:
    a, b = pair(shape, seed)
    assert score(a, b) == pytest.approx(by_definition(a, b), rel=1e-10, abs=1e-12)


@pytest.mark.quick
@given(shape=SHAPES, seed=st.integers(0, 1000), factor=st.sampled_from([1e-30, 1e-3, -2.0, 1e20]))
@settings(deadline=None, max_examples=60)
def test_score_is_one_for_proportional_changes_and_ignores_scale(
    shape: tuple[int, ...], seed: int, factor: float
) -> None:
    a, b = pair(shape, seed)
    assert score(a, factor * a) == pytest.approx(1.0, abs=1e-6)
    assert score(a, factor * b) == pytest.approx(score(a, b), abs=1e-6)
    assert 0.0 <= score(a, b) <= 1.0


@pytest.mark.quick
def test_score_ignores_rotations_of_outputs_but_not_of_inputs() -> None:
    a, b = pair((6, 9), 0)
    outputs, inputs = torch.linalg.qr(torch.randn(6, 6)).Q, torch.linalg.qr(torch.randn(9, 9)).Q
    assert score(outputs @ a, b) == pytest.approx(score(a, b), abs=1e-5)
    assert abs(score(a @ inputs, b) - score(a, b)) > 1e-3


@pytest.mark.quick
@pytest.mark.parametrize("zero", [0, 1])
def test_an_unchanged_layer_is_nan_with_its_name(zero: int) -> None:
    changes = [torch.randn(3, 4), torch.randn(3, 4)]
    changes[zero] = torch.zeros(3, 4)
    with pytest.warns(RuntimeWarning, match=r"'layers\.2\.weight' have not changed"):
        assert math.isnan(score(*changes, layer="layers.2.weight"))


@pytest.mark.quick
@pytest.mark.parametrize("zero", [0, 1])
def test_the_probes_of_an_unchanged_layer_are_nan_with_its_name(zero: int) -> None:
    changes = [torch.randn(3, 4), torch.randn(3, 4)]
    changes[zero] = torch.zeros(3, 4)
    with pytest.warns(RuntimeWarning, match=r"'layers\.2\.weight' have not changed"):
        estimate = score_probe(*changes, layer="layers.2.weight")
    assert all(math.isnan(number) for number in estimate)


@pytest.mark.quick
def test_numpy_arrays_and_lists_are_changes_too() -> None:
    a, b = pair((4, 5), 3)
    generator = [torch.Generator().manual_seed(0) for _ in range(4)]
    assert score(a.numpy(), b.numpy()) == score(a, b)
    assert score(a.tolist(), b) == pytest.approx(score(a, b))
    assert score_probe(a.numpy(), b.numpy(), generator=generator[0]) == score_probe(a, b, generator=generator[1])
    assert score_permuted(a.numpy(), b.numpy(), b.numpy(), generator=generator[2]) == score_permuted(
        a, b, b, generator=generator[3]
    )


@pytest.mark.quick
def test_errors_say_what_was_given() -> None:
    with pytest.raises(UsageError, match=r"\(3, 4\) and \(4, 3\)"):
        score(torch.zeros(3, 4), torch.zeros(4, 3))
    for estimate in (score_probe, lambda a, b: score_permuted(a, b, b)):
        with pytest.raises(UsageError, match=r"\(3, 4\) and \(4, 3\)"):
            estimate(torch.ones(3, 4), torch.ones(4, 3))
    for shape in ((3,), (0, 3)):
        with pytest.raises(UsageError, match="Leave biases out"):
            as_matrix(torch.zeros(shape))
    with pytest.raises(Diverged, match="layer 'a'"):
        score(torch.full((2, 2), math.inf), torch.ones(2, 2), layer="a")
    with pytest.raises(UsageError, match="rounds="):
        score_probe(torch.ones(2, 2), torch.ones(2, 2), rounds=1)
    with pytest.raises(UsageError, match="kernel"):
        score_probe(torch.ones(2, 2), torch.ones(2, 2), images=Images(height=4, width=4))


@given(shape=SHAPES, seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=40, derandomize=True)
def test_matrix_probes_agree_with_the_exact_score(shape: tuple[int, ...], seed: int) -> None:
    a, b = pair(shape, seed)
    estimate = score_probe(a, b, rounds=100, probes=200, generator=torch.Generator().manual_seed(seed))
    assert abs(estimate.value - score(a, b)) <= 3 * estimate.error + 1e-6


def test_the_standard_error_of_matrix_probes_is_as_large_as_their_errors() -> None:
    """Errors in units of the stated one are of mean 0 and size 1: probes are not normalised, which would bias them."""
    ratios = []
    for seed in range(400):
        a, b = pair((1 + seed % 7, 1 + seed % 11), seed)
        estimate = score_probe(a, b, rounds=100, probes=2, generator=torch.Generator().manual_seed(seed))
        if estimate.error > 1e-3:
            ratios.append((estimate.value - score(a, b)) / estimate.error)
    errors = torch.tensor(ratios)
    assert abs(errors.mean()) < 0.2
    assert 0.9 < errors.std() < 1.3


@pytest.mark.quick
def test_the_standard_error_shrinks_with_the_root_of_the_rounds() -> None:
    a, b = pair((8, 20), 1)
    few, many = (score_probe(a, b, rounds=n, generator=torch.Generator().manual_seed(3)).error for n in (50, 800))
    assert 2.5 < few / many < 6


def matrix_of(kernel: torch.Tensor, height: int, width: int, stride: int) -> torch.Tensor:
    """The matrix of a whole convolution with SAME padding, built by applying it to each unit image."""
    pads = []
    for size, k in ((width, kernel.shape[3]), (height, kernel.shape[2])):
        total = max((-(-size // stride) - 1) * stride + k - size, 0)
        pads += [total // 2, total - total // 2]
    pixels = kernel.shape[1] * height * width
    unit = torch.eye(pixels, dtype=kernel.dtype).view(pixels, kernel.shape[1], height, width)
    return torch.conv2d(torch.nn.functional.pad(unit, pads), kernel, stride=stride).flatten(1).mT


@pytest.mark.quick
@given(st.integers(1, 4), st.integers(1, 11), st.integers(1, 11), st.integers(1, 3), st.sampled_from([1, 2, 3, 5]))
@settings(deadline=None, max_examples=60)
def test_the_score_on_images_is_that_of_the_whole_convolutions_matrix(channels, height, width, stride, k) -> None:
    generator = torch.Generator().manual_seed(channels * 1000 + height * 100 + width * 10 + stride)
    a, b = (torch.randn(3, channels, k, k, generator=generator, dtype=torch.float64) for _ in range(2))
    found = score_images(a, b, Images(height=height, width=width, stride=stride))
    expected = by_definition(*(matrix_of(kernel, height, width, stride) for kernel in (a, b)))
    assert found == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.quick
def test_image_probes_converge_to_the_score_on_images() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(4, 2, 3, 3), torch.randn(4, 2, 3, 3)
    for stride in (1, 2):
        images = Images(height=6, width=6, stride=stride)
        estimate = score_probe(a, b, images=images, rounds=60)
        assert abs(estimate.value - score_images(a, b, images)) < 4 * estimate.error
        assert abs(estimate.value - score(a, b)) > 0.01  # patches overlap: not the score of the kernel's matrix
    with pytest.warns(RuntimeWarning, match="'conv' have not changed"):
        assert math.isnan(score_images(a, 0 * a, images, layer="conv"))


def test_the_exact_score_is_fifty_times_faster_than_image_probes() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(64, 64, 3, 3), torch.randn(64, 64, 3, 3)
    score(a, b)
    exact = min(_seconds(lambda: score(a, b)) for _ in range(5))
    hundredth = _seconds(lambda: score_probe(a, b, images=Images(height=32, width=32), rounds=2, probes=50))
    assert 100 * hundredth > 50 * exact


@pytest.mark.quick
def test_permuting_destroys_alignment() -> None:
    torch.manual_seed(0)
    initial, learned = torch.randn(30, 20), torch.outer(torch.randn(30), torch.randn(20))
    baseline = score_permuted(initial + 0.3 * learned, initial, learned, generator=torch.Generator().manual_seed(0))
    assert score(0.3 * learned, learned) == pytest.approx(1.0)
    assert baseline.mean < 0.5
    generator = torch.Generator().manual_seed(0)
    estimated = score_permuted(initial + 0.3 * learned, initial, learned, of=score_probe, generator=generator)
    assert estimated.mean == pytest.approx(baseline.mean, abs=0.05)
    assert 0 < baseline.spread < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = score_permuted(initial + learned, initial, learned, permutations=1, shuffle=lambda weight: weight)
    assert same.mean == pytest.approx(1.0, abs=1e-6)


def _seconds(work: object) -> float:
    begin = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - begin


@pytest.mark.quick
def test_the_sketch_holds_nearly_all_of_the_score_of_learned_changes() -> None:
    """Changes as training makes them: a few strong directions, in part shared, and a weak rest."""
    generator = torch.Generator().manual_seed(0)
    shared, own = torch.randn(6, 300, generator=generator), torch.randn(6, 300, generator=generator)
    a, b = (torch.randn(200, 6, generator=generator) @ (shared + k * own) for k in (0.0, 0.7))
    a, b = a + 0.05 * torch.randn(200, 300, generator=generator), b + 0.05 * torch.randn(200, 300, generator=generator)
    assert 0.3 < score(a, b) < 0.95
    assert score_sketched(a, b, rank=8) == pytest.approx(score(a, b), abs=2e-3)
    assert score_sketched(a[:10], b[:10]) == score(a[:10], b[:10])
