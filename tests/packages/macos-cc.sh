#!/usr/bin/env bash
# Compiles C for macOS with zig, which brings the headers of that system. Zig names the target in its
# own way and does not understand Apple's options for it, so these are left out.
set -eu
options=()
for option in "$@"; do
  case $option in
    --target=* | -mmacosx-version-min=*) ;;
    *) options+=("$option") ;;
  esac
done
exec python -m ziglang cc -target aarch64-macos "${options[@]}"
