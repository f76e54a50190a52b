#!/usr/bin/env bash
# The benches answer in their protocol, each of them runs, and bench/compare.py can drive them.
# test: alone, timeout=300
cd "$WEIR_SOURCE_DIR" || exit 1
worker=$WEIR_BUILD_DIR/bench/worker
ceilings=$WEIR_BUILD_DIR/bench/ceilings
[ -x "$worker" ] && [ -x "$ceilings" ] || { echo "1..0 # SKIP no benches in $WEIR_BUILD_DIR"; exit 0; }
# A folder without MNIST: random digits.
export WEIR_DATA_DIR=$TMPDIR

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

# says PROGRAM LINE PATTERN: the answer to a line matches.
says() {
    local answer
    answer=$(printf '%s\n' "$2" | "$1" | tail -n +2) || return 1
    grep -qE "$3" <<< "$answer" || { echo "$answer"; return 1; }
}

number='[0-9.e+-]+'
names=$("$worker" < /dev/null | tr -d '[]{}",' | sed 's/ready://')
check "the ready line lists benches" grep -q "mlp_sgd_b1 .*run_noop" <<< "$names"
quick="softmax_sgd_b100 mlp_adam_b1 mlp_sgd_b100 run_noop run_feed_fetch chain1000 noopchain10000 independent1000
       ckpt_save_318k ckpt_restore_318k"
[ -n "${WEIR_SANITIZE:-}" ] || quick="$quick chain10000 mlp_sgd_b1024 lstm_sgd_b100 deep_adam_b100 cnn_tutorial_b1024"
for bench in $quick; do
    check "$bench" says "$worker" "$bench 0.01" "^\{\"bench\": \"$bench\", \"us\": $number, \"n\": [1-9][0-9]*\}$"
done
check "two lines, two answers" test "$(printf 'run_noop 0.01\nrun_feed_fetch 0.01\n' | "$worker" | wc -l)" = 3
check "threads" sh -c "echo 'mlp_sgd_b1 0.01' | '$worker' --threads 2 | grep -q '\"us\"'"
check "an unknown bench is an error" says "$worker" "nothing 0.01" '^\{"bench": "nothing", "error": ".+"\}$'
check "no time is an error" says "$worker" "run_noop" '^\{"bench": "run_noop", "error": ".+"\}$'
check "a name is escaped" says "$worker" 'a"\b 1' '^\{"bench": "a\\"\\\\b", "error": ".+"\}$'
check "wrong usage" sh -c "'$worker' --threads 0 < /dev/null; test \$? = 2"
check "the first step, and memory" sh -c \
    "'$worker' --first-step | tr '\n' ' ' | grep -qE '^\{\"first_step\": $number\} \{\"resident_bytes\": [0-9]+, \"data_bytes\": [0-9]+\} '"

for bench in fma read_16k flat_plan; do
    check "ceiling $bench" says "$ceilings" "$bench 0.01" "\"us\": $number, \"n\": [1-9][0-9]*, \"value\": $number, \"unit\": \".+\", \"cpu_us\": $number\}$"
done
check "an unknown ceiling is an error" says "$ceilings" "nothing 1" '"error"'

report=$TMPDIR/report.json
check "compare measures Weir without peers" "${WEIR_PYTHON:-python3}" bench/compare.py --build "$WEIR_BUILD_DIR" --peers "" \
    --threads 1 --rounds 2 --seconds 0.02 --only '^(run_noop|chain1000|first_step)$' --json "$report"
check "its report" "${WEIR_PYTHON:-python3}" -c "
import json, sys
report = json.load(open(sys.argv[1]))
assert [bench['bench'] for bench in report['benches']] == ['run_noop', 'chain1000'], report['benches']
assert report['benches'][1]['floor_us'] > 0 and len(report['benches'][1]['turns']['weir']) == 2
assert report['first_step']['weir'][0]['ms'] > 0
assert any(bar['holds'] is not None for bar in report['bars'])
" "$report"
check "compare says when a contestant is missing" sh -c \
    "'${WEIR_PYTHON:-python3}' bench/compare.py --build '$TMPDIR' --list; test \$? = 2"
echo "1..$cases"
exit $failed
