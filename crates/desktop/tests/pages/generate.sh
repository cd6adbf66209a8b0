#!/usr/bin/env bash
# Draws the pages of the OCR test and bench, and writes down what they say and where (needs chromium and the fonts Noto
# CJK and DejaVu). The texts are our own. Run it after changing a page; the results are committed.
set -euo pipefail
cd "$(dirname "$0")"
chromium=${CHROMIUM:-chromium}
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
run() { "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 --window-size=1000,640 --user-data-dir="$profile" "$@" 2>/dev/null; }
for page in *.html; do
    name=${page%.html}
    run --screenshot="$PWD/$name.png" "file://$PWD/$page" >/dev/null
    # The script in lines.js, asked for by the fragment, turns the page into the list of its lines.
    run --dump-dom "file://$PWD/$page#lines" | sed -n 's/.*<pre id="lines">\(.*\)<\/pre>.*/\1/p' \
        | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"$name.json"
    echo "$name: $(grep -o '"text"' "$name.json" | wc -l) lines, $(stat -c %s "$name.png") bytes"
done
