# For a machine with a container engine: releases are built by ko (.ko.yaml), to the same entrypoint and user. Copies what
# `make build-linux-amd64` built; nothing is compiled here. The base holds CA certificates, and no shell.
ARG BASE=gcr.io/distroless/static-debian12:nonroot
FROM ${BASE}
COPY dist/cluster-manager-linux-amd64 /ko-app/cluster-manager
USER 65532:65532
ENTRYPOINT ["/ko-app/cluster-manager"]
