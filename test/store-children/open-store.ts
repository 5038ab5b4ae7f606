/** Where a store is, in words that travel to another process. */
import type { Store } from "../../src/store/index.ts";
import { postgresStore } from "../../src/store/postgres/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";

/** Where a store is. */
export type StorePlace =
  | { readonly engine: "sqlite"; readonly file: string; readonly readOnly?: boolean; readonly maxFileBytes?: number }
  | {
      readonly engine: "postgres";
      readonly url: string;
      readonly schema: string;
      readonly listen?: string | boolean;
      readonly pollMs?: number;
      readonly timeoutMs?: number;
    };

/** Makes the store. */
export function storeAt(place: StorePlace): Store {
  if (place.engine === "postgres") {
    const { engine: _, url, ...options } = place;
    return postgresStore(url, options);
  }
  const { engine: _, file, ...options } = place;
  return sqliteStore(file, options);
}
