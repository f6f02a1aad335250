#!/bin/sh
# Simulates every point of the curves, one after the other, and makes the CSV and SVG files of this folder again.
#
#     validation/curves/run.sh FOLDER      what `uvmsim compare --json` prints goes to FOLDER; points there are kept
#
# UVMSIM: the program, by default ./uvmsim. 4 minutes of one core (one run, 26 November 2026).
set -eu
folder=$1
cd "$(dirname "$0")/../.."
uvmsim=${UVMSIM:-./uvmsim}
mkdir -p "$folder"

points() {  # NAME CONFIG POLICIES BATCH... -- OPTION...
  name=$1 config=$2 policies=$3
  shift 3
  batches=
  while [ "$1" != -- ]; do batches="$batches $1" && shift; done
  shift
  for batch in $batches; do
    out=$folder/$name.$batch.json
    [ -s "$out" ] && continue
    "$uvmsim" compare "$config" --set workload.batch="$batch" "$@" -j 1 --quiet --json --policies "$policies" >"$out.part"
    mv "$out.part" "$out"
  done
}

curves() {  # NAME TITLE
  python3 validation/curves/curves.py collect "validation/curves/$1.csv" "$folder/$1".*.json
  python3 validation/curves/curves.py draw "validation/curves/$1.csv" "validation/curves/$1.svg" "$2"
  python3 validation/curves/curves.py draw "validation/curves/$1.csv" "validation/curves/$1_speedup.svg" "$2" speedup
}

few=default,threshold_5,operand_prefetch,prefetch_when_needed,discard
more=$few,deepum
all=$few,discard_prefetch,activations_only,zero_copy_activations,deepum,access_counters,clairvoyant

set -- --set machine.gpus=1 --set run.warmup=2 --set run.iterations=1
points resnet1001_v100 v100_dgx1 $all 98 -- "$@"
points resnet1001_v100 v100_dgx1 $more 72 144 -- "$@"
points resnet1001_v100 v100_dgx1 $few 48 24 -- "$@"
# A quarter of the memory and of the batches: 10 is the last that fits, 25 just does not.
set -- "$@" --set 'machine.gpu.usable_memory=8.325 GB'
points word_lm_quarter lm_v100 $all 20 15 30 -- "$@"
points word_lm_quarter lm_v100 $few 10 5 -- "$@"
points resnet1001_fp16_quarter v100_dgx1_fp16 $more 50 37 74 -- "$@"
points resnet1001_fp16_quarter v100_dgx1_fp16 $few 25 12 -- "$@"

curves resnet1001_v100 'ResNet-1001 fp32 on one V100-32GB'
curves word_lm_quarter 'word language model fp32, 1408 words, on a quarter of a V100-32GB'
curves resnet1001_fp16_quarter 'ResNet-1001 fp16 on a quarter of a V100-32GB'
