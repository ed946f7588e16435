#!/usr/bin/env bash
# Runs `cluster-manager demo managed`, with the test bed's API server as the clusters' control plane where it is built.
set -eu -o pipefail

folder=$(mktemp -d)
bed=
finish() {
	if [ -n "$bed" ]; then
		kill "$bed" 2> /dev/null || true
		wait "$bed" 2> /dev/null || true
	fi
	rm -rf "$folder"
}
trap finish EXIT

go build -o "$folder/testbed" ./internal/testbed/command
"$folder/testbed" run -flux=false -helm=false -tenancy=false -charts= -definitions none > "$folder/bed" 2>&1 &
bed=$!
kubeconfig=
for _ in $(seq 600); do
	kubeconfig=$(sed -n 's/.*export KUBECONFIG=//p' "$folder/bed")
	if [ -n "$kubeconfig" ] || ! kill -0 "$bed" 2> /dev/null; then
		break
	fi
	sleep 0.2
done
bin/cluster-manager demo managed ${kubeconfig:+--control-plane "$kubeconfig"}
