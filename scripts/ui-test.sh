#!/usr/bin/env bash
# The tray app's pages: types checked by TypeScript, and their own unit tests in jsdom.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/mcp-tools.sh"
tools_node
cd "$root/ui"
npm ci --silent --no-audit --no-fund --no-update-notifier --ignore-scripts
npm run --silent check
npm --silent test
