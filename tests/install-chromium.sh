#!/bin/sh
# A browser for tests/e2e: one that is there already, Debian's package (root and apt), or Playwright's own download.
set -eu
bin="$1"
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium ..."
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
else
  echo "Downloading Chromium ..."
  "$bin/python" -m playwright install chromium
fi
