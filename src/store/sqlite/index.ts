/** `heddle/store/sqlite`: the log in a file, on the SQLite that Node brings along. */
export { sqliteStore } from "./sqlite-store.ts";
export type { SqliteStoreOptions } from "./sqlite-store.ts";
