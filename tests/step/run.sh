#!/bin/sh
# SPDX-License-Identifier: MIT
# Steps real programs, as installed and compiled here with and without the plugin, and prints for each walker how many
# of its walks were marked as cut and wrong; before that, each of programs/ at the levels that the meson tests leave out.
# Last line: N passed, N failed, N skipped.
#
# STEP_LIMIT is the most steps a program (2000000; twice that with words), STEP_FOLDER where the reports go, STEP_REAL
# where the real programs are built, STEP_JOBS how many are stepped at a time (2).
set -u
cd "$(dirname "$0")/../.." || exit
limit=${STEP_LIMIT:-2000000}
folder=${STEP_FOLDER:-build/tests/step/real}
step=build/tests/step/step
plugin=$PWD/build/compiler-plugin/gcc-$(gcc -dumpversion)/spwalk.so
real=${STEP_REAL:-build/tests/step/built}
rm -rf "$folder"
mkdir -p "$folder"
tally=$folder/tally
passed=0 failed=0 skipped=0 running=0

# run TITLE PROGRAM ARGUMENT...: two at a time.
run() {
    title=$1
    shift
    if ! command -v "$1" >/dev/null; then
        echo "skipped: $title ($1 is not installed)"
        skipped=$((skipped + 1))
        return
    fi
    steps=$limit
    case $title in *-words) steps=$((2 * limit)) ;; esac
    (if nice "$step" --listed tests/step/listed.txt --steps "$steps" --peers 16 --through 16 --timeout 3000 \
        --title "$title" --tally "$tally" --output "$folder/$title.out" -- "$@" >"$folder/$title.txt" 2>&1 </dev/null; then
        echo passed >>"$folder/status"
    else
        echo "FAILED: $title; see $folder/$title.txt"
        echo failed >>"$folder/status"
    fi) &
    running=$((running + 1))
    [ $((running % ${STEP_JOBS:-2})) != 0 ] || wait
}

# real NAME ARGUMENT...: from its Debian source, with and without words.
real() {
    name=$1
    shift
    for words in plain words; do
        case $words in plain) flag= ;; *) flag=-fplugin=$plugin ;; esac
        status=0
        [ -x "$real/$name-$words" ] || CC=gcc sh .ci/build-real.sh "$name" "$real/$name-$words" -O2 -g1 $flag \
            2>"$folder/$name-$words.log" || status=$?
        case $status in
        0) run "$name-$words" "$real/$name-$words" "$@" ;;
        77) echo "skipped: $name-$words ($(tail -n 1 "$folder/$name-$words.log"))" && skipped=$((skipped + 1)) ;;
        *) echo "FAILED: $name-$words does not build; see $folder/$name-$words.log" && failed=$((failed + 1)) ;;
        esac
    done
}

# build NAME COMPILER SOURCE...: with and without words.
build() {
    name=$1 compiler=$2
    shift 2
    $compiler -O2 -g1 -w -o "$folder/$name-plain" "$@" && $compiler -O2 -g1 -w "-fplugin=$plugin" -D__SPWALK__ -o "$folder/$name-words" "$@"
}

head -c 60000 /usr/bin/gcc >"$folder/data"
openssl genrsa -out "$folder/key" 1024 2>/dev/null
run sort sort -r /etc/passwd /usr/share/common-licenses/GPL-3
run ls ls -l --color=always /usr/bin
run gzip gzip -c "$folder/data"
run xz xz -T2 -c -0 --block-size=20000 "$folder/data"
run zstd zstd -q -c "$folder/data"
run sqlite3 sqlite3 -init tests/step/real/queries.sql :memory: .quit
run lua lua tests/step/real/script.lua
run perl perl -e 'my %h; $h{$_ % 7} .= $_ for 1 .. 999; print map {"$_ $h{$_}\n"} sort keys %h; eval { die "x" }; print "abcabc" =~ /(a.c)+$/'
run openssl-rsa openssl pkeyutl -sign -inkey "$folder/key" -rawin -in "$folder/data" -digest sha256
run openssl-chacha openssl enc -chacha20 -K 00 -iv 00 -in "$folder/data"
run bash bash -c 'for i in 1 2 3; do echo $(echo $i | sed s/1/x/); done; trap "echo hup" HUP; kill -HUP $$; ls /usr >/dev/null'
real sqlite --size 1 :memory:
real lua tests/step/real/script.lua
real bzip2 -c "$folder/data"
real zlib -c "$folder/data"
real zstd -q -c "$folder/data"
real jsoncpp 1
if build exceptions "g++ -std=gnu++17 -Itests/step/programs" tests/step/programs/exceptions.cc &&
    build callbacks "gcc -std=gnu11 -Itests/step/programs" tests/step/programs/callbacks.c &&
    build libc "gcc -std=gnu11 -Itests/step/programs" tests/step/programs/libc.c -lm; then
    for name in exceptions callbacks libc; do
        run "$name-plain" "$folder/$name-plain"
        run "$name-words" "$folder/$name-words"
    done
