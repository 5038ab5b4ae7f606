/** `heddle/store/postgres`: the log in PostgreSQL, for more than one process. */
export { postgresStore } from "./postgres-store.ts";
export type { PostgresStoreOptions } from "./postgres-store.ts";
