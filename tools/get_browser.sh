#!/usr/bin/env bash
# Makes sure that there is a headless Chromium for tests/report/test_browser.py: get_browser.sh PLAYWRIGHT
# Never fails: where no browser can be had, those tests are skipped and say so.
set -uo pipefail

for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  if command -v "$name" > /dev/null; then
    echo "Browser for the tests: $(command -v "$name")"
    exit 0
  fi
done

debian() {
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return 1
  export DEBIAN_FRONTEND=noninteractive
  timeout 60 apt-get update -qq && timeout 180 apt-get install -y -qq --no-install-recommends chromium-headless-shell
}

playwrights_own() {
  timeout 120 "$1" install --only-shell chromium
}

debian > /dev/null 2>&1 || playwrights_own "$1" > /dev/null 2>&1 ||
  echo "No browser could be had: the tests that open the page will say that they are skipped."
