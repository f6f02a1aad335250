#!/bin/sh
# The packages that cpack makes: what they hold and need, and that the program runs from where they are unpacked.
#   package_test.sh BUILD_DIR CONFIG
set -eu
build=$1
config=$2
work=$(mktemp -d)
trap 'umount "$work/debian/proc" 2>/dev/null || :; rm -rf --one-file-system "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# in_debian DEB: apt installs the package into a minimal Debian 12, with what it depends on and nothing more, and it runs there.
in_debian() {
  root=$work/debian
  if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "not tried in a minimal Debian: that needs root and debootstrap"
  elif ! timeout 300 debootstrap --variant=minbase bookworm "$root" >"$work/log" 2>&1; then
    echo "not tried in a minimal Debian: $(tail -n 1 "$work/log")"
  elif ! mount -t proc proc "$root/proc" 2>"$work/log"; then
    echo "not tried in a minimal Debian: $(cat "$work/log")"
  else
    cp "$1" "$root/uvmsim.deb"
    install="env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /uvmsim.deb"
    if ! chroot "$root" $install --download-only >"$work/log" 2>&1 && ! grep -q "unmet dependencies" "$work/log"; then
      echo "not tried in a minimal Debian: $(tail -n 1 "$work/log")"
      return
    fi
    chroot "$root" $install >"$work/log" 2>&1 || fail "apt: $(tail -n 5 "$work/log")"
    chroot "$root" env -i PATH=/usr/bin:/bin uvmsim run "$config" --no-in-core --json >"$work/log" 2>&1 || fail "$(cat "$work/log")"
    grep -q '"outcome": "completed"' "$work/log" || fail "run in a minimal Debian"
    echo "installed by apt in a minimal Debian, and ran"
  fi
}
# check ROOT: an installation below ROOT is complete, and answers without anything of this machine's environment.
check() {
  for file in bin/uvmsim lib/uvmsim/libuvmsim_simgrid.so share/man/man1/uvmsim.1 share/bash-completion/completions/uvmsim \
    share/zsh/vendor-completions/_uvmsim share/fish/vendor_completions.d/uvmsim.fish share/uvmsim/configs/v100_dgx1.json \
    share/doc/uvmsim/README.md share/doc/uvmsim/sim/study/SWEEP.md share/doc/uvmsim/sim/plan/PLAN.md; do
    [ -s "$1/$file" ] || fail "$1 has no $file"
  done
  (cd / && env -i PATH=/usr/bin:/bin "$1/bin/uvmsim" doctor --json) >"$work/doctor" || fail "doctor: $(cat "$work/doctor")"
  grep -q "\"configs\": \"$1/share/uvmsim/configs\"" "$work/doctor" || fail "it uses other configs: $(cat "$work/doctor")"
  (cd / && env -i "$1/bin/uvmsim" run "$config" --no-in-core --json) | grep -q '"outcome": "completed"' || fail "run"
  # As python3 does it with what is below /usr.
  (cd / && env -i PATH=/usr/bin:/bin python3 -B -c "import site, sys; site.addsitedir(sys.argv[1]); import uvmsim
print(uvmsim.run(sys.argv[2], in_core=False).outcome, uvmsim.program.find())" "$1/lib/python3/dist-packages" "$config") \
    | grep -qx "completed $1/bin/uvmsim" || fail "the Python package"
}

cpack --config "$build/CPackConfig.cmake" -G TGZ -B "$work/packages" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
mkdir "$work/tar"
tar -xzf "$work"/packages/*.tar.gz -C "$work/tar" --strip-components=1
check "$work/tar"

command -v dpkg-shlibdeps >/dev/null || {
  echo "no dpkg-dev here: no .deb"
  exit 0
}
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
deb=$(ls "$work"/packages/uvmsim_*.deb)
dpkg-deb -x "$deb" "$work/root"
check "$work/root/usr"
dpkg-deb -f "$deb" Depends >"$work/depends"
for library in libsimgrid libsqlite3-0 libzstd1 libnlopt libfmt9; do
  grep -q "$library" "$work/depends" || fail "it does not depend on $library: $(cat "$work/depends")"
done
! grep -q mpi "$work/depends" || fail "the plain program needs MPI: $(cat "$work/depends")"
[ ! -e "$work/root/usr/bin/uvmsim-mpi" ] || fail "uvmsim-mpi is in the plain package"
if [ -x "$build/sim/uvmsim-mpi" ]; then
  dpkg-deb -f "$work"/packages/uvmsim-mpi_*.deb Depends | grep -q openmpi || fail "uvmsim-mpi needs no MPI"
fi
in_debian "$deb"
echo "packages: $(cd "$work/packages" && ls -s --block-size=K ./*.deb ./*.tar.gz)"
