"""`data.load`: what it returns, where it looks, and what it refuses."""

import gzip
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from widealign import data
from widealign.data import catalogue, dataset
from widealign.data.command import verify
from widealign.errors import DataError, UsageError

from .builders import IDX_NAMES, idx_bytes, md5, official, write_cifar, write_gz, write_kmnist

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def no_other_folder(monkeypatch, tmp_path):
    """Neither the caller's $WIDEALIGN_DATA nor their cache plays a part."""
    monkeypatch.delenv("WIDEALIGN_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def load_unverified(task: str, folder: Path) -> data.Dataset:
    with pytest.warns(data.UnverifiedDataWarning):
        return data.load(task, data_dir=folder, allow_unverified=True)


def declare(monkeypatch, source):
    monkeypatch.setitem(catalogue.SOURCES, source.task, source)


def test_kmnist_keeps_order_shape_and_type(tmp_path):
    write_kmnist(tmp_path / "kmnist", num_train=12, num_test=5)
    found = load_unverified("kmnist", tmp_path)
    assert found.train_images.shape == (12, 1, 28, 28)
    assert (found.train_images.dtype, found.train_labels.dtype) == (torch.uint8, torch.int64)
    assert found.train_images[:, 0, 5, 7].tolist() == list(range(12))
    assert found.train_labels.tolist() == [*range(10), 0, 1]
    assert found.test_labels.tolist() == [0, 1, 2, 3, 4]
    assert found.files == {name: md5((tmp_path / "kmnist" / name).read_bytes()) for name in IDX_NAMES}
    assert found.num_classes == 10


def test_cifar_joins_its_batches_in_order(tmp_path):
    write_cifar(tmp_path / "cifar-10-batches-bin")
    found = load_unverified("cifar10", tmp_path)
    assert found.train_images.shape == (15, 3, 32, 32)
    assert found.train_images[:, 2, 31, 31].tolist() == [10 * f + i for f in range(5) for i in range(3)]
    assert found.test_images[:, 0, 0, 0].tolist() == [50, 51, 52]
    assert found.test_labels.tolist() == [5, 6, 7]


def test_official_files_give_no_warning(tmp_path, monkeypatch):
    folder = write_kmnist(tmp_path / "kmnist")
    declare(monkeypatch, official(catalogue.SOURCES["kmnist"], folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(data.load("kmnist", data_dir=tmp_path).train_labels) == 12


def test_unofficial_files_are_one_error_that_names_all_of_them(tmp_path, monkeypatch):
    folder = write_kmnist(tmp_path / "kmnist")
    source = official(catalogue.SOURCES["kmnist"], folder)
    declare(monkeypatch, source)
    write_gz(folder / IDX_NAMES[1], idx_bytes(np.arange(12) % 5))
    write_gz(folder / IDX_NAMES[3], idx_bytes(np.arange(5) % 3))
    with pytest.raises(DataError) as raised:
        data.load("kmnist", data_dir=tmp_path)
    message = str(raised.value)
    for name, file in ((IDX_NAMES[1], source.files[1]), (IDX_NAMES[3], source.files[3])):
        assert f"expected md5 {file.md5}, got {md5((folder / name).read_bytes())}" in message
        assert str(folder / name) in message
    assert IDX_NAMES[0] not in message
    assert "--allow-unverified" in message
    assert "widealign data fetch kmnist" in message


def test_allowed_unofficial_file_gives_a_warning_that_names_it(tmp_path, monkeypatch):
    folder = write_kmnist(tmp_path / "kmnist")
    source = official(catalogue.SOURCES["kmnist"], folder)
    declare(monkeypatch, source)
    write_gz(folder / IDX_NAMES[1], idx_bytes(np.arange(12) % 5))
    got = md5((folder / IDX_NAMES[1]).read_bytes())
    with pytest.warns(data.UnverifiedDataWarning) as caught:
        data.load("kmnist", data_dir=tmp_path, allow_unverified=True)
    assert len(caught) == 1
    assert f"{folder / IDX_NAMES[1]}" in str(caught[0].message)
    assert f"expected md5 {source.files[1].md5}, got {got}" in str(caught[0].message)


def test_repacked_official_content_is_official(tmp_path, monkeypatch):
    folder = write_kmnist(tmp_path / "kmnist")
    source = official(catalogue.SOURCES["kmnist"], folder)
    contents = [gzip.decompress((folder / file.name).read_bytes()) for file in source.files]
    files = tuple(replace(f, content_md5=md5(content)) for f, content in zip(source.files, contents, strict=True))
    declare(monkeypatch, replace(source, files=files))
    (folder / IDX_NAMES[0]).write_bytes(gzip.compress(contents[0], compresslevel=1, mtime=7))
    data.load("kmnist", data_dir=tmp_path)
    write_gz(folder / IDX_NAMES[0], contents[0][:-1] + b"\xff")
    with pytest.raises(DataError, match="not the official data"):
        data.load("kmnist", data_dir=tmp_path)


def test_damage_is_named_rather_than_the_md5_that_follows_from_it(tmp_path):
    folder = write_cifar(tmp_path / "cifar-10-batches-bin")
    path = folder / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"data_batch_3\.bin: short file.*begins at byte 6146 has 3072"):
        data.load("cifar10", data_dir=tmp_path)


def test_counts_that_differ_name_both_files(tmp_path):
    folder = write_kmnist(tmp_path / "kmnist")
    write_gz(folder / IDX_NAMES[1], idx_bytes(np.zeros(11)))
    with pytest.raises(DataError, match=r"holds 12 images but .*train-labels.* holds 11 labels \(the counts at byte 4"):
        data.load("kmnist", data_dir=tmp_path, allow_unverified=True)


def test_a_file_that_cannot_be_read_is_a_data_error(tmp_path, monkeypatch):
    folder = write_kmnist(tmp_path / "kmnist")

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DataError, match=rf"{folder}.*cannot be read \(Permission denied\)"):
        data.load("kmnist", data_dir=tmp_path)


# Where it looks


def test_files_may_lie_directly_in_the_folder_given(tmp_path):
    write_kmnist(tmp_path)
    assert len(load_unverified("kmnist", tmp_path).train_labels) == 12


def test_order_of_folders(tmp_path, monkeypatch):
    given, environment, cache = tmp_path / "given", tmp_path / "environment", tmp_path / "home/.cache/widealign"
    monkeypatch.setenv("WIDEALIGN_DATA", str(environment))
    given.mkdir()
    write_kmnist(cache / "kmnist", num_train=3)
    assert len(load_unverified("kmnist", given).train_labels) == 3
    write_kmnist(environment / "kmnist", num_train=2)
    assert len(load_unverified("kmnist", given).train_labels) == 2
    write_kmnist(given / "kmnist", num_train=1)
    assert len(load_unverified("kmnist", given).train_labels) == 1


def test_not_found_is_one_sentence_with_folders_files_and_command(tmp_path, monkeypatch):
    monkeypatch.setenv("WIDEALIGN_DATA", str(tmp_path / "environment"))
    with pytest.raises(DataError) as raised:
        data.load("cifar10", data_dir=tmp_path / "given")
    message = str(raised.value)
    for folder in ("given", "environment", "home/.cache/widealign"):
        assert f"{tmp_path / folder}/cifar-10-batches-bin" in message
    for name in (
        "data_batch_1.bin",
        "data_batch_5.bin",
        "test_batch.bin",
        "widealign data fetch cifar10",
        "--data-dir",
    ):
        assert name in message
    assert "\n" not in message
    assert raised.value.exit_code == 2


def test_a_folder_with_only_some_files_is_not_passed_over(tmp_path):
    write_kmnist(tmp_path / "home/.cache/widealign/kmnist")
    folder = write_kmnist(tmp_path / "given" / "kmnist")
    (folder / IDX_NAMES[2]).unlink()
    with pytest.raises(DataError, match=rf"{folder} holds only some of its files; missing: {IDX_NAMES[2]}\."):
        data.load("kmnist", data_dir=tmp_path / "given")


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("imagenet", "use data.image_folder"),
        ("add", "use data.add_task"),
        ("mnist", "task must be one of cifar10, kmnist, .*; given 'mnist'"),
    ],
)
def test_tasks_that_are_not_read_into_memory(task, message):
    with pytest.raises(UsageError, match=message):
        data.load(task)


