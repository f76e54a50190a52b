#!/usr/bin/env bash
# The program of README.md: compiled as it stands there, against the built library, it prints what stands below it.
cd "$WEIR_SOURCE_DIR" || exit 1
[ -z "${WEIR_SANITIZE:-}" ] || { echo "1..0 # SKIP nothing is linked with a library under sanitizers"; exit 0; }

cases=0 failed=0
check() {
    local name=$1 output
    shift
    cases=$((cases + 1))
    if output=$("$@" 2>&1); then
        echo "ok $cases - $name"
    else
        echo "not ok $cases - $name"
        sed 's/^/# /' <<< "$output"
        failed=1
    fi
}

# block FENCE: the lines of the first block that opens with the fence.
block() {
    awk -v fence="$1" '$0 == "```" && inside {exit} inside {print} $0 == fence && !inside {inside = 1}' "$2"
}

program=$TMPDIR/program
block '```c' README.md > "$program.c"
sed '1,/^It prints$/d' README.md > "$TMPDIR/rest"
block '```' "$TMPDIR/rest" > "$program.expected"

check "README.md has a program" grep -q 'int main(void)' "$program.c"
check "and its output" test -s "$program.expected"
for compiler in gcc clang; do
    command -v $compiler > /dev/null || continue
    check "$compiler compiles it" $compiler -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude "$program.c" -o "$program" \
        -L"$WEIR_BUILD_DIR" -lweir -Wl,-rpath,"$WEIR_BUILD_DIR"
    check "it runs" sh -c "'$program' > '$program.output'"
    check "it prints what README.md says" diff "$program.expected" "$program.output"
done
echo "1..$cases"
exit $failed
