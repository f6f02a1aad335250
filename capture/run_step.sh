#!/bin/sh
# One step of RUNBOOK.md on a machine with a GPU: capture/run_step.sh NAME. Each step builds what it needs, can be run again and
# alone, ends within 8 minutes, and leaves NAME.tar.gz of less than 16 MiB in $OUT (default: out/capture).
# UVMSIM_MACHINE names the config that cases are predicted with (default: machines/h200.json).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
out=${OUT:-$root/out/capture}
build=$root/build/capture
machine=${UVMSIM_MACHINE:-machines/h200.json}
limit=${UVMSIM_STEP_LIMIT:-450} # seconds for the programs of a step
largest=$((16 * 1024 * 1024))

fail() {
  echo "run_step: $1" >&2
  exit 2
}

# Seconds left of the step.
left() {
  now=$(($(date +%s) - begin))
  if [ "$now" -lt "$limit" ]; then echo $((limit - now)); else echo 1; fi
}

# Runs a program into a file; what goes wrong is kept beside it and does not end the step.
keep() { # file, program...
  file=$work/$1
  shift
  status=0
  timeout --foreground "$(left)" "$@" >"$file" 2>"$file.err" || status=$?
  [ -s "$file.err" ] || rm -f "$file.err"
  echo "$(basename "$file"): exit status $status" | tee -a "$work/steps.log"
}

cuda_program() { # source file, options of nvcc; prints where the program is
  program=$build/$(basename "$1" .cu)
  mkdir -p "$build"
  [ -n "$(find "$program" -newer "$1" -newer "$root/capture/microbench/microbench.h" \
    -newer "$root/capture/microbench/touches.h" 2>/dev/null)" ] ||
    nvcc -O2 -std=c++17 -arch=native -o "$program" "$1" ${2:-} >&2
  echo "$program"
}

library() { # libuvmcap.so and uvmcap
  [ -e "$build/uvmcap/uvmcap" ] && return
  # CUPTI of Python's wheels, where the toolkit has none.
  if [ -z "${CUPTI_ROOT:-}" ]; then
    CUPTI_ROOT=$(python3 -c 'import glob, site; print(next(iter(glob.glob(site.getsitepackages()[0] + "/nvidia/cu1[23]") +
      glob.glob(site.getsitepackages()[0] + "/nvidia/cuda_cupti")), ""))' 2>/dev/null || true)
  fi
  export CUPTI_ROOT
  if ! { cmake -S "$root/capture" -B "$build/uvmcap" -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$build/uvmcap" -j; } >"$work/cmake.log" 2>&1; then
    fail "libuvmcap.so was not built: $(tail -n 5 "$work/cmake.log")"
  fi
}

events() { # libuvmevents.so
  mkdir -p "$build"
  g++ -O2 -std=c++17 -fPIC -shared -pthread -o "$build/libuvmevents.so" "$root/capture/uvmevents/uvmevents.cpp"
}

benchmarks() { # names...
  for name in "$@"; do
    keep "$name.json" "$(cuda_program "$root/capture/microbench/$name.cu")" --machine "$machine"
    # Comments alone are no case file.
    grep -q '^{' "$work/$name.json" || mv "$work/$name.json" "$work/$name.txt"
  done
}

recorded() { # name, arguments of uvmcap up to --, program...
  name=$1
  shift
  rm -rf "${work:?}/$name"
  keep "$name.out" "$build/uvmcap/uvmcap" -o "$work/$name" "$@"
  find "$work/$name" -name '*.jsonl' -exec gzip -9 {} +
}

workload=$root/capture/workloads/train.py

train() { # model
  library
  recorded "$1" -- python3 "$workload" "$1" --iterations 3 --record "$work/$1.torch.jsonl"
  [ ! -e "$work/$1.torch.jsonl" ] || gzip -9 "$work/$1.torch.jsonl"
}

managed_allocator() {
  mkdir -p "$build"
  nvcc -O2 -shared -Xcompiler -fPIC -o "$build/libmanaged.so" "$root/capture/workloads/managed_allocator.cpp"
}

