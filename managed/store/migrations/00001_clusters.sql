-- Both databases read these statements. Times are microseconds since 1970; a record is one JSON value in a text column,
-- since it may hold \u0000; what stands beside it is what queries ask for.

-- +goose Up
CREATE TABLE tenants (
    id text PRIMARY KEY
);

CREATE TABLE clusters (
    id text PRIMARY KEY,
    tenant text NOT NULL,
    pool text NOT NULL,
    project text NOT NULL,
    account text NOT NULL,
    name text NOT NULL,
    state text NOT NULL,
    created_at bigint NOT NULL,
    deleted_at bigint,
    record text NOT NULL,
    counter bigint NOT NULL DEFAULT 0,
    next_look_at bigint,
    lease_owner text NOT NULL DEFAULT '',
    lease_until bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    hours bigint NOT NULL DEFAULT 0,
    meter_at bigint
);
CREATE UNIQUE INDEX clusters_name ON clusters (tenant, name) WHERE state <> 'deleted';
CREATE INDEX clusters_of_tenant ON clusters (tenant, created_at, id);
CREATE INDEX clusters_of_account ON clusters (account, id) WHERE next_look_at IS NULL AND state = 'ready';
CREATE INDEX clusters_due ON clusters (next_look_at) WHERE next_look_at IS NOT NULL;
CREATE INDEX clusters_metered ON clusters (meter_at) WHERE meter_at IS NOT NULL;
CREATE INDEX clusters_deleted ON clusters (deleted_at) WHERE deleted_at IS NOT NULL;

-- The numbers of events are given under the lock of this row, so that they are seen in their order.
CREATE TABLE outbox_last (
    id bigint NOT NULL
);
INSERT INTO outbox_last (id) VALUES (0);

CREATE TABLE outbox (
    id bigint PRIMARY KEY,
    cluster text NOT NULL,
    tenant text NOT NULL,
    body text NOT NULL,
    delivered_at bigint,
    failures bigint NOT NULL DEFAULT 0,
    due_at bigint NOT NULL DEFAULT 0
);
CREATE INDEX outbox_waiting ON outbox (cluster, id) WHERE delivered_at IS NULL;
CREATE INDEX outbox_of_tenant ON outbox (tenant, id);

CREATE TABLE hours (
    cluster text NOT NULL,
    starts_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    tenant text NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (cluster, starts_at)
);
CREATE INDEX hours_since ON hours (starts_at, cluster);

CREATE TABLE jobs (
    name text PRIMARY KEY,
    due_at bigint NOT NULL,
    lease_owner text NOT NULL,
    lease_until bigint NOT NULL
);

CREATE TABLE audits (
    request text NOT NULL,
    at bigint NOT NULL,
    principal text NOT NULL,
    method text NOT NULL,
    tenant text NOT NULL,
    resource text NOT NULL,
    code text NOT NULL,
    record text NOT NULL
);
CREATE INDEX audits_of_tenant ON audits (tenant, at);
CREATE INDEX audits_of_request ON audits (request);
