#!/usr/bin/env bash
# The example programs: their lines, flags, statuses, checkpoints, traces and how they end, on small made-up images.
# test: timeout=300
cd "${WEIR_SOURCE_DIR:-$(dirname "$0")/../..}" || exit 1
examples=${WEIR_BUILD_DIR:-build}/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=$work/data

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

if [ ! -x "$examples/mnist_cnn" ]; then
    echo "1..0 # skip $examples is not built"
    exit 0
fi

# count images of 28 x 28 pixels, all of one value but for a stripe; labels 0 and 1 by turns
number() { printf "\\x$(printf %02x $(($1 >> 24 & 255)))\\x$(printf %02x $(($1 >> 16 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 & 255)))"; }
make_files() { # prefix, count
    { number 2051; number "$2"; number 28; number 28
      { head -c 784 /dev/zero | tr '\0' '\1'; head -c 784 /dev/zero | tr '\0' '\377'; } > "$work/two"
      for ((i = 0; i < 50; i++)); do cat "$work/two"; done > "$work/hundred"
      for ((i = 0; i < $2 / 100; i++)); do cat "$work/hundred"; done; } > "$data/$1-images-idx3-ubyte"
    { number 2049; number "$2"; head -c "$2" /dev/zero | sed 's/\(.\)\(.\)/\1\x01/g'; } > "$data/$1-labels-idx1-ubyte"
}
mkdir -p "$data"
make_files train 6000
make_files t10k 200

has() { # text, each further argument: a line pattern that must be there
    local text=$1 pattern
    shift
    for pattern in "$@"; do
        grep -qE -- "$pattern" <<< "$text" || { echo "# no line like: $pattern"; return 1; }
    done
}

output=$("$examples/device_placement" 2>&1)
has "$output" '^7$' '^\[ 2\.  4\.  6\.\]$' '^\[  4\.  16\.  36\.\]$' \
    '^c: \(AddV2\): /job:localhost/replica:0/task:0/device:CPU:0$'
report "device_placement" "$output"

output=$("$examples/device_placement" --nosoft_placement 2>&1)
[ $? -ne 0 ] && has "$output" 'Cannot assign a device for operation' '/device:GPU:1'
report "device_placement without a device" "$output"

output=$(WEIR_SIM_GPUS=2 "$examples/device_placement" --nosoft_placement 2>&1)
has "$output" '^c: \(AddV2\): /job:localhost/replica:0/task:0/device:GPU:1$' '^\[ 2\.  4\.  6\.\]$'
report "device_placement on simulated devices" "$output"

for program in mnist_softmax mnist_mlp; do
    run() { "$examples/$program" --data_dir "$data" --train_steps=150 --batch_size 50 --seed=1 "$@" 2>&1; }
    output=$(run)
    has "$output" '^step 100: loss [0-9.e-]+$' '^step 150: loss [0-9.e-]+$' '^test accuracy: '
    report "$program" "$output"
    again=$(run --threads 1)
    [ "$output" = "$again" ]
    report "$program: the same numbers with one thread" "$again"
done

output=$("$examples/mnist_mlp" --data_dir "$data" --train_steps=20 --optimizer=sgd --learning_rate=0.001 --hidden_units=7 \
    --graph_def "$work/graph.pb" --trace "$work/trace.json" 2>&1)
has "$output" '^step 20: loss' && [ -s "$work/graph.pb" ] && grep -q '"traceEvents"' "$work/trace.json"
report "graph and trace files" "$output"

cnn=("$examples/mnist_cnn" --data_dir "$data" --batch_size=100 --seed 1 --model_dir "$work/cnn")
output=$("${cnn[@]}" --max_epoch=2 2>"$work/err")
has "$output" '^Extracting .*train-images' '^Model directory: ' '^############## Running train.##############$' \
    '^Epoch:\[0\] \[10 / 10 \] loos:[0-9.e-]+, acc:[0-9.]+$' '^############## test this epoch ##############$' \
    '^Epoch-1, TestData Accuracy: [0-9.]+$' '^Cost Time: ' '^Time: .*compute' '^Done$' &&
    [ "$(grep -c ^Extracting <<< "$output")" = 4 ] && [ -s "$work/cnn/model.ckpt-1.index" ]
