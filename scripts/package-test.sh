#!/usr/bin/env bash
# Installs the .deb in a clean Debian (debootstrap, chroot) and starts it there under a virtual display: the tray app comes up,
# `deskhand doctor` sees a worker, and a client gets the list of tools over stdio. Needs root; leaves nothing behind.
#   scripts/package-test.sh [PACKAGE.deb]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
package=${1:-$(ls -t "$root"/dist/*.deb 2>/dev/null | head -1)}
[ -n "$package" ] || { echo 'There is no package: run make package first.' >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo 'This test makes a Debian of its own and needs root: sudo make package-test' >&2; exit 1; }

# The release and the mirror that this machine uses itself.
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
    sed -nE 's/^deb (\[[^]]*\] )?([^ ]+).*/\2/p; s/^URIs: *([^ ]+).*/\1/p' | grep -v security | sed -n 1p)
debian=$(mktemp -d)
cleanup() {
    for point in proc dev/pts dev/shm dev sys; do umount -l "$debian/$point" 2>/dev/null || true; done
    rm -rf "$debian"
}
trap cleanup EXIT

# Its root is everybody's to enter; a temporary folder is not.
chmod 755 "$debian"
echo "Debian $release in $debian"
debootstrap --variant=minbase "$release" "$debian" "$mirror" >"$debian.log" 2>&1 || { tail -5 "$debian.log" >&2; exit 1; }
rm -f "$debian.log"
# The machine's own way to its mirror: proxies, certificates, keys.
cp -r /etc/apt/apt.conf.d /etc/apt/sources.list.d "$debian/etc/apt/" 2>/dev/null || true
rm -f "$debian/etc/apt/sources.list"
[ ! -f /etc/apt/sources.list ] || cp /etc/apt/sources.list "$debian/etc/apt/"
for place in /etc/apt/auth.conf.d /etc/apt/keyrings /usr/share/keyrings /etc/ssl/certs /usr/local/share/ca-certificates; do
    [ -d "$place" ] && mkdir -p "$debian$place" && cp -rL "$place/." "$debian$place/" 2>/dev/null || true
done
cp -L /etc/resolv.conf /etc/hosts "$debian/etc/" 2>/dev/null || true
mount -t proc proc "$debian/proc"
mount --rbind /dev "$debian/dev" && mount --make-rslave "$debian/dev"
cp "$package" "$debian/tmp/deskhand.deb"
inside() { chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"; }
inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends /tmp/deskhand.deb >/dev/null
# Only for looking at it; the package needs none of these.
inside apt-get install -y -qq --no-install-recommends xvfb xauth dbus-x11 python3 >/dev/null
inside useradd -m ann

cat > "$debian/tmp/look.py" <<'PYTHON'
import json, os, subprocess, sys, time

state = os.path.expanduser("~/.local/state/deskhand-test")
os.makedirs(state, mode=0o700)
with open(f"{state}/settings.json", "w") as file:
    json.dump({"port": 0}, file)
app = subprocess.Popen(["deskhand-tray", "--hidden", "--state-dir", state])
try:
    for _ in range(600):
        if os.path.exists(f"{state}/worker.json"):
            break
        assert app.poll() is None, "the tray app ended"
        time.sleep(0.1)
    running = json.load(open(f"{state}/worker.json"))
    print("the tray app runs at", running["mcp_url"])
    said = subprocess.run(["deskhand", "doctor", "--json", "--state-dir", state], capture_output=True, text=True)
    report = json.loads(said.stdout)
    for check in report["checks"]:
        print("  ", "ok " if check["ok"] else "-- ", check["name"], ":", check["found"])
    needed = [c["name"] for c in report["checks"] if c["needed"] and not c["ok"]]
    assert not needed, f"missing: {needed}"
    assert [c["ok"] for c in report["checks"] if c["name"] == "worker"] == [True]
    asked = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'
    said = subprocess.run(["deskhand", "mcp", "start", "--state-dir", state], input=asked, capture_output=True, text=True, timeout=60)
    tools = json.loads(said.stdout.splitlines()[0])["result"]["tools"]
    assert len(tools) > 30, tools
    print("tools/list names", len(tools), "tools")
    for place in ("/usr/share/deskhand/extension/manifest.json", "/usr/share/deskhand/models/PP-OCRv6_rec_small.onnx"):
        assert os.path.isfile(place), place
finally:
    app.terminate()
    code = app.wait(20)
print("the tray app ended with", code)
sys.exit(code)
PYTHON
inside su ann -c 'cd && xvfb-run -a -s "-screen 0 1280x800x24" dbus-run-session python3 /tmp/look.py'
inside apt-get remove -y -qq deskhand >/dev/null
[ ! -e "$debian/usr/bin/deskhand" ] || { echo 'removing the package left the program' >&2; exit 1; }
echo 'The package installs, starts, works and goes away again.'