facts() {
  keep nvidia-smi.txt nvidia-smi -q
  keep topology.txt nvidia-smi topo -m
  keep module.txt sh -c 'grep . /sys/module/nvidia_uvm/parameters/* /sys/module/nvidia/version'
  keep software.txt sh -c 'uname -a; nvcc --version; python3 -c "import torch; print(torch.__version__)"; lscpu; free -b'
}

pack() {
  # The largest file stays in build/capture/left_out while the rest is too large; the log says which.
  while :; do
    tar -czf "$out/$step.tar.gz" -C "$work/.." "$step"
    [ "$(wc -c <"$out/$step.tar.gz")" -ge "$largest" ] || break
    big=$(find "$work" -type f -printf '%s %p\n' | sort -rn | sed -n '1s/^[0-9]* //p')
    echo "left out, too large: $(basename "$big")" >>"$work/steps.log"
    mkdir -p "$build/left_out"
    mv "$big" "$build/left_out"
  done
  echo "$out/$step.tar.gz: $(wc -c <"$out/$step.tar.gz") bytes"
}

[ $# -eq 1 ] || fail "which step? facts, faults, entries, managed, networks, groups, transfers, host, word_lm, gpt2, resnet152, replay; see capture/RUNBOOK.md"
step=$1
begin=$(date +%s)
work=$build/steps/$step
rm -rf "$work"
mkdir -p "$work" "$out"
export CUDA_MODULE_LOADING=EAGER # kernels are not loaded by their first launch
trap 'pack; exit 1' TERM INT # what is there when time is up

case $step in
  facts)
    facts
    library
    recorded smoke --um -- "$(cuda_program "$root/capture/microbench/vector_add.cu")" --repeat 1
    keep lines.txt sh -c "zcat '$work'/smoke/*.gz | sed 's/^{\"k\":\"\\([a-z]*\\)\".*/\\1/' | sort | uniq -c"
    ;;
  faults) benchmarks fault_cost prefetch_size vector_add first_touch fault_rate ;;
  groups)
    library
    for name in vector_add first_touch fault_rate fault_cost; do
      recorded "$name" --um -- "$(cuda_program "$root/capture/microbench/$name.cu")" --repeat 1
    done
    ;;
  entries)
    events
    for source in microbench/block_cost microbench/run_cost microbench/fault_entries workloads/sgemm; do
      name=$(basename $source)
      program=$(cuda_program "$root/capture/$source.cu" -lcublas) || continue
      keep "$name.json" "$program" --machine "$machine"
      keep "$name.recorded.json" env UVMEVENTS_OUT="$work/$name.csv.gz" LD_PRELOAD="$build/libuvmevents.so" \
        "$program" --repeat 2 --machine "$machine"
    done
    ;;
  managed)
    events
    managed_allocator
    for name in resnet152 gpt2 word_lm; do
      program="python3 $workload $name --managed $build/libmanaged.so"
      keep "$name.json" $program --iterations 10
      keep "$name.recorded.json" env UVMEVENTS_OUT="$work/$name.csv.gz" LD_PRELOAD="$build/libuvmevents.so" \
        $program --iterations 1
    done
    ;;
  transfers) benchmarks copy_bandwidth bulk_prefetch zero_copy advise two_gpus ;;
  host) benchmarks host_touch ;;
  networks)
    managed_allocator
    for name in vgg16 dlrm llama bert_large vit_b_16 efficientnet_b0; do
      train "$name"
      keep "$name.managed.json" python3 "$workload" "$name" --managed "$build/libmanaged.so" --iterations 5
    done
    ;;
  word_lm | gpt2 | resnet152)
    keep "$step.plain.json" python3 "$workload" "$step" --iterations 20
    train "$step"
    ;;
  replay)
    program=$(cuda_program "$root/capture/replay/replay.cu")
    found=
    for script in "${UVMSIM_REPLAYS:-$root/out/replays}"/*.replay; do
      [ -e "$script" ] || continue
      found=1
      name=$(basename "$script" .replay)
      keep "$name.json" "$program" "$script" --machine "$machine" --trace "$name.uvmtrace"
    done
    [ -n "$found" ] || fail "no *.replay in ${UVMSIM_REPLAYS:-$root/out/replays}; uvmsim trace replay-script makes them"
    ;;
  *) fail "no step is named '$step'" ;;
esac
pack
