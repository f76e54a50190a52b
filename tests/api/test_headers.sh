#!/usr/bin/env bash
# Every public header compiles alone, as C11 and as C++17, without a warning.
cd "$WEIR_SOURCE_DIR" || exit 1
[ -z "${WEIR_SANITIZE:-}" ] || { echo "1..0 # SKIP nothing of it runs"; exit 0; }

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

for header in include/weir/*.h include/weir/train/*.h; do
    name=${header#include/}
    source=$TMPDIR/use
    printf '#include <%s>\n#include <%s>\nextern int used;\n' "$name" "$name" | tee "$source.c" > "$source.cc"
    for compiler in gcc clang; do
        command -v $compiler > /dev/null || continue
        check "$name as C11 with $compiler" $compiler -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude "$source.c"
    done
    for compiler in g++ clang++; do
        command -v $compiler > /dev/null || continue
        check "$name as C++17 with $compiler" $compiler -std=c++17 -Wall -Wextra -Werror -fsyntax-only -Iinclude "$source.cc"
    done
done
echo "1..$cases"
exit $failed
