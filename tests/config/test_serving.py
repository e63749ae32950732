"""What a web process does before it serves."""

from __future__ import annotations

import subprocess
import sys

# Sixteen threads, each with memory of its own from the C library, which then tells how many arenas it has.
COUNT_ARENAS = """
import ctypes, sys, threading
from config.serving import share_memory_among_threads
if sys.argv[1] == "shared":
    share_memory_among_threads()
c = ctypes.CDLL(None)
c.malloc.restype = c.fdopen.restype = ctypes.c_void_p
allocated, counted = threading.Barrier(17), threading.Event()
def allocate():
    c.malloc(1000)
    allocated.wait()
    counted.wait()
for _ in range(16):
    threading.Thread(target=allocate).start()
allocated.wait()
stream = ctypes.c_void_p(c.fdopen(1, b"w"))
c.malloc_info(0, stream)
c.fflush(stream)
counted.set()
"""


def arenas(how: str) -> int:
    command = [sys.executable, "-c", COUNT_ARENAS, how]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("<heap nr=")


def test_threads_of_a_web_process_share_their_memory_so_that_what_one_frees_serves_all() -> None:
    assert arenas("each its own") > 4
    assert arenas("shared") == 1
