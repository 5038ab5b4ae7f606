/**
 * The schema of the SQLite store, as numbered steps. A step that was published is never changed; the number of the last
 * one is the version of the schema, kept in the file's `user_version`.
 *
 * Rowid tables and integer names throughout: tables without rowid and text keys cost two to three times the space here.
 * The tenant leads every key.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE tenants (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;

  CREATE TABLE threads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    name TEXT NOT NULL,
    log_id TEXT NOT NULL,
    tail INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    head TEXT,
    title TEXT,
    archived INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    UNIQUE (tenant, name)
  ) STRICT;
  CREATE INDEX threads_by_change ON threads (tenant, updated_ms, name);

  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    name TEXT NOT NULL,
    agent TEXT NOT NULL,
    parent INTEGER,
    kind TEXT,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    principal TEXT,
    fence INTEGER NOT NULL,
    next_batch INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    ended TEXT,
    settled INTEGER NOT NULL,
    loose INTEGER NOT NULL,
    UNIQUE (tenant, thread, name)
  ) STRICT;
  CREATE INDEX runs_by_lease ON runs (lease_until_ms) WHERE ended_ms IS NULL;
  CREATE INDEX runs_unsettled ON runs (ended_ms) WHERE ended_ms IS NOT NULL AND settled = 0;

  CREATE TABLE segments (
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    run INTEGER NOT NULL,
    loose INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (tenant, thread, last_seq)
  ) STRICT;

  CREATE TABLE snapshots (
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    shell BLOB NOT NULL,
    UNIQUE (tenant, thread, run, seq)
  ) STRICT;

  CREATE TABLE blobs (
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    hash TEXT NOT NULL,
    run INTEGER,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (tenant, thread, hash)
  ) STRICT;

  CREATE TABLE compacted (
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    run INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (tenant, thread, run)
  ) STRICT;
  `,
  `
  CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    name TEXT NOT NULL,
    agent TEXT NOT NULL,
    principal TEXT,
    parent TEXT,
    queued_ms INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (tenant, thread, name)
  ) STRICT;

  CREATE TABLE tool_calls (
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    UNIQUE (tenant, thread, name)
  ) STRICT;
  `,
  `
  ALTER TABLE threads ADD COLUMN owner TEXT;
  ALTER TABLE threads ADD COLUMN access INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX threads_by_owner ON threads (tenant, owner, updated_ms, name) WHERE owner IS NOT NULL;

  CREATE TABLE members (
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    UNIQUE (tenant, thread, name)
  ) STRICT;
  CREATE INDEX members_by_name ON members (tenant, name, thread);

  CREATE TABLE tickets (
    hash TEXT NOT NULL UNIQUE,
    until_ms INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL
  ) STRICT;
  CREATE INDEX tickets_by_end ON tickets (until_ms);

  CREATE INDEX runs_by_principal ON runs (tenant, principal) WHERE ended_ms IS NULL AND principal IS NOT NULL;
  `,
];
