"""Downloads, against a server on this machine that can break off, refuse ranges, and send the wrong bytes."""

import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from widealign.data import catalogue
from widealign.data.archive import unpack
from widealign.data.catalogue import SOURCES, Download, Source
from widealign.data.command import _display, fetch
from widealign.data.download import download
from widealign.data.fetch import fetch_source
from widealign.errors import DataError

from .builders import IDX_NAMES, md5, official, write_cifar, write_kmnist

pytestmark = pytest.mark.quick

CONTENT = bytes(range(256)) * 4096  # 1 MiB


class Server:
    """Serves `files` by path. `break_after[path]`: how many bytes each next answer sends before it breaks off."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.break_after: dict[str, list[int]] = {}
        self.ranges = True
        self.requests: list[tuple[str, str | None]] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        self.requests.append((handler.path, wanted))
        content = self.files.get(handler.path)
        if content is None:
            return handler.send_error(404)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.ranges else 0
        if start and start >= len(content):
            return handler.send_error(416)
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        breaks = self.break_after.get(handler.path)
        handler.wfile.write(content[start : start + breaks.pop(0)] if breaks else content[start:])
        return None


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    behaviour = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            behaviour.answer(self)

        def log_message(self, format, *args):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    behaviour.url = f"http://127.0.0.1:{httpd.server_port}"
    behaviour.files["/file"] = CONTENT
    yield behaviour
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@contextmanager
def silent(name: str):
    yield lambda done, total: None


# One file


def test_download_puts_the_file_in_place_and_reports(server, tmp_path):
    told = []
    download(f"{server.url}/file", tmp_path / "new" / "file", md5(CONTENT), lambda *counts: told.append(counts))
    assert (tmp_path / "new" / "file").read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["file"]


def test_a_broken_transfer_goes_on_where_it_stopped(server, tmp_path):
    server.break_after["/file"] = [1000, 5000]
    download(f"{server.url}/file", tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [wanted for _, wanted in server.requests] == [None, "bytes=1000-", "bytes=6000-"]


def test_what_is_left_of_a_broken_download_serves_the_next_call(server, tmp_path):
    server.break_after["/file"] = [100, 100, 100, 100]
    with pytest.raises(DataError, match=r"transfer ended at byte 400 of 1048576 \(400 bytes are kept in .*file\.part"):
        download(f"{server.url}/file", tmp_path / "file", md5(CONTENT))
    assert not (tmp_path / "file").exists()
    download(f"{server.url}/file", tmp_path / "file", md5(CONTENT))
    assert server.requests[-1] == ("/file", "bytes=400-")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_over(server, tmp_path):
    server.ranges = False
    (tmp_path / "file.part").write_bytes(b"old bytes")
    download(f"{server.url}/file", tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_that_was_complete_is_only_checked(server, tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT)
    download(f"{server.url}/file", tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_wrong_md5_is_an_error_and_leaves_what_was_there(server, tmp_path):
    (tmp_path / "file").write_bytes(b"earlier")
    wrong = "0" * 32
    with pytest.raises(DataError, match=f"/file: expected md5 {wrong}, got {md5(CONTENT)}; it was discarded"):
        download(f"{server.url}/file", tmp_path / "file", wrong)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"earlier"}


def test_a_stale_part_is_discarded_so_that_the_next_call_succeeds(server, tmp_path):
    (tmp_path / "file.part").write_bytes(b"not the beginning of the file")
    with pytest.raises(DataError, match="expected md5"):
        download(f"{server.url}/file", tmp_path / "file", md5(CONTENT))
    download(f"{server.url}/file", tmp_path / "file", md5(CONTENT))
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_not_found_is_not_tried_again(server, tmp_path):
    with pytest.raises(DataError, match="the server answered 404 Not Found"):
        download(f"{server.url}/other", tmp_path / "file", "")
    assert len(server.requests) == 1


# A data set


def served_kmnist(server: Server, folder: Path) -> Source:
    """KMNIST as files of `folder`, declared official and offered by the server."""
    source = official(SOURCES["kmnist"], write_kmnist(folder))
    server.files |= {f"/{name}": (folder / name).read_bytes() for name in IDX_NAMES}
    downloads = tuple(Download(url=f"{server.url}/{f.name}", name=f.name, md5=f.md5) for f in source.files)
    return replace(source, downloads=downloads)


def test_only_what_is_missing_or_wrong_is_fetched(server, tmp_path):
    source = served_kmnist(server, tmp_path / "origin")
    there = write_kmnist(tmp_path / "root" / "kmnist")
    (there / IDX_NAMES[1]).write_bytes(b"damaged")
    (there / IDX_NAMES[2]).unlink()
    fetched = fetch_source(source, tmp_path / "root", silent)
    assert [path.name for path in fetched] == [IDX_NAMES[1], IDX_NAMES[2]]
    assert [path for path, _ in server.requests] == [f"/{IDX_NAMES[1]}", f"/{IDX_NAMES[2]}"]
    assert {p.name: p.read_bytes() for p in there.iterdir()} == {n: server.files[f"/{n}"] for n in IDX_NAMES}
    assert fetch_source(source, tmp_path / "root", silent) == []


def test_no_network_is_one_sentence_with_folder_and_files(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    closed = tuple(replace(d, url=f"http://127.0.0.1:1/{d.name}") for d in SOURCES["kmnist"].downloads)
    with pytest.raises(DataError) as raised:
        fetch_source(replace(SOURCES["kmnist"], downloads=closed), tmp_path, silent)
    message = str(raised.value)
    assert f"kmnist is expected in {tmp_path}/kmnist as {', '.join(IDX_NAMES)}" in message
    assert "Connection refused" in message
    assert "\n" not in message
    assert raised.value.exit_code == 2


def test_a_folder_that_cannot_be_made_is_a_data_error(server, tmp_path):
    source = served_kmnist(server, tmp_path / "origin")
    (tmp_path / "root").write_text("a file, not a folder")
    with pytest.raises(DataError, match="cannot be written"):
        fetch_source(source, tmp_path / "root", silent)


def archive_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def batches(tmp_path) -> tuple[Source, dict[str, bytes]]:
    """A small CIFAR-10, and the members of its archive."""
    folder = write_cifar(tmp_path / "origin", per_file=1)
    source = official(SOURCES["cifar10"], folder)
    return source, {f"cifar-10-batches-bin/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}


def test_cifar_archive_is_fetched_unpacked_and_removed(server, tmp_path, batches):
    source, members = batches
    content = archive_of(
        members | {"cifar-10-batches-bin/readme.html": b"hello", "../evil": b"evil", "/tmp/evil": b"e"}
    )
    server.files["/c.tar.gz"] = content
    item = Download(url=f"{server.url}/c.tar.gz", name="c.tar.gz", md5=md5(content), archive=True)
    fetched = fetch_source(replace(source, downloads=(item,)), tmp_path / "root", silent)
    assert len(fetched) == 6
    found = {p.relative_to(tmp_path / "root").as_posix(): p for p in (tmp_path / "root").rglob("*") if p.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == members
    assert not (tmp_path / "evil").exists()


def test_archive_with_a_link_a_wrong_file_or_a_missing_one(tmp_path, batches):
    source, members = batches
    name = "cifar-10-batches-bin/data_batch_2.bin"
    archive = tmp_path / "c.tar.gz"

    archive.write_bytes(archive_of(members | {name: b"other"}))
    with pytest.raises(DataError, match=rf"{name}: expected md5 {source.files[1].md5}, got {md5(b'other')}"):
        unpack(archive, source.folder, source.files, tmp_path / "out")

    archive.write_bytes(archive_of({key: value for key, value in members.items() if key != name}))
    with pytest.raises(DataError, match=f"lacks {name}"):
        unpack(archive, source.folder, source.files, tmp_path / "out")

    with tarfile.open(archive, "w:gz") as tar:
        link = tarfile.TarInfo("cifar-10-batches-bin/data_batch_1.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(DataError, match=r"data_batch_1\.bin is not a regular file"):
        unpack(archive, source.folder, source.files, tmp_path / "out")

    archive.write_bytes(archive_of(members)[:-30])
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(archive, source.folder, source.files, tmp_path / "out")


# The command


def test_fetch_command(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(catalogue.SOURCES, "kmnist", served_kmnist(server, tmp_path / "origin"))
    monkeypatch.setenv("WIDEALIGN_DATA", str(tmp_path / "root"))
    fetch("kmnist")
    assert f"kmnist: fetched 4 files, md5 correct: {tmp_path}/root/kmnist" in capsys.readouterr().out
    fetch("kmnist", data_dir=tmp_path / "root")
    assert "all files were there" in capsys.readouterr().out


def test_fetch_of_what_needs_or_allows_no_download(tmp_path, capsys):
    fetch("digits")
    fetch("add")
    assert capsys.readouterr().out.splitlines() == ["digits needs no download", "add needs no download"]
    with pytest.raises(
        DataError, match=rf"register at https://image-net\.org.*{tmp_path}/imagenet/\{{train,val\}}/CLASS"
    ):
        fetch("imagenet", data_dir=tmp_path)


def test_progress_is_shown_on_a_terminal_only():
    shown = {}
    for terminal in (True, False):
        out = io.StringIO()
        with _display(Console(file=out, force_terminal=terminal, width=100), "some-file") as report:
            report(500, 1000)
        shown[terminal] = out.getvalue()
    assert "some-file" in shown[True]
    assert "some-file" not in shown[False]


def test_official_addresses_are_complete():
    for source in (SOURCES[task] for task in ("cifar10", "kmnist", "fashion-mnist")):
        archived = any(item.archive for item in source.downloads)
        assert archived or {d.name: d.md5 for d in source.downloads} == {f.name: f.md5 for f in source.files}
        assert all(item.url.endswith(item.name) for item in source.downloads)
