/**
 * What the page keeps, for this tab or for this browser. Where the browser lets it keep nothing (storage is blocked, or full) it is
 * kept until the page is left, and everything else works.
 */

/** What is kept, by name. */
export interface Kept {
  /** What is kept under a name. */
  readonly get: (key: string) => string | undefined;
  /** Keeps it. */
  readonly set: (key: string, value: string) => void;
  /** Keeps it no longer. */
  readonly remove: (key: string) => void;
}

/** Asking for a storage that is blocked throws already. */
function keptIn(storage: () => Storage): Kept {
  const refused = new Map<string, string>();
  const tried = <T>(use: (storage: Storage) => T, otherwise: () => T): T => {
    try {
      return use(storage());
    } catch {
      return otherwise();
    }
  };
  return {
    get: (key) =>
      refused.get(key) ??
      tried(
        (own) => own.getItem(key) ?? undefined,
        () => undefined,
      ),
    set: (key, value) => {
      refused.delete(key);
      tried(
        (own) => own.setItem(key, value),
        () => void refused.set(key, value),
      );
    },
    remove: (key) => {
      refused.delete(key);
      tried(
        (own) => own.removeItem(key),
        () => undefined,
      );
    },
  };
}

/** For this tab. */
export const keptForTab = keptIn(() => sessionStorage);

/** For this browser. */
export const keptForBrowser = keptIn(() => localStorage);
