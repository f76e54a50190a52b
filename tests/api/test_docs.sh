#!/usr/bin/env bash
# What README.md, docs/ and the man pages mention exists: paths, make targets, scripts and their flags, functions and
# macros, environment variables, tests, the command's flags. The man pages are without warnings.
cd "${WEIR_SOURCE_DIR:-$(dirname "$0")/../..}" || exit 1

cases=0 failed=0
report() { # NAME COMPLAINTS
    cases=$((cases + 1))
    if [ -z "$2" ]; then
        echo "ok $cases - $1"
    else
        echo "not ok $cases - $1"
        sed 's/^/# /' <<< "$2"
        failed=1
    fi
}

pages=(README.md docs/*.md)
manuals=(docs/man/weir.1 docs/man/weir.3)

# Words in `code` of the pages, one a line: paths, names, commands.
code=$(sed -e '/^```/,/^```/d' "${pages[@]}" | grep -oE '`[^`]+`' | tr -d '`' | sort -u)
everything=$(cat "${pages[@]}"; sed 's/\\-/-/g; s/\\f.//g' "${manuals[@]}")

# Paths: what begins with a folder of the tree. A star is a pattern; a placeholder in <> stands for any name.
paths=$(grep -oE '^(src|include|tests|docs|scripts|examples|bench|cmake|abi)/[A-Za-z0-9_./<>*-]*' <<< "$code"
    grep -hoE '\]\([^)#:]+\)' "${pages[@]}" | tr -d '])('
    grep -hoE '\b(scripts|docs|examples)/[A-Za-z0-9_.-]+[A-Za-z0-9_]' <<< "$everything")
report "paths exist" "$(while read -r path; do
    pattern=${path//<*>/*}
    compgen -G "$pattern" > /dev/null || compgen -G "docs/$pattern" > /dev/null || echo "$path"
done <<< "$(sort -u <<< "$paths")")"
report "headers named as they are included exist" "$(grep -oE '\bweir/[a-z_]+\.h' <<< "$everything" | sort -u | while read -r header; do
    [ -e "include/$header" ] || echo "$header"
done)"

targets=$(grep -hoE '(^ {4}|`)make [a-z]+' "${pages[@]}" | awk '{print $NF}' | sort -u)
report "make targets exist" "$(for target in $targets; do grep -q "^$target:" Makefile || echo "make $target"; done)"
help=$(make --no-print-directory help)
report "make help names every target" "$(grep -oE '^[a-z]+:' Makefile | tr -d : | grep -vx -e all -e help | while read -r target; do
    grep -qE "^make $target " <<< "$help" || echo "$target"
done)"
report "flags of scripts exist" "$(grep -oE '^scripts/[a-z_.-]+ --?[a-z-]+' <<< "$code" | while read -r script flag; do
    grep -q -e "$flag" "$script" || echo "$script $flag"
done)"

names=$(grep -oE '\b(weir_[a-z0-9_]+|WEIR_[A-Z0-9_]+)' <<< "$everything" | sort -u)
sources=$(cat include/weir/*.h include/weir/train/*.h $(find src -name '*.[ch]') cmake/*.cmake)
report "functions, types, macros and variables exist" "$(for name in $names; do
    case $name in
        weir_family_) continue ;; # weir_family_<name>
    esac
    grep -qw -e "$name" <<< "$sources" || echo "$name"
done)"
report "members named as options exist" "$(grep -oE '(^|[ (])\.[a-z][a-z_]+\b' <<< "$code" | tr -d ' (.' | sort -u |
    grep -vx -e proto -e tier -e c -e h -e cl | while read -r member; do grep -qw -e "$member" include/weir/*.h include/weir/train/*.h || echo ".$member"; done)"

tests=$(grep -oE '\b(test_)?F[0-9]+_[A-Za-z0-9_]+' docs/field-cases.md | sort -u)
report "tests of field cases exist" "$(for name in $tests; do grep -rqw --include='test_*.c' "cmocka_unit_test($name)" tests || echo "$name"; done)"
report "field cases with tests are all told" "$(grep -rhoE --include='test_*.c' '(test_)?F[0-9]+_[A-Za-z0-9_]+\)' tests | tr -d ')' | sort -u |
    while read -r name; do grep -qw "$name" docs/field-cases.md || echo "$name"; done)"

# The command: every subcommand and flag it knows stands in weir(1), and the other way round.
plain=$(sed 's/\\-/-/g; s/\\f.//g; s/\\c//g' docs/man/weir.1)
known=$(grep -ohE '^    \{"[a-z]+", "' src/cli/main.c | grep -oE '[a-z]+' | sort -u)
report "weir(1) names every command" "$(for command in $known; do grep -qE "^\.B (weir )?$command" <<< "$plain" || echo "$command"; done)"
flags=$(grep -ohE 'WEIR_FLAG_(STRING|INTEGER|INTEGER_IN|FLOAT|FLOAT_IN|BOOLEAN)\("[a-z_]+"' src/cli/*.c | grep -oE '"[a-z_]+"' | tr -d '"' | sort -u)
report "weir(1) names every flag" "$(for flag in $flags; do grep -qE -- "--(no)?$flag" <<< "$plain" || echo "--$flag"; done)"
report "weir(1) names no other flags" "$(grep -oE -- '--[a-z_]+' <<< "$plain" | tr -d - | sort -u | while read -r flag; do
    case $flag in
        name | no | noname | help | version) continue ;;
    esac
    grep -qx -e "$flag" -e "${flag#no}" <<< "$flags" || echo "--$flag"
done)"
variables=$(grep -rhoE --include='*.c' '(getenv|read_number)\("[A-Z_]+"' src | grep -oE '[A-Z_]{3,}' | sort -u)
report "weir(1) names every environment variable" "$(for name in $variables; do grep -qw "$name" <<< "$plain" || echo "$name"; done)"

version=$(awk '/^#define WEIR_VERSION_(MAJOR|MINOR|PATCH) /{printf "%s%s", dot, $3; dot = "."}' include/weir/version.h)
report "man pages bear the version" "$(grep -L "\"Weir $version\"" "${manuals[@]}")"
if command -v man > /dev/null && command -v groff > /dev/null; then
    for manual in "${manuals[@]}"; do
        report "$manual is without warnings" "$(man --warnings -E UTF-8 -l -Tutf8 -Z "$manual" 2>&1 > /dev/null)"
    done
fi
echo "1..$cases"
exit $failed
