#!/bin/sh
# SPDX-License-Identifier: MIT
# Run by meson install: tells the loader of the new libraries, where that is allowed.
[ "$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig
