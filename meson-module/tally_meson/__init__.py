# SPDX-License-Identifier: MIT
# Copyright 2026 The Tally authors

"""Coverage in the build: what `tally-meson`, the hook in Meson and import('tally') share."""
