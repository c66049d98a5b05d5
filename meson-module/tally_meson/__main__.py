# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Makes `python PATH/tally_meson` equivalent to `tally-meson`."""

import os
import sys

if not __package__:
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from tally_meson.command import main  # noqa: E402  (sys.path is set above)

sys.exit(main())
