#!/bin/sh
# Compiles the micro-benchmarks and the replayer ($1: the source tree) with nvcc, warnings as errors, and runs them against a
# CUDA runtime without a GPU: they end well, and what they print are cases that uvmsim ($2) can run. Skipped (77) where there
# is no nvcc.
set -eu
source=$1
uvmsim=$2
if ! command -v nvcc >/dev/null 2>&1; then
  echo "skipped: nvcc is not installed"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
${CC:-cc} -w -shared -fPIC -o "$folder/runtime.so" "$source/tests/unit/capture/fake_cuda_runtime.c"

cat >"$folder/a.replay" <<'SCRIPT'
uvmreplay 1
name a test
placement none managed
host_op 9000
alloc 139637976727552 2097152 m
host 10 1 139637976727552 100 3 2
iteration 0
prefetch 139637976727552 2097152 0 3
advise 139637976727552 4096 -2 -1
record 5 3
wait 5 7
kernel 7 1500 20 1 139637976731648 100 3 2
discard 139637976727552 4096 7 1
sync -1
iteration 1
copy 0 7 4096 1 1
free 139637976727552
SCRIPT

failures=0
for file in "$source"/capture/microbench/*.cu "$source"/capture/replay/*.cu; do
  name=$(basename "$file" .cu)
  nvcc -cudart shared -std=c++17 -Xcompiler -Wall,-Wextra,-Werror -o "$folder/$name" "$file"
  script=
  [ "$name" != replay ] || script=$folder/a.replay
  machine=machines/h200.json
  [ "$name" != two_gpus ] || machine=machines/dgx1_v100_16gb.json
  status=0
  LD_PRELOAD="$folder/runtime.so" "$folder/$name" ${script:+"$script"} --repeat 1 --machine $machine \
    >"$folder/out" 2>"$folder/err" || status=$?
  expected=0
  [ "$name" != eviction ] || expected=77 # oversubscribes, so it must be asked for
  if [ "$status" -ne "$expected" ]; then
    echo "FAILED $name: exit status $status: $(cat "$folder/err")"
    failures=$((failures + 1))
  elif grep -q '^{$' "$folder/out" && [ "$name" != replay ]; then
    # What was "measured" here means nothing: 1 says that predictions are far from it, 2 that the file is no case file.
    status=0
    "$uvmsim" validate "$folder/out" >"$folder/log" 2>&1 || status=$?
    case $name-$status in
      *-0 | *-1) ;;
      *)
        echo "FAILED $name: uvmsim validate: $(cat "$folder/log")"
        failures=$((failures + 1))
        ;;
    esac
  fi
done

# One that takes more managed memory than is free is refused before it takes any.
sed -i 's/ 2097152 m$/ 70000000000 m/' "$folder/a.replay"
if LD_PRELOAD="$folder/runtime.so" "$folder/replay" "$folder/a.replay" >/dev/null 2>"$folder/err"; then
  echo "FAILED replay: oversubscribes without being asked"
  failures=$((failures + 1))
fi
grep -q 'allow-oversubscription' "$folder/err" || failures=$((failures + 1))
exit $((failures > 0))
