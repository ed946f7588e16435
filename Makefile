# Everything needs Go and git, and test Node too. Binaries go to bin/ and dist/, both ignored by git.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Without kustomize's Go plugins, which nothing here may load, the linker brings no dynamic loader: binaries are smaller and
# linked sooner.
export GOFLAGS += -tags=kustomize_disable_go_plugin_support

TOOLS := $(CURDIR)/bin/tools
# What "cluster-manager version" prints.
VERSION ?= $(shell git describe --tags --always --dirty 2> /dev/null || echo dev)
GO_BUILD := go build -trimpath -ldflags '-X main.version=$(VERSION)'
# GitHub's OpenAPI description, which judges the requests that tests send; the version of the npm package that carries it.
GITHUB_OPENAPI_VERSION := 23.0.2
GITHUB_OPENAPI := $(TOOLS)/github-openapi-$(GITHUB_OPENAPI_VERSION).json
# The protocol's own tools, from npm: the conformance suite, the inspector, and a Node that is new enough for both.
MCP_CONFORMANCE_VERSION := 0.1.16
MCP_INSPECTOR_VERSION := 2.12.0
NODE_VERSION := 22.23.3
MCP_TOOLS := $(TOOLS)/mcp-$(MCP_CONFORMANCE_VERSION)-$(MCP_INSPECTOR_VERSION)-node-$(NODE_VERSION)
# RACE=-race runs the tests under the race detector, which needs a C compiler.
RACE ?=
# COUNT=10 runs the end-to-end test ten times in a row, E2E is the part of it to run.
COUNT ?= 1
E2E ?= ^TestEndToEnd$$
# KEEP=1 leaves the demo running.
KEEP ?=
# BENCH chooses benchmarks, BENCH_REPORT is the name of the two files that are written.
BENCH ?= .
BENCH_FLAGS ?=
BENCH_REPORT ?= docs/perf/$(shell date +%F)
# LOAD is how long make load lasts.
LOAD ?= 2m
# Where a release is published: the image's repository, and what charts lie below.
IMAGE ?= gsoci.azurecr.io/giantswarm/cluster-manager
CHART_REPOSITORY ?= oci://gsoci.azurecr.io/charts/giantswarm
# The image's base, where it is another one than .ko.yaml's.
BASE ?=
HELM_PUSH_FLAGS ?=
RELEASE := go run ./internal/release/command
RELEASE_PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64

.PHONY: help
help: ## show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: need-go ## build bin/cluster-manager
	$(GO_BUILD) -o bin/ ./cmd/cluster-manager

.PHONY: build-linux-amd64
build-linux-amd64: need-go ## build dist/cluster-manager-linux-amd64, the binary of the image
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o dist/cluster-manager-linux-amd64 ./cmd/cluster-manager

.PHONY: demo
demo: need-git build ## open, merge and refuse pull requests on this machine alone (KEEP=1 leaves it running)
	bin/cluster-manager demo $(if $(KEEP),--keep-running)

# With the test bed built, an API server stands for the clusters' control planes, and their credentials are tried.
.PHONY: demo-managed
demo-managed: build ## make, use, change and delete managed clusters on this machine alone
	.ci/demo-managed.sh

.PHONY: test
test: need-git test-tools $(GITHUB_OPENAPI) $(MCP_TOOLS) testbed postgres ## run every test; a skipped one fails (RACE=-race for the race detector)
	go vet ./...
	CLUSTER_MANAGER_TEST_TOOLS='$(TOOLS)' CLUSTER_MANAGER_TEST_GITHUB_OPENAPI='$(GITHUB_OPENAPI)' CLUSTER_MANAGER_TEST_MCP='$(MCP_TOOLS)' go test -v -timeout 30m $(RACE) ./... 2>&1 | awk -f .ci/test.awk

.PHONY: test-e2e
test-e2e: need-git testbed ## run the end-to-end test alone (COUNT=10 in a row; E2E='^TestEndToEnd$$/^pool$$' a part)
	go test -v -count '$(COUNT)' -timeout 60m -run '$(E2E)' ./cmd/cluster-manager 2>&1 | awk -f .ci/test.awk

# Google's own client is a second one for the provider's double, where it is installed; make test does without.
.PHONY: test-gcloud
test-gcloud: need-go ## drive the provider's double with the gcloud that is installed
	GOFLAGS= go test -tags gcloud -run Gcloud ./fixtures/gke

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## lint the code
	$(TOOLS)/golangci-lint run ./...

.PHONY: format
format: $(TOOLS)/golangci-lint ## format the code, imports in three groups
	$(TOOLS)/golangci-lint fmt

