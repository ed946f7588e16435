# Copies what `make build-linux-amd64` built; nothing is compiled here. The base holds CA certificates and the user
# nonroot, and no shell.
ARG BASE=gcr.io/distroless/static-debian12:nonroot
FROM ${BASE}
COPY dist/cluster-manager-linux-amd64 /cluster-manager
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/cluster-manager"]
# This build serves a snapshot on loopback alone, which a container has no use for; it becomes "serve" with a live
# installation.
CMD ["version"]
