/**
 * The schema of the PostgreSQL store, as numbered steps. A step that was published is never changed; the steps that were
 * taken stand in the table `migrations`. Every step is one transaction that begins by claiming its number there, so of
 * two starters one takes it and the other finds it taken.
 *
 * `{schema}` stands for the schema. The tenant leads every key. Rows of threads and runs change all the time and have room
 * to do so in place. Their ids are unique by themselves too: that leaves the planner no choice on the hot path, whatever
 * it knows of the tables.
 *
 * A process of the version before may be at work on the same tables: it has opened them and goes on. So a step adds tables,
 * and columns that are null or have a default, and changes nothing that is there. What the older one cannot know of goes by
 * the database's own means: its deletion of a thread takes the members along.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE {schema}.tenants (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
  );

  CREATE TABLE {schema}.threads (
    tenant bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name text COLLATE "C" NOT NULL,
    log_id text NOT NULL,
    tail bigint NOT NULL,
    floor bigint NOT NULL,
    head text,
    title text,
    archived smallint NOT NULL,
    metadata text NOT NULL,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
  ) WITH (fillfactor = 70);
  CREATE INDEX threads_by_change ON {schema}.threads (tenant, updated_ms, name);

  CREATE TABLE {schema}.runs (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name text COLLATE "C" NOT NULL,
    agent text NOT NULL,
    parent bigint,
    kind text,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    principal text,
    fence bigint NOT NULL,
    next_batch bigint NOT NULL,
    lease_until_ms bigint NOT NULL,
    stop smallint NOT NULL,
    started_ms bigint NOT NULL,
    ended_ms bigint,
    ended text,
    settled smallint NOT NULL,
    loose bigint NOT NULL,
    PRIMARY KEY (tenant, thread, id),
    UNIQUE (tenant, thread, name)
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_running ON {schema}.runs (tenant, thread) WHERE ended_ms IS NULL;
  CREATE INDEX runs_unsettled ON {schema}.runs (tenant, ended_ms) WHERE ended_ms IS NOT NULL AND settled = 0;

  CREATE TABLE {schema}.segments (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    run bigint NOT NULL,
    loose smallint NOT NULL,
    codec smallint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, thread, last_seq)
  );
  ALTER TABLE {schema}.segments ALTER COLUMN data SET STORAGE EXTERNAL;

  CREATE TABLE {schema}.snapshots (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    run bigint NOT NULL,
    seq bigint NOT NULL,
    codec smallint NOT NULL,
    shell bytea NOT NULL,
    PRIMARY KEY (tenant, thread, run, seq)
  );

  CREATE TABLE {schema}.blobs (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    run bigint,
    codec smallint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, thread, hash)
  );
  ALTER TABLE {schema}.blobs ALTER COLUMN data SET STORAGE EXTERNAL;

  CREATE TABLE {schema}.compacted (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    run bigint NOT NULL,
    codec smallint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, thread, run)
  );
  ALTER TABLE {schema}.compacted ALTER COLUMN data SET STORAGE EXTERNAL;
  `,
  `
  CREATE TABLE {schema}.queue (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name text COLLATE "C" NOT NULL,
    agent text NOT NULL,
    principal text,
    parent text,
    queued_ms bigint NOT NULL,
    codec smallint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, thread, id),
    UNIQUE (tenant, thread, name)
  );
  ALTER TABLE {schema}.queue ALTER COLUMN data SET STORAGE EXTERNAL;

  CREATE TABLE {schema}.tool_calls (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    holder text NOT NULL,
    until_ms bigint NOT NULL,
    PRIMARY KEY (tenant, thread, name)
  );
  `,
  `
  ALTER TABLE {schema}.threads ADD COLUMN owner text COLLATE "C", ADD COLUMN access bigint NOT NULL DEFAULT 0;
  CREATE INDEX threads_by_owner ON {schema}.threads (tenant, owner, updated_ms, name) WHERE owner IS NOT NULL;

  CREATE TABLE {schema}.members (
    tenant bigint NOT NULL,
    thread bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    role text NOT NULL,
    PRIMARY KEY (tenant, thread, name),
    FOREIGN KEY (tenant, thread) REFERENCES {schema}.threads (tenant, id) ON DELETE CASCADE
  );
  CREATE INDEX members_by_name ON {schema}.members (tenant, name, thread);

  CREATE TABLE {schema}.tickets (
    hash text COLLATE "C" PRIMARY KEY,
    until_ms bigint NOT NULL,
    codec smallint NOT NULL,
    data bytea NOT NULL
  );
  CREATE INDEX tickets_by_end ON {schema}.tickets (until_ms);

  CREATE INDEX runs_by_principal ON {schema}.runs (tenant, principal) WHERE ended_ms IS NULL AND principal IS NOT NULL;
  `,
];
