#!/usr/bin/env bash
# Real AI clients at pinned versions, each connected by `deskhand mcp install` in a throw-away home without a network:
# gemini-cli and opencode must start the bridge and say that they are connected, codex must list the server.
#   scripts/connect.sh BINARY        (`--prepare` only installs the clients)
# Exit 77: the clients cannot be installed or isolated here, nothing was tested.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/mcp-tools.sh"
skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
tools_node || skip 'no Node that is new enough'
tools_npm ai-clients @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @openai/codex@0.171.0 || skip 'the clients cannot be installed (no network?)'
clients=$DESKHAND_TOOLS/ai-clients
# opencode fetches its program in a script of its own.
(cd "$clients/node_modules/opencode-ai" && node postinstall.mjs >/dev/null 2>&1) || true
[ "${1:-}" = --prepare ] && exit 0
binary=$(readlink -f "$1")
unshare --net true 2>/dev/null || skip 'a network of its own needs root'

top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
# No network but loopback, no environment but this: nothing of the person's can be read or reached.
alone() {
    local home=$1
    shift
    (cd "$home" && timeout 120 unshare --net sh -c 'ip link set lo up 2>/dev/null; exec "$@"' alone \
        env -i HOME="$home" PATH="$PATH" LANG=C.UTF-8 NO_COLOR=1 CI=1 "$@" </dev/null 2>&1)
}
failed=0
check() {
    local client=$1 pattern=$2 home
    shift 2
    home=$top/$client
    mkdir -p "$home/.gemini"
    # Gemini switches every server off in a folder that is not trusted.
    printf '{"%s":"TRUST_FOLDER"}' "$home" > "$home/.gemini/trustedFolders.json"
    alone "$home" "$binary" mcp install --target "$client" > "$top/said" || { echo "FAIL $client: install: $(cat "$top/said")"; failed=1; return; }
    alone "$home" "$@" > "$top/said" || true
    if grep -qiE "$pattern" "$top/said"; then
        echo "pass $client"
    else
        echo "FAIL $client does not say $pattern:"
        cat "$top/said"
        failed=1
    fi
}
check gemini 'deskhand.*mcp start --client gemini.* Connected' "$clients/node_modules/.bin/gemini" mcp list
check opencode 'deskhand.*connected' "$clients/node_modules/.bin/opencode" mcp list
check codex 'deskhand.*mcp start --client codex.*enabled' "$clients/node_modules/.bin/codex" mcp list
exit $failed
