#!/bin/sh
# SPDX-License-Identifier: MIT
# Options that change frames, prologues, calls or sections: the programs do what they do without the plugin, and their
# words are right while they run and in their machine code. -UWITH_WORDS: some of the functions are uncovered then, and
# their words are not asked for while they run.
. "$(dirname "$0")/tap.sh"

$gcc -O2 -w "$programs/calls.c" "$programs/probe.S" -o plain 2>log && ./plain >c.out || exit 2
$gxx -O2 -w "$programs/exceptions.cc" "$programs/probe.S" -o plain -pthread 2>log && ./plain >cc.out || exit 2

# runs OUTPUT COMPILER OPTIONS SOURCE
runs() {
    # shellcheck disable=SC2086 # a list of options
    $2 -DWITH_WORDS $3 -w -fplugin="$plugin" "$4" "$programs/probe.S" -o words -pthread &&
        setarch -R ./words >words.out && cmp "$1" words.out && "$check_words" words
}

while read -r options; do
    check "C $options" runs c.out "$gcc" "$options" "$programs/calls.c"
done <<'END'
-O2 -fno-omit-frame-pointer
-O2 -mno-omit-leaf-frame-pointer -fno-omit-frame-pointer -fno-shrink-wrap
-O2 -fcf-protection=full -fstack-protector-strong -fstack-clash-protection
-O0 -fstack-protector-all -fstack-clash-protection
-O2 -fstack-check
-O2 -pg
-O2 -pg -mfentry
-O0 -pg
-O2 -finstrument-functions
-O2 -fpatchable-function-entry=8,3
-O2 -fsplit-stack
-O2 -fsanitize=address
-O1 -fsanitize=undefined
-O2 -fsanitize=thread
-O2 --coverage
-O2 -fprofile-generate
-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
-O2 -fPIC -shared-libgcc
-O2 -fPIE -pie -fno-plt
-O2 -static
-O2 -static-pie -fPIE
-O2 -mcmodel=medium
-O2 -maccumulate-outgoing-args -UWITH_WORDS
-O2 -mno-accumulate-outgoing-args -mpush-args -fno-defer-pop
-Os -mno-push-args
-O3 -mavx2 -ftree-vectorize -UWITH_WORDS
-O2 -mpreferred-stack-boundary=5 -UWITH_WORDS
-O2 -mpreferred-stack-boundary=4 -mincoming-stack-boundary=3 -UWITH_WORDS
-O2 -mstackrealign -UWITH_WORDS
-O2 -mno-red-zone
-O2 -mtune=atom -UWITH_WORDS
-O2 -mtune=k8 -UWITH_WORDS
-O2 -mindirect-branch=thunk-inline -mfunction-return=thunk-inline
-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables
-O2 -fexceptions -fnon-call-exceptions
-O2 -ffixed-rbp -UWITH_WORDS
-O2 -fcall-used-rbx
-O2 -fschedule-insns -fselective-scheduling -fselective-scheduling2 -fsel-sched-pipelining
-O2 -fno-shrink-wrap -fno-ipa-ra -fno-caller-saves
-O2 -fno-reorder-blocks-and-partition
-O3 -freorder-blocks-algorithm=stc -funroll-all-loops -fsplit-loops
-O2 -g3 -gsplit-dwarf
-O2 -masm=intel
-O2 -mtls-dialect=gnu2 -fPIC
-O2 -flto -ffat-lto-objects
-O2 -flto=2
-O2 -fwhole-program
-O2 -fuse-ld=gold
-O2 -fopenmp
END

while read -r options; do
    check "C++ $options" runs cc.out "$gxx" "$options" "$programs/exceptions.cc"
done <<'END'
-O2 -fno-omit-frame-pointer
-O2 -fstack-protector-strong -fstack-clash-protection -fcf-protection
-O2 -pg
-O2 -pg -mfentry
-O2 -fsanitize=address,undefined
-O2 -ffunction-sections -Wl,--gc-sections -fuse-ld=lld
-O2 -static
-O2 -maccumulate-outgoing-args -UWITH_WORDS
-O3 -mavx2 -UWITH_WORDS
-O2 -fno-asynchronous-unwind-tables
END
finish
