/**
 * Reading from a store so that a component renders again for what it read, and for nothing else.
 *
 * Every render gets a reader of its own, which notes what was read and the value that was given. The component is told
 * when one of those is another now. React asks by a function of that render, so what it compares always belongs to what is
 * on the page, in StrictMode and in renders that are thrown away too. A render that begins while something that is on the page
 * is another already counts as told of it: else React may find nothing new and keep nothing but the dependencies of effects,
 * which then never run. On a server, and while a page is taken over from one, everything reads as blank: what is there is
 * shown right after.
 */
import { useEffect, useState, useSyncExternalStore } from "react";

/** Values that change, all read from one place. */
export interface Source<V extends object> {
  /** The values as they are now; each is the same until it is another. */
  readonly values: V;
  /** Calls when any of them may be another. */
  readonly subscribe: (listener: () => void) => () => void;
}

/** The version that a server has, and that a page begins with which came from one. */
const BLANK = -1;

/** The values of a source and what can be done with it. Renders again when a value that was read is another. */
export function useTracked<V extends object, A extends object>(source: Source<V>, blank: V, actions: A): V & A {
  const reads = new Map<PropertyKey, unknown>();
  const [seen] = useState({ version: 0, reads });
  const read = (key: PropertyKey): unknown => Reflect.get(source.values, key);
  const version = useSyncExternalStore(
    source.subscribe,
    () => {
      let isNew = false;
      // While it renders nothing was read yet: then what is on the page counts.
      const compared = reads.size > 0 ? reads : seen.reads;
      for (const [key, value] of compared) {
        const now = read(key);
        if (Object.is(now, value)) continue;
        compared.set(key, now);
        isNew = true;
      }
      if (isNew) seen.version += 1;
      return seen.version;
    },
    () => BLANK,
  );
  useEffect(() => void (seen.reads = reads));
  return reader<V, A>(actions, blank, (key) => {
    if (version === BLANK) return Reflect.get(blank, key);
    if (!reads.has(key)) reads.set(key, read(key));
    return reads.get(key);
  });
}

/** Reads tracked values by a function; whatever else is asked for is found among the actions. */
function reader<V extends object, A extends object>(actions: A, blank: V, read: (key: PropertyKey) => unknown): V & A {
  const both: V & A = Object(actions);
  return new Proxy(both, { get: (_, key) => (key in blank ? read(key) : Reflect.get(actions, key)) });
}