.PHONY: bench
bench: need-git test-tools testbed postgres $(TOOLS)/gogit $(TOOLS)/kubectl ## measure ours beside what people use instead, into docs/perf (BENCH_FLAGS=-short: little, in a minute)
	mkdir -p bin
	CLUSTER_MANAGER_TEST_TOOLS='$(TOOLS)' go test -run '^$$' -bench '$(BENCH)' -benchtime 500ms -p 1 -timeout 3h $(BENCH_FLAGS) ./... | tee bin/bench.txt
	go run ./internal/bench/report '$(BENCH_REPORT)' < bin/bench.txt

.PHONY: load
load: need-git ## call a server from fifty callers for two minutes (LOAD=10m for longer)
	CLUSTER_MANAGER_TEST_LOAD='$(LOAD)' go test -v -count 1 -timeout 2h -run '^TestLoad$$' ./cmd/cluster-manager

.PHONY: golden
golden: need-git test-tools ## rewrite the golden files, to be read as a diff
	packages=$$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -r -n 1 dirname | sort -u); \
	[ -z "$$packages" ] || CLUSTER_MANAGER_TEST_TOOLS='$(TOOLS)' go test $$packages -update

.PHONY: tools-doc
tools-doc: build ## rewrite docs/tools.md from the tools
	bin/cluster-manager tools > bin/tools.md
	mv bin/tools.md docs/tools.md

.PHONY: helm-lint
helm-lint: $(TOOLS)/helm ## lint the chart
	$(TOOLS)/helm lint --strict helm/cluster-manager

.PHONY: helm-template
helm-template: $(TOOLS)/helm ## render the chart with its default values
	$(TOOLS)/helm template cluster-manager helm/cluster-manager --namespace cluster-manager

.PHONY: helm-docs
helm-docs: $(TOOLS)/helm-docs ## rewrite the chart's README from its values
	$(TOOLS)/helm-docs --sort-values-order file --chart-search-root helm

# Read as a diff: AWS's lists are some hundred megabytes for each region, and take minutes.
.PHONY: prices
prices: need-go ## refresh the price table from AWS's published price lists, to be read as a diff
	go run ./internal/prices render/catalog/data/prices.csv

# A release in parts, which the workflow calls and the rehearsal too; each takes VERSION, without v. docs/releasing.md says
# what each part is for.
.PHONY: release-version release-binaries release-image release-chart release-check release-publish
release-version:
	@$(RELEASE) next

release-binaries: $(TOOLS)/cyclonedx-gomod
	rm -rf dist/release && mkdir -p dist/release
	for platform in $(RELEASE_PLATFORMS); do \
		file="dist/release/cluster-manager-$(VERSION)-$$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%-*} GOARCH=$${platform#*-} go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o "$$file" ./cmd/cluster-manager; \
		$(TOOLS)/cyclonedx-gomod bin -json -std -version 'v$(VERSION)' -output "$$file.cdx.json" "$$file"; \
	done
	cd dist/release && sha256sum cluster-manager-* > checksums.txt

release-image: $(TOOLS)/ko
	mkdir -p dist/image
	VERSION='$(VERSION)' KO_DOCKER_REPO='$(IMAGE)' $(if $(BASE),KO_DEFAULTBASEIMAGE='$(BASE)') $(TOOLS)/ko build --bare --tags '$(VERSION)' \
		--platform linux/amd64,linux/arm64 --image-user 65532:65532 --sbom-dir dist/image --image-refs dist/image/refs.txt \
		--image-label org.opencontainers.image.version='$(VERSION)' ./cmd/cluster-manager

# The chart names the image that it is released with, wherever that is published.
release-chart: $(TOOLS)/helm
	rm -rf dist/chart && mkdir -p dist/chart && cp -R helm/cluster-manager dist/chart/
	image='$(IMAGE)'; sed -i -e "/^image:/,/^[^ ]/ s|^  registry: .*|  registry: $${image%%/*}|" \
		-e "/^image:/,/^[^ ]/ s|^  repository: .*|  repository: $${image#*/}|" dist/chart/cluster-manager/values.yaml
	$(TOOLS)/helm package --version '$(VERSION)' --app-version '$(VERSION)' --destination dist/chart dist/chart/cluster-manager
	$(TOOLS)/helm push $(HELM_PUSH_FLAGS) 'dist/chart/cluster-manager-$(VERSION).tgz' '$(CHART_REPOSITORY)'

release-check:
	$(RELEASE) check -version '$(VERSION)' -image '$(IMAGE)' -chart-repository '$(CHART_REPOSITORY)'

release-publish: release-binaries
	$(MAKE) release-image
	$(MAKE) release-chart
	$(MAKE) release-check

