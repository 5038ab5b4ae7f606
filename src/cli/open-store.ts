/**
 * The store that a URL names: `memory:`, `sqlite:<file>` or `postgres://…`. Only the engine that is asked for is loaded.
 * Nothing is opened or connected before the first use, so a store that is never used leaves no trace.
 */
import { memoryStore } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import { wrongValue } from "./settings.ts";
import type { Setting } from "./settings.ts";

/** What a store can be asked for beside its place. */
export interface StoreOptions {
  /** Opens a file beside whoever writes to it. Default false. */
  readonly readOnly?: boolean;
  /** Where PostgreSQL is listened to: a URL past a pooler, which cannot do it, or false for polls alone. Default: as it is reached. */
  readonly listen?: string | boolean | undefined;
}

/** Makes the store that a setting names. Throws `config-invalid`. */
export async function storeOf(
  setting: Setting,
  { readOnly = false, listen = true }: StoreOptions = {},
): Promise<Store> {
  const { value } = setting;
  if (value === "memory:") return memoryStore();
  const file = /^sqlite:(.+)$/s.exec(value)?.[1];
  if (file !== undefined) {
    const { sqliteStore } = await import("../store/sqlite/index.ts");
    return sqliteStore(file, { readOnly });
  }
  if (/^postgres(ql)?:\/\//.test(value) && URL.canParse(value)) {
    const { postgresStore } = await import("../store/postgres/index.ts");
    return postgresStore(value, { listen });
  }
  throw wrongValue({ ...setting, value: withoutPassword(value) }, "memory:, sqlite:<file> or postgres://…");
}

/** What may be shown of a URL, also of a broken one. */
const withoutPassword = (url: string): string => url.replace(/:\/\/.*@/s, "://…@");
