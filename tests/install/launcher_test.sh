#!/bin/sh
# The launcher ./uvmsim, with stand-ins for apt, cmake and the program: what it starts, from where, with what.
#   launcher_test.sh SOURCE_DIR
set -eu
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tree="$work/a tree"
calls=$work/calls
mkdir -p "$tree/packaging" "$tree/sim" "$work/bin"
cp "$source_dir/uvmsim" "$tree/uvmsim"
printf '# comment\npresent-package\nmissing-package # why\ntest-package # selftest\n' >"$tree/packaging/apt.txt"
touch "$tree/CMakeLists.txt" "$tree/CMakePresets.json"

stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
stand_in dpkg-query 'case "$4" in present-package) echo "install ok installed" ;; *) exit 1 ;; esac'
stand_in apt-get 'echo "apt-get $*" >>"$CALLS"
case "$*" in *--assume-no*) echo "Need to get 131 MB of archives." ;; esac'
stand_in sudo 'exit 1'
stand_in id 'echo "${FAKE_UID:-0}"'
stand_in ctest 'echo "ctest in $(basename "$PWD"): $*"; exit 8'
stand_in cmake 'echo "cmake $*" >>"$CALLS"; [ -z "${FAIL_BUILD-}" ] || { echo "no such header"; exit 1; }
case "$*" in *" -t commands uvmsim") printf "c++ a\nc++ b\n"; exit ;; esac
case "$*" in *--build*) mkdir -p build/release/sim
  printf "#!/bin/sh\necho \"\$GLIBC_TUNABLES\" >\"\$TUNABLES\"\nprintf \"<%%s>\" \"\$@\"\nexit 7\n" >build/release/sim/uvmsim; chmod +x build/release/sim/uvmsim ;; esac'
unset GLIBC_TUNABLES
export CALLS="$calls" TUNABLES="$work/tunables" PATH="$work/bin:$PATH"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# run EXIT_STATUS ARGUMENTS...: what it prints lands in $work/out and $work/err.
run() {
  expected=$1
  shift
  : >"$calls"
  status=0
  "$launcher" "$@" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = "$expected" ] || fail "exit status $status, expected $expected: $(cat "$work/err")"
}

launcher="$tree/uvmsim"
cd /

# It may not install: it says what to type, and stops.
FAKE_UID=1000 run 3 run x
grep -q 'apt-get install -y --no-install-recommends missing-package$' "$work/err" || fail "no apt command"
[ ! -s "$calls" ] || fail "it ran something: $(cat "$calls")"

# A build that fails shows the end of its log.
FAIL_BUILD=1 run 3 run x
grep -q 'no such header' "$work/err" || fail "no log tail"
grep -q 'install -y --no-install-recommends missing-package$' "$calls" || fail "it did not install what a run needs"
grep -q 'Need to get 131 MB' "$work/err" || fail "it did not say how much it downloads"

# The first start builds, and hands over arguments, output and exit status.
run 7 run 'a b' --json
[ "$(cat "$work/out")" = '<run><a b><--json>' ] || fail "arguments: $(cat "$work/out")"
grep -q -- '--target uvmsim' "$calls" || fail "it did not build"
grep -q '2 steps, about 1 min' "$work/err" || fail "no estimate of the build: $(cat "$work/err")"
grep -q -- '-DUVMSIM_TESTS=OFF' "$calls" || fail "it built tests without what they need"

# Memory in large pages, unless the user says otherwise.
grep -qx 'glibc.malloc.hugetlb=1' "$work/tunables" || fail "tunables: $(cat "$work/tunables")"
GLIBC_TUNABLES=glibc.malloc.check=0 run 7 list
grep -qx 'glibc.malloc.check=0' "$work/tunables" || fail "the user's tunables: $(cat "$work/tunables")"

# The second start touches neither apt nor cmake, through a link and from another folder as well.
ln -s "$tree/uvmsim" "$work/link"
launcher=$work/link
cd "$work"
run 7 list
[ ! -s "$calls" ] || fail "the second start ran $(cat "$calls")"
[ ! -s "$work/err" ] || fail "the second start said $(cat "$work/err")"

# A newer source, and one that is gone, are built again.
touch -d '+1 minute' "$tree/CMakeLists.txt"
run 7 list
grep -q -- '--build' "$calls" || fail "a newer source was not built"
touch -d '-1 hour' "$tree/CMakeLists.txt"
run 7 list
[ ! -s "$calls" ] || fail "nothing was newer"

# Help on selftest builds nothing.
run 0 selftest --help
grep -q 'arguments go to ctest' "$work/out" || fail "no help: $(cat "$work/out")"
[ ! -s "$calls" ] || fail "help ran $(cat "$calls")"

# selftest installs what only tests need, builds everything and ends as ctest does.
run 8 selftest -R unit
grep -q 'install -y .* test-package' "$calls" || fail "it did not install what tests need: $(cat "$calls")"
[ "$(cat "$work/out" | cut -d: -f1)" = "ctest in release" ] || fail "ctest: $(cat "$work/out")"
grep -q -- '-R unit' "$work/out" || fail "arguments of ctest"
grep -q -- '--target all' "$calls" || fail "it did not build all"
echo "the launcher does what it should"
