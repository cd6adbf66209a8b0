#!/usr/bin/env bash
# Real MCP clients, each at a pinned version, against a running worker; see tests/clients/matrix.py for the options.
#   scripts/clients.sh --base http://127.0.0.1:PORT --token-file FILE --command 'deskhand mcp start --state-dir DIR'
# `--prepare` only installs the clients. Exit 77: they cannot be installed here (no network?), nothing was tested.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/mcp-tools.sh"
prepare() {
    tools_node &&
        tools_pip py-mcp2 mcp==2.3.0 &&
        tools_pip py-mcp1 mcp==1.30.0 &&
        tools_pip py-fastmcp fastmcp==4.2.3 &&
        tools_npm npm-clients @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/inspector@2.12.0
}
if ! prepare; then
    echo 'SKIPPED: the MCP clients cannot be installed here' >&2
    exit 77
fi
[ "${1:-}" = --prepare ] && exit 0
export DESKHAND_TOOLS
exec python3 "$root/tests/clients/matrix.py" "$@"
