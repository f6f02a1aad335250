#!/bin/sh
# Writes the committed results anew: those of the runs, and the generated pages. Look at `git diff` afterwards, and say
# in the commit which modelled behaviour moved.
#   update.sh [BUILD_DIR] [CTEST_ARGUMENTS...]     default: build/release; -R golden/runs/NAME picks one run
set -eu
root=$(cd -- "$(dirname -- "$0")/../.." && pwd)
build=${1:-$root/build/release}
[ $# -eq 0 ] || shift
cmake -S "$root" -B "$build"
cmake --build "$build"
[ $# -gt 0 ] || set -- -L golden_runs
UVMSIM_UPDATE_GOLDEN=1 ctest --test-dir "$build" --output-on-failure "$@"
UVMSIM_UPDATE_GOLDEN=1 ctest --test-dir "$build" --output-on-failure -R 'Committed|IsTheOneOfTheReader'
