"""`python -m benchmarks` is `make bench`."""

import sys

from benchmarks.engine.__main__ import main

sys.exit(main())
