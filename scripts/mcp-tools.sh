# Pinned tools for the MCP checks (the official conformance suite, real clients), kept in a cache folder.
# Source it. DESKHAND_TOOLS says where; only the ordinary npm and pip clients are used.
DESKHAND_TOOLS=${DESKHAND_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/deskhand-tools}
mkdir -p "$DESKHAND_TOOLS"

# tools_npm FOLDER PACKAGE@VERSION… : installs once; again when the list changes.
tools_npm() {
    local folder=$DESKHAND_TOOLS/$1 wanted
    shift
    wanted="$*"
    [ "$(cat "$folder/installed" 2>/dev/null)" = "$wanted" ] && return 0
    rm -rf "$folder" && mkdir -p "$folder" && echo '{"private":true,"type":"module"}' > "$folder/package.json"
    (cd "$folder" && npm install --silent --no-audit --no-fund --no-update-notifier --ignore-scripts --save-exact "$@" >&2) || return 1
    echo "$wanted" > "$folder/installed"
}

# tools_pip FOLDER PACKAGE==VERSION… : a virtual environment with just these.
tools_pip() {
    local folder=$DESKHAND_TOOLS/$1 wanted
    shift
    wanted="$*"
    [ "$(cat "$folder/installed" 2>/dev/null)" = "$wanted" ] && return 0
    rm -rf "$folder"
    python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --no-input --disable-pip-version-check "$@" >&2 || return 1
    echo "$wanted" > "$folder/installed"
}

# tools_node : puts a Node of at least 22.19 first on PATH (the suite and the inspector need it).
tools_node() {
    local enough='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1)'
    command -v node >/dev/null && node -e "$enough" 2>/dev/null && return 0
    local arch=x64
    case $(uname -m) in aarch64 | arm64) arch=arm64 ;; esac
    tools_npm node "node-linux-$arch@24" || return 1
    PATH=$DESKHAND_TOOLS/node/node_modules/node-linux-$arch/bin:$PATH
    export PATH
    node -e "$enough"
}
