"""Image folders: listing, decoding, keyed crops, batches that can be taken up in the middle."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from widealign.data import EvaluationImages, ImageList, TrainImages, crops, decode, image_batches, image_folder
from widealign.data.command import verify
from widealign.errors import DataError

from .builders import write_photos

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def no_other_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("WIDEALIGN_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    return write_photos(tmp_path_factory.mktemp("photos") / "imagenet")


def one(path: Path) -> ImageList:
    return ImageList(paths=(path,), labels=(0,), classes=("only",))


# Listing


def test_listing_is_sorted_by_class_and_name(photos):
    found = image_folder(photos.parent)
    assert found.train.classes == found.test.classes == ("cat", "dog")
    assert found.num_classes == 2
    assert found.train.labels == (0, 0, 0, 0, 1, 1, 1, 1)
    assert [path.relative_to(photos).as_posix() for path in found.train.paths[3:5]] == [
        "train/cat/3.jpg",
        "train/dog/0.jpg",
    ]


def test_the_folder_given_may_be_the_image_folder(photos):
    assert image_folder(photos) == image_folder(photos.parent)


def test_not_found(tmp_path):
    with pytest.raises(DataError, match=r"imagenet was not found: expected train/CLASS/\*\.JPEG.*nowhere/imagenet"):
        image_folder(tmp_path / "nowhere")


def test_all_problems_are_reported_at_once(tmp_path):
    root = write_photos(tmp_path, classes=("cat", "dog", "owl"), each=1)
    (root / "val/owl/0.jpg").rename(root / "val/owl/0.txt")
    (root / "train/cow").mkdir()
    (root / "val/dog/0.jpg").unlink()
    (root / "val/dog").rmdir()
    with pytest.raises(DataError) as raised:
        image_folder(tmp_path)
    message = str(raised.value)
    assert f"class folder {root}/val/owl is empty: expected .jpg, .jpeg, .png files" in message
    assert f"class folder {root}/train/cow is empty" in message
    assert "only in train: class cow, dog" in message


def test_no_classes_at_all(tmp_path):
    write_photos(tmp_path, classes=("cat",), each=1)
    (tmp_path / "val/cat/0.jpg").unlink()
    (tmp_path / "val/cat").rmdir()
    with pytest.raises(DataError, match="val has no class folders"):
        image_folder(tmp_path)


def test_verify_counts(photos, capsys):
    verify("imagenet", data_dir=photos)
    assert "8 training and 8 test images, 2 classes" in capsys.readouterr().out


# Decoding


def test_both_decoders_agree_and_make_grey_images_rgb(photos):
    pytest.importorskip("simplejpeg")
    for path in image_folder(photos).train.paths:
        fast, slow = (np.asarray(decode.read_image(path, kind)).astype(int) for kind in ("auto", "pillow"))
        assert fast.shape == slow.shape
        assert fast.shape[2] == 3
        assert abs(fast - slow).max() <= 1


def test_grey_is_converted_to_three_equal_channels(photos):
    image, _ = EvaluationImages(images=one(photos / "train/cat/0.jpg"), size=16, decoder="pillow")[0]
    assert torch.equal(image[0], image[1])
    assert torch.equal(image[0], image[2])


@pytest.mark.parametrize("decoder", ["auto", "pillow"])
@pytest.mark.parametrize("kind", ["empty", "text", "cut", "png-cut"])
def test_unreadable_images_are_data_errors_that_name_them(photos, tmp_path, decoder, kind):
    good = (photos / "train/cat/1.jpg").read_bytes()
    png = io.BytesIO()
    Image.open(photos / "train/cat/1.jpg").save(png, "png")
    content = {"empty": b"", "text": b"no image", "cut": good[: len(good) // 2], "png-cut": png.getvalue()[:100]}
    why = {
        "empty": "byte 0 does not begin a JPEG or PNG image: the file is empty",
        "text": "byte 0 does not begin a JPEG or PNG image: 6e 6f 20 69 6d 61 67 65",
        "cut": f"decoding failed before byte {len(good) // 2}, its end: ",
        "png-cut": "decoding failed before byte 100, its end: ",
    }
    path = tmp_path / "bad.jpg"
    path.write_bytes(content[kind])
    with pytest.raises(DataError, match=rf"{path}: not a readable image \({why[kind]}"):
        decode.read_image(path, decoder)


def test_a_missing_image_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match=r"gone\.jpg: cannot be read \(No such file"):
        decode.read_image(tmp_path / "gone.jpg")


@pytest.mark.parametrize(("mode", "name"), [("CMYK", "c.jpg"), ("L", "g.png"), ("RGBA", "a.png"), ("P", "p.png")])
def test_other_colour_spaces_become_rgb(tmp_path, mode, name):
    Image.new("RGB", (20, 10), (200, 30, 40)).convert(mode).save(tmp_path / name)
    image = decode.read_image(tmp_path / name)
    assert (image.mode, image.size) == ("RGB", (20, 10))


def test_without_simplejpeg_pillow_decodes(photos, monkeypatch):
    monkeypatch.setattr(decode, "simplejpeg", None)
    assert decode.read_image(photos / "train/cat/1.jpg").size == (50, 43)


# Crops


def test_random_boxes_keep_to_area_and_ratio():
    random = np.random.default_rng(0)
    boxes = [crops._random_box(random, 300, 200) for _ in range(2000)]
    areas = np.array([(r - l) * (b - t) for l, t, r, b in boxes]) / (300 * 200)  # noqa: E741
    ratios = np.array([(r - l) / (b - t) for l, t, r, b in boxes])  # noqa: E741
    assert all(l >= 0 and t >= 0 and r <= 300 and b <= 200 for l, t, r, b in boxes)  # noqa: E741
    assert areas.min() == pytest.approx(0.08, abs=0.01)
    assert 0.85 < areas.max() <= 1.01
    assert ratios.min() == pytest.approx(3 / 4, abs=0.02)
    assert ratios.max() == pytest.approx(4 / 3, abs=0.02)
    assert np.log(ratios).mean() == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(
    ("size", "box"), [((900, 10), (443, 0, 456, 10)), ((10, 900), (0, 443, 10, 456)), ((1, 1), (0, 0, 1, 1))]
)
def test_very_long_images_give_the_largest_allowed_part_of_the_middle(size, box):
    assert crops._largest_box(*size) == box


def test_half_of_the_crops_are_mirrored():
    ramp = Image.fromarray(np.tile(np.arange(64, dtype=np.uint8)[None, :, None] * 4, (64, 1, 3)))
    made = [np.asarray(crops.random_crop(ramp, 8, 0, 0, index))[0, :, 0].astype(int) for index in range(400)]
    mirrored = sum(row[0] > row[-1] for row in made)
    assert 160 < mirrored < 240


def test_a_crop_is_a_function_of_seed_epoch_and_index(photos):
    images = image_folder(photos).train
    first = TrainImages(images=images, seed=1, size=16)
    assert torch.equal(first[3][0], TrainImages(images=images, seed=1, size=16)[3][0])
    assert torch.equal(first.at_epoch(2)[3][0], TrainImages(images=images, seed=1, epoch=2, size=16)[3][0])
    twice = ImageList(paths=images.paths[3:4] * 2, labels=(0, 0), classes=images.classes)
    other_index = TrainImages(images=twice, seed=1, size=16)
    assert not torch.equal(other_index[0][0], other_index[1][0])
    assert not torch.equal(first[3][0], first.at_epoch(1)[3][0])
    assert not torch.equal(first[3][0], TrainImages(images=images, seed=2, size=16)[3][0])
    assert (first[3][0].shape, first[3][0].dtype, first[3][1]) == ((3, 16, 16), torch.uint8, 0)


def test_centre_crop_takes_the_middle():
    pixels = np.zeros((256, 512, 3), dtype=np.uint8)
    pixels[16:240, 144:368] = 255
    assert np.asarray(crops.centre_crop(Image.fromarray(pixels), 224)).min() == 255
    assert crops.centre_crop(Image.new("RGB", (31, 457)), 7).size == (7, 7)


# Batches


def collect(dataset, order, **options):
    return list(image_batches(dataset, order, **options))


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_follow_the_order_and_can_be_taken_up_in_the_middle(photos, workers):
    dataset = TrainImages(images=image_folder(photos).train, seed=3, epoch=1, size=16)
    order = np.random.RandomState(0).permutation(8)
    whole = collect(dataset, order, batch_size=3)
    assert [len(labels) for _, labels in whole] == [3, 3, 2]
    assert torch.cat([labels for _, labels in whole]).tolist() == [dataset.images.labels[i] for i in order]
    assert torch.equal(whole[1][0][2], dataset[int(order[5])][0])
    rest = collect(dataset, order, batch_size=3, workers=workers, first_batch=1)
    assert len(rest) == 2
    for (images, labels), (images_again, labels_again) in zip(whole[1:], rest, strict=True):
        assert images.dtype == torch.uint8
        assert torch.equal(images, images_again)
        assert torch.equal(labels, labels_again)


def test_nothing_is_left_after_the_last_batch(photos):
    dataset = EvaluationImages(images=image_folder(photos).test, size=16)
    assert collect(dataset, range(8), batch_size=4, first_batch=2) == []


@pytest.mark.parametrize("workers", [0, 1])
def test_an_unreadable_image_is_one_clear_error_from_any_process(photos, tmp_path, workers):
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    good = photos / "train/cat/1.jpg"
    images = ImageList(paths=(good, tmp_path / "bad.jpg"), labels=(0, 0), classes=("only",))
    with pytest.raises(DataError) as raised:
        collect(EvaluationImages(images=images, size=8), [0, 1], batch_size=2, workers=workers)
    assert str(raised.value).startswith(f"{tmp_path / 'bad.jpg'}: not a readable image")
    assert "Traceback" not in str(raised.value)


def test_batches_leave_the_global_random_stream_alone(photos):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    collect(TrainImages(images=image_folder(photos).train, seed=3, size=8), range(4), batch_size=2)
    assert torch.equal(before, torch.get_rng_state())
