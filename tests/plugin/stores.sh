#!/bin/sh
# SPDX-License-Identifier: MIT
# How the word is stored: by the push that costs least, each with its CFI, or by a movq where no push can make its room;
# on rare paths where only those call; and that SP stays a multiple of 16 for callees that need it.
. "$(dirname "$0")/tap.sh"

cat >stores.c <<'C'
int use(void *), next(void);
void no_register(int (*function)(void)) { function(); next(); }
int one_register(int n) { next(); return n; }
int two_registers(int n, int m) { next(); return n + m; }
int one_register_and_array(int n) { char text[64]; use(text); return n; }
int large_frame(void) { char text[100000]; return use(text) + 1; }
int whole_pages(int n) { char text[65536 - 16]; use(text); return n; }
C

cat >rare.c <<'C'
int next(void);
int saves_register(int *p) { p[0]++; if (p[1] == 7) next(); p[0] *= 3; return p[2]; }
int has_local(int n) { volatile int copy = n; if (copy == 7) next(); return copy; }
int calls_twice(int n) {
    volatile int copy = n;
    if (copy == 7) { next(); copy++; }
    if (copy == 9) { next(); copy++; }
    return copy;
}
int calls_mostly(int n) { volatile int copy = n; if (copy & 1) next(); copy++; if (copy & 2) next(); return copy; }
int calls_in_loop(int *p, int n) { volatile int copy = n; for (int i = 0; i < n; i++) if (p[i] == copy) next(); return copy; }
int has_assembly(int n) { volatile int copy = n; asm volatile("nop"); if (copy == 7) next(); return copy; }
int never_returns(void) __attribute__((noreturn));
int leaves(int n) { volatile int copy = n; if (copy == 7) never_returns(); if (copy == 9) next(); return copy; }
C

cat >recursive.c <<'C'
int next(void);
extern int (*function)(void);
struct tree { struct tree *left, *right; int value; };
typedef double pair __attribute__((vector_size(16)));
#define OWN static __attribute__((noinline, noclone)) long
#define START if (!t) return sum
#define LEFT(name) sum = name(t->left, sum) + t->value
OWN itself(struct tree *t, long sum) { START; LEFT(itself); return itself(t->right, sum); }
OWN no_call(long sum) { return sum * 3 + 1; }
OWN known(struct tree *t, long sum) { START; LEFT(known); sum += no_call(sum); return known(t->right, sum); }
OWN assembly(struct tree *t, long sum) { START; LEFT(assembly); asm volatile(""); return assembly(t->right, sum); }
OWN unknown(struct tree *t, long sum) { START; LEFT(unknown); if (!sum) sum = next(); return unknown(t->right, sum); }
OWN tail(struct tree *t, long sum) { if (!t) return next(); LEFT(tail); return tail(t->right, sum); }
OWN pointer(struct tree *t, long sum) { START; LEFT(pointer); if (!sum) sum = function(); return pointer(t->right, sum); }
OWN vector(struct tree *t, long sum) { START; volatile pair p = {sum}; LEFT(vector) + p[0]; return vector(t->right, sum); }
OWN stacked(struct tree *t, long sum, long a, long b, long c, long d, long e) {
    START;
    sum = stacked(t->left, sum, 1, 2, 3, 4, 5) + t->value;
    return stacked(t->right, sum, 1, 2, 3, 4, 5);
}
__attribute__((weak, noinline)) long weak(struct tree *t, long sum) { START; LEFT(weak); return weak(t->right, sum); }
long all(struct tree *t) {
    return itself(t, 0) + known(t, 0) + assembly(t, 0) + unknown(t, 0) + tail(t, 0) + pointer(t, 0) + vector(t, 0) +
           stacked(t, 0, 1, 2, 3, 4, 5);
}
C

