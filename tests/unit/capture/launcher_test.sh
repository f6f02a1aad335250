#!/bin/sh
# uvmcap (the launcher, $1) without a GPU: what it sets, what it says, what it refuses.
set -eu
launcher=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
: >library.so
UVMCAP_LIB=$folder/library.so
export UVMCAP_LIB

failures=0
expect() { # description, pattern, text
  case $3 in
    *"$2"*) ;;
    *)
      echo "FAILED $1: expected '$2' in: $3"
      failures=$((failures + 1))
      ;;
  esac
}

# shellcheck disable=SC2016  # the child expands them
text=$(sh "$launcher" -o out --um --max-mb 5 -- sh -c 'echo "$CUDA_INJECTION64_PATH $UVMCAP_OUT $UVMCAP_KINDS $UVMCAP_MAX_MB"' 2>&1)
expect "environment" "$folder/library.so $folder/out/%p.uvmcap.jsonl kernel,copy,memory,args,hints,sync,um 5" "$text"
expect "no GPU" "nothing was recorded" "$text"

status=0
sh "$launcher" -o out2 -- sh -c 'exit 7' 2>/dev/null || status=$?
expect "status of the program" 7 "$status"

# shellcheck disable=SC2016
text=$(sh "$launcher" -o out3 -- sh -c 'printf "{\"k\":\"error\"}\n" >"$(dirname "$UVMCAP_OUT")/1.uvmcap.jsonl"' 2>&1)
expect "error in a file" "hold an error" "$text"

refused() { # description, pattern, arguments
  description=$1 pattern=$2
  shift 2
  status=0
  text=$(sh "$launcher" "$@" 2>&1) || status=$?
  expect "$description" "$pattern" "$text"
  expect "$description: status" 2 "$status"
}
refused "used folder" "holds files already" -o out3 -- true
refused "no folder" "-o DIR" -- true
refused "no program" "no program is given" -o out4
refused "unknown option" "unknown option '--umm'" -o out4 --umm -- true
refused "bad number" "whole number" -o out4 --max-mb 5x -- true
UVMCAP_LIB=$folder/missing.so
refused "no library" "missing.so, which does not exist" -o out4 -- true
[ ! -e out4 ] || expect "nothing made" "no out4" "out4 exists"

exit $((failures > 0))
