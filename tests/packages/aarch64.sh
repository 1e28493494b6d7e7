#!/bin/sh
# Unpacks Debian's Python for aarch64 and an emulator that runs it into the folder $1; installs
# nothing. `$1/python` is then a Python of that machine.
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
foreign install --download-only -y --no-install-recommends python3 > "$packages/log"
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
cat > "$folder/python" <<PYTHON
#!/bin/sh
exec "$emulator" -L "$folder/root" "$folder/root/usr/bin/python3" "\$@"
PYTHON
chmod +x "$folder/python"
