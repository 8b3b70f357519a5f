# SPDX-License-Identifier: MIT
# For the test scripts of this folder, which are called with GCC's version, the plugin and check-words. Sourced.
# shellcheck shell=sh

gcc=gcc-$1 gxx=g++-$1 gfortran=gfortran-$1
plugin=$(realpath "$2")
check_words=$(realpath "$3")
programs=$(cd "$(dirname "$0")" && pwd)/programs
. "$programs/../../tap.sh"
cd "$work" || exit 2

# stores FUNCTION FILE: how many words the function of an assembly file stores
stores() {
    sed -n "/^$1:/,/\\.size[[:space:]]*$1,/p" "$2" |
        grep -cE '(pushq[[:space:]]+\$-151[0-9]{7}|movq[[:space:]]+\$-151[0-9]{7}, \(%rsp\))$'
}
