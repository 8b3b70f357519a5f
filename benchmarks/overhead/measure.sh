#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh FOLDER [quick]: writes FOLDER/overhead.csv.
exec python3 "$(dirname "$0")/measure.py" "$@"
