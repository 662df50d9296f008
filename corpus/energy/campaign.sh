#!/usr/bin/env bash
# One measuring campaign on this machine's GPU: the figures of a profile, and the checks on them.
#
#     eval "$(.ci/torch-env)"                    # a libtorch with CUDA: see PIP_INDEX_URL
#     cargo build --release --features torch
#     corpus/energy/campaign.sh FOLDER [SECONDS]
#
# Stopped, or out of its SECONDS, the same command goes on from what stands in FOLDER. A folder belongs to one card:
# on another one, start a new folder and name the profile of the first with KNOWN=FILE; what stands there is left out,
# but for the models' longer operators and a few that show how the cards differ. MAGNETON=FILE names the program.
#
# FOLDER/first.json    the profile: operators of the models, of forms that could be cheaper, of the published cases,
#                      a spread for the estimator; the models and their regions in one piece
# FOLDER/second.json   the models' longer operators once more, by another process: how well figures repeat
# FOLDER/trials.json   one operator against itself, 20 times, and what polling the meter costs
# FOLDER/*.windows.jsonl  what each of them is reckoned from
set -euo pipefail
cd "$(dirname "$0")/../.."

out=${1:?usage: campaign.sh FOLDER [SECONDS]}
limit=${2:-7200}
program=${MAGNETON:-target/release/magneton-ir}
known=(${KNOWN:+--known "$KNOWN"})
mkdir -p "$out"

# Measures into FOLDER/NAME.json for as long as there is time; what is left of it waits for the next call.
step() {
    local name=$1 left=$((limit - SECONDS))
    shift
    ((left > 30)) || { echo "no time left for $name: $*"; return; }
    echo "== $name: $* ($left s left)"
    "$program" measure --profile "$out/$name.json" --budget "$((left - 15))" "$@"
}

step first --keys corpus/energy/long.keys
for model in llama3-8b-4l gpt2 qwen2-4l; do
    step first "corpus/exports/$model"-{eager,sdpa}.pt2 --whole --regions "${known[@]}"
done
step first corpus/exports/llama3-8b-{eager,sdpa}.pt2 --whole "${known[@]}"
step second --keys corpus/energy/long.keys
# Too large to be replayed in one piece.
step first corpus/exports/llama3-405b-{eager,sdpa}.pt2 --regions "${known[@]}"
step first corpus/exports/serving-{plain,merged}.pt2 --whole "${known[@]}"
step first corpus/cases/*/*.mir "${known[@]}"
step trials --keys corpus/energy/trial.keys --trials 20
step first --keys corpus/energy/campaign.keys --passes 1 "${known[@]}"

echo "== the second run against the first"
"$program" profile diff "$out/first.json" "$out/second.json"
