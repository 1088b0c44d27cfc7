#!/bin/sh
# The system parts that tests need and that no Python package brings. They are installed where this
# may be done; otherwise one line says what to install. With the argument node, only that.
set -eu

# need COMMAND PURPOSE PACKAGE...: the first of the packages that there is.
need() {
  command=$1 purpose=$2
  shift 2
  if command -v "$command" >/dev/null; then return; fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing $1 for $purpose (once) ..."
    apt-get update -qq
    for package in "$@"; do
      if DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$package" >/dev/null; then return; fi
    done
  fi
  echo "Needed: $command, for $purpose; install it, e.g.: sudo apt-get install $1" >&2
  exit 1
}

if [ "${1-}" = node ]; then
  need node "formulas in the documentation" nodejs
  exit
fi
need java "Spark" openjdk-17-jre-headless openjdk-21-jre-headless
need npm "the identity provider that tests sign in by" npm
need node "formulas in the documentation" nodejs
need chromium "the pages of the service" chromium
