#!/bin/sh
# Installs packages from Debian, as root. Serialised, because apt-get fails while another one runs.
exec flock "${TMPDIR:-/tmp}/streamlog-apt" sh -c '
    apt-get -qq update &&
    apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@" >/dev/null
' install "$@"
