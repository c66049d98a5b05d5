# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Coverage in a Meson build: the code that `tally-meson`, the hook and import('tally') share."""
