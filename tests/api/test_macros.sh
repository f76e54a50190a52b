#!/usr/bin/env bash
# Every builder of <weir/ops.h> has its macro, and a use of all of them compiles as C11 without a warning.
cd "${WEIR_SOURCE_DIR:-$(dirname "$0")/../..}" || exit 1

cases=0 failed=0
report() { # name, output; status of the command before
    local status=$?
    cases=$((cases + 1))
    if [ $status -eq 0 ]; then
        echo "ok $cases - $1"
    else
        echo "not ok $cases - $1"
        sed 's/^/# /' <<< "$2"
        failed=1
    fi
}

use=tests/api/use_macros.c
for compiler in gcc clang; do
    command -v $compiler > /dev/null || continue
    for level in -O0 -O2; do
        output=$($compiler -std=c11 $level -pedantic -Wall -Wextra -Wmissing-field-initializers -Werror -c -o /dev/null \
            -Iinclude $use 2>&1)
        report "macros with $compiler $level" "$output"
    done
done

# Functions whose names stand in parentheses are those that have a macro.
builders=$(printf '#include <weir/ops.h>\n' | gcc -std=c11 -E -P -Iinclude -x c - |
    grep -oE '\(weir_[a-z0-9_]+\)\(weir_scope' | grep -oE 'weir_[a-z0-9_]+' | grep -v weir_scope | sort -u)
output=$([ "$(wc -w <<< "$builders")" -gt 90 ] || echo "only these builders were found: $builders"; for builder in $builders; do
    grep -q "^#define $builder(\.\.\.)" include/weir/ops_macros.h || echo "$builder has no macro"
    grep -q "\b$builder(" $use || echo "$builder is not in $use"
done)
[ -z "$output" ]
report "every builder has a macro, and it is used" "$output"

echo "1..$cases"
exit $failed
