# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""`python PATH/tally_meson` is `tally-meson`."""

import os
import sys

if not __package__:
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from tally_meson.command import main  # noqa: E402  (its folder had to be found first)

sys.exit(main())
