#!/bin/sh
# Runs a program with libuvmcap.so in it: one file of records for each of its processes that uses CUDA.
set -eu

usage() {
  cat <<'TEXT'
usage: uvmcap -o DIR [--um] [--kinds LIST] [--max-mb N] -- program [args...]

Records the CUDA calls and kernels of a program, and of the processes it starts, into DIR/PID.uvmcap.jsonl.
`uvmsim trace import DIR/*.jsonl -o out.uvmtrace` makes a trace of them.

  -o DIR        where to write; made if it is not there, refused if it holds files
  --um          also what the unified-memory driver does: migrations, faults, evictions (slows every fault)
  --kinds LIST  of kernel,copy,memory,args,hints,sync,um (default: all but um)
  --max-mb N    stop recording a process at N MiB
  UVMCAP_LIB    the library, if it is not beside this program or in ../lib/uvmsim

The exit status is the program's. Other profilers (nsys, ncu, torch.profiler) cannot run at the same time.
TEXT
}

fail() {
  echo "uvmcap: $1" >&2
  exit 2
}

out=
kinds=
max_mb=
um=
while [ $# -gt 0 ]; do
  case $1 in
    -o | --kinds | --max-mb)
      [ $# -ge 2 ] || fail "$1 needs a value; see uvmcap --help"
      case $1 in
        -o) out=$2 ;;
        --kinds) kinds=$2 ;;
        --max-mb) max_mb=$2 ;;
      esac
      shift 2
      ;;
    --um) um=1; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) fail "unknown option '$1'; see uvmcap --help" ;;
  esac
done
[ -n "$out" ] || fail "-o DIR says where to write; see uvmcap --help"
[ $# -gt 0 ] || fail "no program is given; it stands after --"
case $max_mb in *[!0-9]*) fail "--max-mb takes a whole number, not '$max_mb'" ;; esac

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
library=${UVMCAP_LIB:-}
for place in "$here/libuvmcap.so" "$here/../lib/uvmsim/libuvmcap.so"; do
  if [ -z "$library" ] && [ -e "$place" ]; then library=$place; fi
done
[ -n "$library" ] || fail "libuvmcap.so is not beside uvmcap; build it with -DUVMSIM_CAPTURE=ON, or name it in UVMCAP_LIB"
[ -e "$library" ] || fail "UVMCAP_LIB names $library, which does not exist"
# The driver ignores a library that it cannot load, without a word.
if command -v ldd >/dev/null 2>&1; then
  missing=$(ldd "$library" 2>/dev/null | sed -n 's/^[[:space:]]*\(.*\) => not found.*/\1/p' | tr '\n' ' ')
  [ -z "$missing" ] || fail "$library needs ${missing}which is not found; add its folder to LD_LIBRARY_PATH"
fi

mkdir -p -- "$out"
[ -z "$(ls -A -- "$out")" ] || fail "$out holds files already; name an empty folder"
out=$(CDPATH='' cd -- "$out" && pwd)
library=$(CDPATH='' cd -- "$(dirname -- "$library")" && pwd)/$(basename -- "$library")

[ -z "$um" ] || kinds=${kinds:-kernel,copy,memory,args,hints,sync},um
[ -z "$kinds" ] || export UVMCAP_KINDS="$kinds"
[ -z "$max_mb" ] || export UVMCAP_MAX_MB="$max_mb"
export UVMCAP_OUT="$out/%p.uvmcap.jsonl"
export CUDA_INJECTION64_PATH="$library"

status=0
"$@" || status=$?

if [ -z "$(ls -A -- "$out")" ]; then
  echo "uvmcap: nothing was recorded: no process of the program initialised CUDA (is there an NVIDIA driver, and does it use the GPU?)" >&2
else
  failed=$(grep -l '^{"k":"error"' -- "$out"/*.jsonl 2>/dev/null || true)
  [ -z "$failed" ] || echo "uvmcap: these hold an error and no records: $failed" >&2
  lost=$(cat -- "$out"/*.jsonl | grep -c '^{"k":"dropped"' || true)
  [ "$lost" -eq 0 ] || echo "uvmcap: records were lost (see the lines with \"dropped\"); the trace has gaps" >&2
fi
exit "$status"
