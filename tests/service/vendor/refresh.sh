#!/bin/sh
# Fetch the bundles that pages and their tests use, by name and version, with npm.
# Change a version here, run it, and commit what changed. VERSIONS.md lists what there is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pages="$here/../../../src/quaestor/service/static/vendor"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # name version
  (cd "$work" && rm -rf package && tar xzf "$(npm pack --silent "$1@$2")")
}

list() { # folder name version licence file...
  folder=$1 name=$2 version=$3 licence=$4
  shift 4
  for file in "$@"; do
    sum=$(sha256sum "$folder/$file" | cut -d ' ' -f 1)
    echo "| $file | $name | $version | $licence | $sum |" >>"$folder/VERSIONS.md"
  done
}

begin() { # folder
  mkdir -p "$1"
  printf '%s\n\n%s\n\n%s\n%s\n' "# Bundles from npm" \
    "Written by tests/service/vendor/refresh.sh; do not edit." \
    "| file | package | version | licence | SHA-256 |" "| --- | --- | --- | --- | --- |" \
    >"$1/VERSIONS.md"
}

begin "$pages"
fetch htmx.org 4.0.0
sed '/^\/\/# sourceMappingURL/d' "$work/package/dist/htmx.min.js" >"$pages/htmx.min.js"
cp "$work/package/LICENSE" "$pages/htmx.LICENSE"
list "$pages" htmx.org 4.0.0 0BSD htmx.min.js
fetch uplot 1.6.32
cp "$work/package/dist/uPlot.iife.min.js" "$pages/uPlot.min.js"
cp "$work/package/dist/uPlot.min.css" "$pages/uPlot.min.css"
cp "$work/package/LICENSE" "$pages/uPlot.LICENSE"
list "$pages" uplot 1.6.32 MIT uPlot.min.js uPlot.min.css

begin "$here"
fetch axe-core 4.14.0
cp "$work/package/axe.min.js" "$here/axe.min.js"
cp "$work/package/LICENSE" "$here/axe.LICENSE"
list "$here" axe-core 4.14.0 MPL-2.0 axe.min.js
