#!/bin/sh
# What sim/report/web/dist has is what its sources give. Skipped (77) without node and the packages of `npm ci`.
# usage: bundle_test.sh WEB_DIR
set -eu
cd -- "$1"
if grep -q '"resolved"' package-lock.json; then
  echo "package-lock.json names a registry"
  exit 1
fi
if ! command -v node >/dev/null || [ ! -d node_modules/esbuild ]; then
  echo "skipped: run npm ci in $1"
  exit 77
fi
node build.mjs --check
