#!/bin/sh
# SPDX-License-Identifier: MIT
# debian-source.sh PACKAGE: prints the folder of the package's unpacked Debian source, below build/sources, fetching it
# the first time from the machine's own apt sources. These are asked for sources through a configuration below
# build/apt, so the machine's own is not touched and no root is needed.
# Exit status 77 and a line on stderr where no source can be had.
set -eu
cd "$(dirname "$0")/.."
[ $# = 1 ] || { echo "usage: debian-source.sh PACKAGE" >&2 && exit 2; }
package=$1
tree=$PWD/build/sources/$package
if [ -d "$tree" ]; then
    echo "$tree"
    exit
fi

no_source() {
    echo "no Debian source of $package: $1" >&2
    exit 77
}

command -v apt-get >/dev/null || no_source "apt-get is not here"
command -v dpkg-source >/dev/null || no_source "dpkg-source is not here (package dpkg-dev)"

apt=$PWD/build/apt
apt_sources() {
    "$@" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources" -o Dir::State::Lists="$apt/lists" \
        -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Acquire::http::Timeout=30
}
get() {
    apt_sources apt-get -q "$@"
}

# Both formats of sources.list(5), each binary source turned into the source one at the same place.
derive_sources() {
    rm -rf "$apt/sources"
    mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial"
    count=0
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ -r "$list" ] || continue
        count=$((count + 1))
        case $list in
        *.sources) sed -E 's/^Types:.*/Types: deb-src/' "$list" >"$apt/sources/$count.sources" ;;
        *) sed -nE 's/^[[:space:]]*deb(-src)?[[:space:]]+/deb-src /p' "$list" | sort -u >"$apt/sources/$count.list" ;;
        esac
    done
}

log=$PWD/build/apt/log
mkdir -p build/apt
if [ ! -d "$apt/lists/partial" ]; then
    derive_sources
    # One unreachable source among several is no reason to give up; the package's own fetch decides.
    get update >"$log" 2>&1 || true
fi

versions=$(apt_sources apt-cache showsrc --only-source "$package" 2>>"$log" | sed -n 's/^Version: //p')
if [ -z "$versions" ]; then
    ls "$apt"/lists/*Sources* >/dev/null 2>&1 || rm -rf "$apt/lists"
    no_source "the apt sources of this machine do not list it, or can't be reached (see build/apt/log)"
fi

# The newest version first; a mirror may list one that it does not hold.
new=$PWD/build/sources/.$package.$$
trap 'rm -rf "$new"' EXIT
sorted=$(echo "$versions" | sort -ruV)
for version in $sorted; do
    rm -rf "$new"
    mkdir -p "$new"
    (cd "$new" && get source "$package=$version") >>"$log" 2>&1 || continue
    for unpacked in "$new"/*/; do
        mv "$unpacked" "$tree"
        echo "$tree"
        exit
    done
done
no_source "fetching or unpacking failed (see build/apt/log)"
