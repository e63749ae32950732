"""`python -m benchmarks` is `make bench`."""

import sys

from benchmarks.engine import main

sys.exit(main())