.PHONY: release-dry
release-dry: need-git need-go ## rehearse the release of this commit against a registry on loopback; nothing is tagged, signed or published
	version=$$($(RELEASE) next); \
	if [ -z "$$version" ]; then echo 'nothing to release: no commit since the last tag reaches a user'; exit 0; fi; \
	$(RELEASE) rehearse -image '$(IMAGE)' -chart-repository '$(CHART_REPOSITORY)' $(MAKE) release-publish VERSION="$$version"; \
	echo "and the tag v$$version, with the files of dist/release and these notes:"; ls dist/release; $(RELEASE) notes -version "$$version"

# The stock commands that tests compare with, at the versions of go.mod.
.PHONY: test-tools
test-tools: $(TOOLS)/sops $(TOOLS)/kustomize $(TOOLS)/helm $(TOOLS)/helm-docs

$(TOOLS)/sops: go.mod go.sum | need-go
	go build -o $@ github.com/getsops/sops/v3/cmd/sops

$(TOOLS)/kustomize: go.mod go.sum | need-go
	go build -o $@ sigs.k8s.io/kustomize/kustomize/v5

# One file of the package, fetched once and never installed: the rest of it unpacks to hundreds of megabytes.
$(GITHUB_OPENAPI): | need-node need-npm
	mkdir -p $(TOOLS)
	folder=$$(mktemp -d $(TOOLS)/npm-XXXXXX); trap 'rm -rf "$$folder"' EXIT; cd "$$folder"; \
	npm pack --ignore-scripts --loglevel=error @octokit/openapi@$(GITHUB_OPENAPI_VERSION) > /dev/null; \
	tar -xzf *.tgz package/generated/api.github.com.json; \
	mv package/generated/api.github.com.json $@

# Installed once and run offline from then on; scripts of packages run for Node alone, which fetches the machine's own kind.
$(MCP_TOOLS): | need-node need-npm
	mkdir -p $(TOOLS)
	folder=$$(mktemp -d $(TOOLS)/npm-XXXXXX); trap 'rm -rf "$$folder"' EXIT; \
	install='npm install --no-save --no-package-lock --omit=dev --no-audit --no-fund --loglevel=error'; \
	$$install --ignore-scripts --prefix "$$folder" @modelcontextprotocol/conformance@$(MCP_CONFORMANCE_VERSION) @modelcontextprotocol/inspector@$(MCP_INSPECTOR_VERSION); \
	$$install --prefix "$$folder/node" node@$(NODE_VERSION); \
	mv "$$folder" $@

# Built from modules of their own, so that the product's go.mod names the product's needs alone.
$(TOOLS)/gogit: tools/gogit/main.go tools/gogit/go.mod tools/gogit/go.sum | need-go
	cd tools/gogit && go build -o $@ .

$(TOOLS)/kubectl: tools/kubectl/go.mod tools/kubectl/go.sum | need-go
	cd tools/kubectl && go build -trimpath -o $@ k8s.io/kubernetes/cmd/kubectl

$(TOOLS)/helm: tools/helm/go.mod tools/helm/go.sum | need-go
	cd tools/helm && go build -o $@ helm.sh/helm/v4/cmd/helm

$(TOOLS)/helm-docs: tools/helm/go.mod tools/helm/go.sum | need-go
	cd tools/helm && go build -o $@ github.com/norwoodj/helm-docs/cmd/helm-docs

$(TOOLS)/ko: tools/ko/go.mod tools/ko/go.sum | need-go
	cd tools/ko && go build -trimpath -o $@ github.com/google/ko

$(TOOLS)/cyclonedx-gomod: tools/sbom/go.mod tools/sbom/go.sum | need-go
	cd tools/sbom && go build -trimpath -o $@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

$(TOOLS)/cosign: tools/cosign/go.mod tools/cosign/go.sum | need-go
	cd tools/cosign && go build -trimpath -o $@ github.com/sigstore/cosign/v3/cmd/cosign

$(TOOLS)/golangci-lint: tools/go.mod tools/go.sum | need-go
	cd tools && go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# Does nothing when all is there. The programs go to a cache folder outside the checkout.
.PHONY: testbed
testbed: need-go ## build what the test bed runs: Kubernetes, Flux, an identity provider (minutes, once)
	go run ./internal/testbed/command build

.PHONY: testbed-run
testbed-run: testbed ## run the test bed by hand, until ctrl+c (docs/testbed.md)
	go run ./internal/testbed/command run -user 'editor@example.com=editors' -user 'viewer@example.com=viewers'

# Tests run a PostgreSQL of their own, as an unprivileged user, on loopback.
.PHONY: postgres
postgres: ## find PostgreSQL for the tests; root on Debian or Ubuntu gets it installed
	.ci/postgres

.PHONY: need-go need-git need-node need-npm
need-go need-git need-node need-npm: need-%:
	@command -v $* > /dev/null || { echo "$* is missing: install it and run make again" >&2; exit 1; }