report "mnist_cnn" "$output"

has "$(cat "$work/err")" '4 regularization losses are no part of the loss' '^step 20/20  loss .* examples/s  0:00 left$'
report "mnist_cnn: what stands on stderr" "$(cat "$work/err")"

output=$("${cnn[@]}" --max_epoch=0 --restore 2>&1)
has "$output" '^Restoring pretrained model: .*model.ckpt-1$' '^Done$'
report "mnist_cnn --restore" "$output"

output=$("${cnn[@]}" --restore --model_dir "$work/nothing" 2>&1)
[ $? -eq 1 ] && has "$output" 'No checkpoint to restore in'
report "mnist_cnn --restore without a checkpoint" "$output"

for program in mnist_towers mnist_towers_async; do
    output=$("$examples/$program" --data_dir "$data" --batch_size=100 --max_epoch=1 --seed 1 --devices /cpu:0,/cpu:1 \
        --model_dir "$work/$program" --trace "$work/$program.json" 2>&1)
    has "$output" '^Available GPU Number: 0$' '^Epoch:\[0\] \[(5 / 5|10 / 10) \] loos:' '^Epoch-0, TestData Accuracy: ' '^Done$' &&
        [ -s "$work/$program/model.ckpt-0.index" ] && grep -q '"traceEvents"' "$work/$program.json"
    report "$program" "$output"
    output=$(WEIR_SIM_GPUS=2 "$examples/$program" --data_dir "$data" --batch_size=100 --max_epoch=1 --seed 1 \
        --devices /gpu:0,/gpu:1 --model_dir "$work/$program" 2>&1)
    has "$output" '^Available GPU Number: 2$' '^Epoch-0, TestData Accuracy: ' '^Done$'
    report "$program on simulated devices" "$output"
    output=$("$examples/$program" --data_dir "$data" --devices /gpu:0,/gpu:1 2>&1)
    [ $? -eq 2 ] && has "$output" 'needs 2 GPUs, and there are 0'
    report "$program without GPUs" "$output"
done

for program in device_placement mnist_softmax mnist_mlp mnist_cnn mnist_towers mnist_towers_async; do
    output=$("$examples/$program" --help 2>&1) && has "$output" '--data_dir' '--seed' '--device' '--threads' \
        'log_device_placement' '--trace'
    report "$program --help" "$output"
    output=$("$examples/$program" --data_dri x 2>&1)
    [ $? -eq 2 ] && has "$output" 'data_dir'
    report "$program: an unknown flag names the nearest" "$output"
done

output=$("$examples/mnist_cnn" --data_dir "$work/nowhere" 2>&1)
[ $? -eq 1 ] && has "$output" 'has no file train-images-idx3-ubyte.gz'
report "no data" "$output"

output=$(WEIR_DATA_DIR=$work/nowhere "$examples/mnist_softmax" 2>&1)
[ $? -eq 1 ] && has "$output" "WEIR_DATA_DIR=$work/nowhere: neither"
report "a wrong WEIR_DATA_DIR is not passed over" "$output"

output=$("$examples/mnist_cnn" --data_dir "$data" --learning_rate=nan 2>&1)
[ $? -eq 2 ] && has "$output" '--learning_rate=nan: must be from 0 to 1000'
report "no learning rate" "$output"

# A signal ends a program within 2 s, with a last line.
for signal in INT TERM; do
    "${cnn[@]}" --max_epoch=1000000 > "$work/out-$signal" 2>/dev/null &
    pid=$!
    for ((i = 0; i < 100; i++)); do grep -q '^Epoch:' "$work/out-$signal" && break; sleep 0.1; done
    kill -$signal $pid
    for ((i = 0; i < 20; i++)); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
    kill -9 $pid 2>/dev/null
    wait $pid
    [ $? -eq 130 ] && tail -n1 "$work/out-$signal" | grep -q '^Interrupted after '
    report "SIG$signal" "$(tail -n3 "$work/out-$signal")"
done

echo "1..$cases"
exit $failed