else
    failed=$((failed + 1))
fi

wait
passed=$((passed + $(grep -c passed "$folder/status")))
failed=$((failed + $(grep -c failed "$folder/status")))

for level in ${STEP_LEVELS-O1 Os flto}; do
    for words in none "$plugin"; do
        case $words in none) name=$level-plain ;; *) name=$level-words ;; esac
        case $level in flto) options="-O2 -flto" ;; *) options=-$level ;; esac
        # shellcheck disable=SC2086
        STEP_OPTIONS="--through 32" STEP_TALLY=$folder/tally-$name sh tests/step/programs.sh "$step" \
            "$PWD/build/tests/step/libstep.so" "$words" "$folder/$name" $options >"$folder/$name.tap" 2>&1
        sed -n "s|^not ok [0-9]* - \(.*\)|FAILED: \1, $name; see $folder/$name.tap|p" "$folder/$name.tap"
        passed=$((passed + $(grep -c '^ok' "$folder/$name.tap")))
        failed=$((failed + $(grep -c '^not ok' "$folder/$name.tap")))
    done
done

# Each walker's six verdicts come in pairs: of all its walks, and of those where all walkers ran.
awk -F '\t' '
function wrong(w, which,   c) { c = 3 + w * 12 + which; return $(c + 8) + $(c + 10) }
function marked(w, which) { return $(3 + w * 12 + which + 6) }
function walks(w, which,   v, n) { for (v = 0; v < 6; v++) n += $(3 + w * 12 + which + 2 * v); return n + 0 }
function add(to, steps,   i) { sum[to, 0] += steps; for (i = 1; i <= 8; i++) sum[to, i] += r[i] }
function total(of, title) { if (sum[of, 0] > 0) row(title, sum[of, 0], sum[of, 1], sum[of, 2], sum[of, 3], sum[of, 4], sum[of, 5], sum[of, 6], sum[of, 7], sum[of, 8]) }
function row(title, steps, a, b, c, d, e, f, g, h) {
    printf "%-18s %10d %10d %9d %7d | %8d %8d %8d %8d %8d\n", title, steps, a, b, c, d, e, f, g, h }
BEGIN { printf "%-18s %10s %10s %9s %7s | each 16th: %-3s wrong\n%-18s %10s %10s %9s %7s | %8s %8s %8s %8s %8s\n",
    "", "", "spwalk", "", "", "", "", "steps", "walks", "marked", "wrong", "walks", "spwalk", "libunw.", "walks", "glibc" }
{ r[1] = walks(0, 0); r[2] = marked(0, 0); r[3] = wrong(0, 0) + wrong(1, 0); r[4] = walks(2, 1); r[5] = wrong(0, 1);
  r[6] = wrong(2, 1); r[7] = walks(3, 1); r[8] = wrong(3, 1)
  of = FILENAME == TALLY ? $1 : FILENAME
  words = of ~ /-words$/ ? "words" : "plain"
  add("all", $2); add((FILENAME == TALLY ? "real " : "small ") words, $2)
  if (FILENAME == TALLY) row($1, $2, r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]) }
END { total("real words", "with words"); total("real plain", "without"); total("small words", "small, words"); total("small plain", "small, without"); total("all", "all")
  if (sum["all", 4] > 0 && sum["all", 7] > 0)
    printf "wrong of 100 walks: spwalk %.5f, libunwind %.5f, glibc %.5f\n",
        100 * sum["all", 5] / sum["all", 4], 100 * sum["all", 6] / sum["all", 4], 100 * sum["all", 8] / sum["all", 7] }
' TALLY="$tally" "$tally" "$folder"/tally-*
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