# prologue FUNCTION OPTIONS...: its instructions and CFI up to the first call, whichever GCC made it
prologue() {
    function=$1
    shift
    $gcc "$@" -fcf-protection=none -fplugin="$plugin" -S stores.c -o - | awk -v name="$function:" '
        $1 == name { inside = 1; next }
        inside && $1 == "call" { exit }
        inside && /\(%rdi|movl|leaq/ { next }
        inside && ($1 ~ /^(push|sub|mov|or|cmp|j)/ || $1 ~ /def_cfa/) {
            gsub(/\$-151[0-9]*/, "WORD"); sub(/LPSRL[0-9]*/, "LOOP"); sub(/%r12/, "%rbx"); sub(/^[ \t]*\.?/, ""); gsub(/[ \t]+/, " "); print }' | paste -sd ';'
}
# is_stored EXPECTED FUNCTION OPTIONS...
is_stored() {
    expected=$1
    shift
    found=$(prologue "$@")
    [ "$found" = "$expected" ] || {
        echo "$found"
        return 1
    }
}
# shape EXPECTED FUNCTION OPTIONS...: where a function of rare.c lowers SP, stores its word and calls
shape() {
    expected=$1 function=$2
    shift 2
    found=$($gcc "$@" -fcf-protection=none -fno-reorder-blocks -fplugin="$plugin" -S rare.c -o - | awk -v name="$function:" '
        $1 == name { inside = 1; next }
        $1 == ".size" { inside = 0 }
        inside && ($1 ~ /^(push|call)/ || $0 ~ /^\tsubq.*%rsp/ || $1 ~ /^movq/ && /\$-151/) {
            gsub(/\$-151[0-9]*/, "WORD"); sub(/@PLT/, ""); sub(/^[ \t]*/, ""); gsub(/[ \t]+/, " "); print }' | paste -sd ';')
    [ "$found" = "$expected" ] || {
        echo "$found"
        return 1
    }
}
# aligned_to BYTES FUNCTION OPTIONS...: the CFA - SP of a function of recursive.c at its first call, by its CFI
aligned_to() {
    expected=$1 function=$2
    shift 2
    found=$($gcc "$@" -fcf-protection=none -fplugin="$plugin" -S recursive.c -o - | awk -v name="$function:" '
        $1 == name { inside = 1; next }
        inside && $1 == "call" { print (offset % 16 ? 8 : 16), offset; exit }
        inside && $1 == ".cfi_def_cfa_offset" { offset = $2 }')
    [ "${found%% *}" = "$expected" ] || {
        echo "$found"
        return 1
    }
}

check "into the padding: the push alone" is_stored "pushq WORD;cfi_def_cfa_offset 16" no_register -O2
check "after one register: a second push of it" is_stored \
    "pushq %rbx;cfi_def_cfa_offset 16;pushq %rbx;cfi_def_cfa_offset 24;pushq WORD;cfi_def_cfa_offset 32" one_register -O2
check "after two registers: the push alone" is_stored \
    "pushq %rbp;cfi_def_cfa_offset 16;pushq %rbx;cfi_def_cfa_offset 24;pushq WORD;cfi_def_cfa_offset 32" two_registers -O2
check "below an array: a shorter sub" is_stored \
    "pushq %rbx;cfi_def_cfa_offset 16;subq \$72, %rsp;cfi_def_cfa_offset 88;pushq WORD;cfi_def_cfa_offset 96" \
    one_register_and_array -O2
check "with a frame pointer: no CFI" is_stored \
    "pushq %rbp;cfi_def_cfa_offset 16;movq %rsp, %rbp;cfi_def_cfa_register 6;pushq %rbp;pushq WORD" \
    no_register -O2 -fno-omit-frame-pointer
loop='subq $4096, %rsp;orq $0, (%rsp);cmpq %r11, %rsp;jne .LOOP;cfi_def_cfa_register 7'
check "after a loop of stack probes: a shorter sub for the rest" is_stored \
    "cfi_def_cfa 11, 98312;$loop;subq \$1712, %rsp;cfi_def_cfa_offset 100024;pushq WORD;cfi_def_cfa_offset 100032" \
    large_frame -O2 -fstack-clash-protection
check "where the loop leaves no rest: a movq" is_stored \
    "pushq %rbx;cfi_def_cfa_offset 16;cfi_def_cfa 11, 65552;$loop;movq WORD, (%rsp)" whole_pages -O2 -fstack-clash-protection
check "size rather than speed: the push alone" is_stored "pushq WORD;cfi_def_cfa_offset 16" no_register -Os

check "one call on a rare path: stored there, nothing pushed" shape \
    "pushq %rbx;subq \$16, %rsp;movq WORD, (%rsp);call next" saves_register -O2
check "with a local: the plain prologue" shape "subq \$40, %rsp;movq WORD, (%rsp);call next" has_local -O2
check "two rare paths: stored on each" shape \
    "subq \$40, %rsp;movq WORD, (%rsp);call next;movq WORD, (%rsp);call next" calls_twice -O2
check "a rare call that never returns: stored there too" shape \
    "subq \$40, %rsp;movq WORD, (%rsp);call next;movq WORD, (%rsp);call never_returns" leaves -O2
check "a loop: stored before it" shape \
    "pushq %rbp;pushq %rbx;subq \$32, %rsp;pushq WORD;call next" calls_in_loop -O2
check "paths that are not rare: stored in the prologue" shape \
    "subq \$32, %rsp;pushq WORD;call next;call next" calls_mostly -O2
check "assembly, which may call: stored before it" shape "subq \$32, %rsp;pushq WORD;call next" has_assembly -O2
check "size rather than speed: stored in the prologue" shape "subq \$32, %rsp;pushq WORD;call next" has_local -Os
check "with a frame pointer: stored in the prologue" shape \
    "pushq %rbp;subq \$24, %rsp;pushq WORD;call next" has_local -O2 -fno-omit-frame-pointer

for function in itself known; do
    check "calls $function: SP a multiple of 8" aligned_to 8 $function -O2
done
for function in assembly unknown tail pointer vector stacked weak; do
    check "recursive, $function: SP a multiple of 16" aligned_to 16 $function -O2
done
check "recursive, profiled: SP a multiple of 16" aligned_to 16 itself -O2 -pg -mfentry
check "recursive, alignment not to be thought of: SP a multiple of 16" aligned_to 16 itself -O2 -fno-ipa-stack-alignment
finish
