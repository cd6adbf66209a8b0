#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that building, running or testing needs and that are not there yet.
#   scripts/system-packages.sh build|run|test|tray|package…       (several at once; `test` is everything that tests need)
# As root without a prompt; with sudo where that works without a password; else it says the command and ends.
set -euo pipefail
build="build-essential pkg-config cmake clang libclang-dev libtesseract-dev libleptonica-dev libpipewire-0.3-dev libwayland-dev libegl-dev
 libgbm-dev libdrm-dev libxkbcommon-dev libdbus-1-dev libxcb1-dev libxrandr-dev libssl-dev git"
run="xvfb openbox dbus dbus-x11 tesseract-ocr tesseract-ocr-eng tesseract-ocr-chi-sim tesseract-ocr-rus tesseract-ocr-kor fonts-dejavu-core fonts-noto-cjk fonts-noto-color-emoji
 chromium python3 python3-pip python3-venv"
demo="mousepad"
# The tray app: its window is WebKitGTK's, its icon goes through the indicator library, which is loaded when it starts.
tray="libwebkit2gtk-4.1-dev libgtk-3-dev libayatana-appindicator3-1"
package="debootstrap rpm"
test="xterm x11-utils x11-xserver-utils x11-xkb-utils xdotool xclip imagemagick python3-gi gir1.2-gtk-3.0 python3-xlib python3-pil python3-numpy
 python3-gi-cairo webkit2gtk-driver fonts-urw-base35 gnome-keyring postgresql iproute2 util-linux zip unzip curl"
wanted=
for set in "${@:-}"; do
    case $set in
        build) wanted="$wanted $build" ;;
        run) wanted="$wanted $build $run $demo" ;;
        tray) wanted="$wanted $tray" ;;
        test) wanted="$wanted $build $run $demo $tray $test" ;;
        package) wanted="$wanted $build $tray $package" ;;
        *) echo "usage: $0 build|run|test|tray|package…" >&2 && exit 2 ;;
    esac
done
command -v node >/dev/null || wanted="$wanted nodejs"
command -v npm >/dev/null || wanted="$wanted npm"
if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian or Ubuntu: please install what these packages hold: $wanted" >&2
    exit 0
fi
missing=()
for package in $wanted; do
    [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" = 'install ok installed' ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ]; then as=(); elif sudo -n true 2>/dev/null; then as=(sudo -n); else
    echo "Please install what is missing, then run make again:  sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as[@]}" apt-get update -qq
"${as[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
