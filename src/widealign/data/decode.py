"""An image file to pixels: simplejpeg where it is installed, Pillow otherwise and for whatever simplejpeg refuses."""

import io
from pathlib import Path
from typing import Literal

from PIL import Image, UnidentifiedImageError

from widealign.errors import DataError

try:
    import simplejpeg
except ImportError:  # the extra "images" is not installed
    simplejpeg = None

Decoder = Literal["auto", "pillow"]
_JPEG = b"\xff\xd8\xff"


def read_image(path: Path, decoder: Decoder = "auto") -> Image.Image:
    """Decode a JPEG or PNG file; grey and other colour spaces are converted to RGB.

    Args:
        path: the file.
        decoder: "auto" prefers simplejpeg; "pillow" never uses it.

    Raises:
        DataError: the file cannot be read or decoded; names it.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}): restore the file or remove it") from error
    if decoder == "auto" and simplejpeg is not None and raw.startswith(_JPEG):
        try:
            return Image.fromarray(simplejpeg.decode_jpeg(raw, "RGB"))
        except ValueError:
            pass  # CMYK, or recoverably damaged: Pillow decides
    try:
        with Image.open(io.BytesIO(raw)) as image:
            return image.convert("RGB")
    except UnidentifiedImageError as error:
        raise _unreadable(
            path, f"byte 0 does not begin a JPEG or PNG image: {raw[:8].hex(' ') or 'the file is empty'}"
        ) from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise _unreadable(path, f"decoding failed before byte {len(raw)}, its end: {error}") from error


def _unreadable(path: Path, why: str) -> DataError:
    return DataError(f"{path}: not a readable image ({why}): restore the file or remove it")
