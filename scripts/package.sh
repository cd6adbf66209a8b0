#!/usr/bin/env bash
# Builds the .deb and the .rpm by Tauri's own bundler, from release builds: the tray app, the program `deskhand` that AI clients
# start, the browser extension unpacked, the OCR models, icons and a desktop entry. They land in dist/.
#   scripts/package.sh [--debug]      (--debug: from the everyday build, to try the packaging itself without a release build)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
profile=release build=--release bundle=
[ "${1:-}" != --debug ] || { profile=debug build=; bundle=--debug; }
target=${CARGO_TARGET_DIR:-$root/target}/$profile
models=${DESKHAND_MODELS:-${XDG_DATA_HOME:-$HOME/.local/share}/deskhand/models}
# The version of the bundler is that of the library.
bundler=@tauri-apps/cli@2.12.5

scripts/fetch-models.sh
# shellcheck disable=SC2086
cargo build --workspace $build --bin deskhand --bin deskhand-tray

stage=$root/dist/stage
rm -rf "$stage"
mkdir -p "$stage"
node extension/tools/pack.mjs "$stage/extension.zip"
python3 -m zipfile -e "$stage/extension.zip" "$stage/extension"
cp -r "$models" "$stage/models"

# What both programs are linked with, in the words of each packaging system.
libraries() { objdump -p "$target/deskhand" "$target/deskhand-tray" | sed -n 's/^ *NEEDED *//p' | sort -u; }
mkdir -p "$stage/debian"
touch "$stage/debian/control"
shared=$(cd "$stage" && dpkg-shlibdeps -O --ignore-missing-info -e"$target/deskhand" -e"$target/deskhand-tray" 2>/dev/null | sed 's/^shlibs:Depends=//')

python3 - "$stage" "$target" "$shared" "$(libraries)" > "$stage/bundle.json" <<'PYTHON'
import json, os, sys

stage, target, shared, libraries = sys.argv[1:]
files = {"/usr/bin/deskhand": f"{target}/deskhand"}
for folder, place in (("extension", "/usr/share/deskhand/extension"), ("models", "/usr/share/deskhand/models")):
    for top, _, names in os.walk(f"{stage}/{folder}"):
        for name in names:
            path = f"{top}/{name}"
            files[f"{place}/{os.path.relpath(path, f'{stage}/{folder}')}"] = path
# Loaded while running, so that no linker names them.
deb = [d.strip() for d in shared.split(",") if d.strip()]
deb += ["tesseract-ocr", "tesseract-ocr-eng"]
rpm = [f"{name}()(64bit)" for name in libraries.split()] + ["libayatana-appindicator3.so.1()(64bit)", "tesseract"]
linux = {
    "deb": {"depends": deb, "recommends": ["chromium", "tesseract-ocr-chi-sim"], "section": "utils", "files": files},
    "rpm": {"depends": rpm, "files": files},
}
print(json.dumps({"bundle": {"linux": linux}}))
PYTHON

# shellcheck disable=SC2086
npx --yes "$bundler" bundle $bundle --bundles deb,rpm --config "$stage/bundle.json"
mkdir -p dist
find "$target/bundle" -name '*.deb' -o -name '*.rpm' | while read -r package; do cp "$package" dist/; done
rm -rf "$stage"
ls -l dist/*.deb dist/*.rpm
