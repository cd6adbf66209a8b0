#!/usr/bin/env bash
# Draws the screens of the OCR bench and writes down what they say and where (needs chromium and the fonts DejaVu and Noto
# CJK). Run it after changing screen.html; the results are committed.
set -euo pipefail
cd "$(dirname "$0")"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
run() { "${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 --allow-file-access-from-files --window-size=1920,1080 --user-data-dir="$profile" "$@" 2>/dev/null; }
for seed in 1 2 3 4; do
    run --screenshot="$PWD/screen-$seed.png" "file://$PWD/screen.html?seed=$seed" >/dev/null
    run --dump-dom "file://$PWD/screen.html?seed=$seed#lines" | sed -n 's/.*<pre id="lines">\(.*\)<\/pre>.*/\1/p' \
        | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"screen-$seed.json"
    echo "screen-$seed: $(grep -o '"text"' "screen-$seed.json" | wc -l) lines, $(stat -c %s "screen-$seed.png") bytes"
done