# Bundled digits


def test_digits_need_nothing_and_use_the_whole_range():
    found = data.load("digits")
    assert found.train_images.shape == (1297, 1, 8, 8)
    assert found.test_images.shape == (500, 1, 8, 8)
    levels = torch.cat([found.train_images, found.test_images]).unique().tolist()
    assert levels == [round(255 * v / 16) for v in range(17)]
    labels = torch.cat([found.train_labels, found.test_labels])
    assert labels.bincount().tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_digits_carry_their_attribution():
    text = (catalogue.BUNDLED / "digits" / "ATTRIBUTION.txt").read_text()
    assert "CC BY 4.0" in text
    assert "Alpaydin" in text


# The command


def test_verify_prints_every_file(tmp_path, monkeypatch, capsys):
    folder = write_kmnist(tmp_path / "kmnist")
    declare(monkeypatch, official(catalogue.SOURCES["kmnist"], folder))
    verify("kmnist", data_dir=tmp_path)
    printed = capsys.readouterr().out
    assert printed.count("  official") == 4
    assert "12 training and 5 test images, 10 classes" in printed


def test_verify_fails_on_unofficial_files_unless_allowed(tmp_path, capsys):
    write_kmnist(tmp_path / "kmnist")
    with pytest.raises(DataError, match="not the official data"):
        verify("kmnist", data_dir=tmp_path)
    assert capsys.readouterr().out.count("NOT OFFICIAL") == 4
    with pytest.warns(data.UnverifiedDataWarning):
        verify("kmnist", data_dir=tmp_path, allow_unverified=True)
    assert "12 training" in capsys.readouterr().out


def test_verify_add_and_digits(capsys):
    verify("add")
    verify("digits")
    printed = capsys.readouterr().out
    assert "add is generated" in printed
    assert "1297 training and 500 test" in printed


def test_public_names_are_what_they_say():
    for name in data.__all__:
        assert not isinstance(getattr(data, name), type(dataset)), f"{name} is hidden by a module of the same name"
    assert set(data.__all__) == set(data._HOME)
