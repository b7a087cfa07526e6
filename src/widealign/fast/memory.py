"""Memory that is freed and wanted again a moment later."""

import ctypes
import platform

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # names of glibc's mallopt(3)
_NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Keeps what the process frees, for its next allocation, in place of giving it back to the system.

    The tensors of a training step are freed at its end. By default glibc then returns their pages, and the next step
    has them zeroed and mapped anew, which can cost as much as the arithmetic of a narrow network. Two passes a step
    have more to lose than one. Process-wide; the memory use of the process stays at its peak.

    Returns:
        Whether the system's allocator took the setting.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    return bool(libc.mallopt(_MMAP_MAX, 0)) and bool(libc.mallopt(_TRIM_THRESHOLD, _NEVER))
