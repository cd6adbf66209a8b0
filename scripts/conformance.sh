#!/usr/bin/env bash
# The official MCP conformance suite against the fixture server of crates/mcp, which is built on the product's own stack.
#   scripts/conformance.sh [--server BINARY] [--revisions '2025-06-18 2025-11-25 2026-07-28'] [--out FOLDER]
# Nothing is expected to fail. Exit 0 when every check of every revision holds.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
server= revisions='2025-06-18 2025-11-25 2026-07-28' out=
while [ $# -gt 0 ]; do
    case $1 in
        --server) server=$2 ;;
        --revisions) revisions=$2 ;;
        --out) out=$2 ;;
        *) echo "unknown option $1" >&2 && exit 2 ;;
    esac
    shift 2
done
. "$root/scripts/mcp-tools.sh"
tools_node
tools_npm conformance @modelcontextprotocol/conformance@0.2.0-alpha.12
if [ -z "$server" ]; then
    (cd "$root" && cargo build --quiet --workspace --example conformance)
    server=${CARGO_TARGET_DIR:-$root/target}/debug/examples/conformance
fi
keep=$out
out=${out:-$(mktemp -d)}
mkdir -p "$out"

# The suite cannot send a token: the server's own address is behind a proxy that adds it. Both end when their input does.
mkfifo "$out/open"
exec 9<> "$out/open"
started=()
cleanup() {
    kill "${started[@]}" 2>/dev/null || true
    rm -f "$out/open"
    [ -n "$keep" ] || rm -rf "$out"
}
trap cleanup EXIT

# start NAME COMMAND… : runs it and waits for the URL it prints, in $url.
start() {
    local name=$1
    shift
    "$@" < "$out/open" > "$out/$name.url" 2> "$out/$name.log" 9>&- &
    started+=($!)
    for _ in $(seq 300); do
        url=$(head -1 "$out/$name.url")
        [ -z "$url" ] || return 0
        sleep 0.1
    done
    echo "$name did not start: $(tail -3 "$out/$name.log")" >&2
    return 1
}
start server "$server"
start proxy python3 "$root/scripts/bearer-proxy.py" "$url" conformance

failed=0
for revision in $revisions; do
    log=$out/$revision.log code=0
    timeout 300 node "$DESKHAND_TOOLS/conformance/node_modules/.bin/conformance" server --url "$url" --suite all \
        --spec-version "$revision" -o "$out/$revision" > "$log" 2>&1 || code=$?
    sed -i 's/\x1b\[[0-9;]*m//g' "$log"
    echo "$revision: $(grep -E '^Total: ' "$log" | tail -1 || echo 'no total'), exit $code"
    if [ $code -ne 0 ]; then
        failed=1
        grep -E '^✗' "$log" || tail -5 "$log"
    fi
done
exit $failed
