/**
 * Where in the inspector one is: a page, a thread, and what of it is looked at. All of it stands in the address behind `#`,
 * so a link brings somebody else to the same view, and the server serves one file whatever is looked at.
 */
import { useCallback, useSyncExternalStore } from "react";

/** The pages, in the order of the navigation. `thread` says whether a page is about one thread. */
export const PAGES = {
  talk: { title: "Talk", thread: true },
  timeline: { title: "Timeline", thread: true },
  travel: { title: "Time travel", thread: true },
  branches: { title: "Branches", thread: true },
  threads: { title: "Threads", thread: false },
  health: { title: "Health", thread: false },
  connect: { title: "Connect your own", thread: false },
} as const;

/** The name of a page. */
export type PageName = keyof typeof PAGES;

/** A place in the inspector. */
export interface Route {
  /** The page. */
  readonly page: PageName;
  /** The thread that it is about. */
  readonly thread: string | undefined;
  /** What of it is looked at. */
  readonly query: Readonly<Record<string, string>>;
}

const isPage = (name: string): name is PageName => Object.hasOwn(PAGES, name);

/** Reads the part of an address behind `#`. What is not a place is where everybody begins. */
export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", thread = ""] = path.split("/", 2);
  return {
    page: isPage(page) ? page : "talk",
    thread: thread === "" ? undefined : decoded(thread),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** An id that somebody cut in two is shown as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a place, for a link. */
export function linkTo(
  page: PageName,
  thread?: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === "" ? [] : [[name, value]],
  );
  const search = new URLSearchParams(given).toString();
  return `#/${page}${thread === undefined ? "" : `/${encodeURIComponent(thread)}`}${search === "" ? "" : `?${search}`}`;
}

/** The address of a conversation that is not there yet: each time one goes there it is another one. */
export const NEW_THREAD = linkTo("talk", undefined, { new: "yes" });

const listeners = new Set<() => void>();
const tell = (): void => {
  for (const listener of listeners) listener();
};
const subscribe = (listener: () => void): (() => void) => {
  if (listeners.size === 0) addEventListener("hashchange", tell);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener("hashchange", tell);
  };
};

let read = { hash: "", route: parseRoute("") };

/** The place as it is now: the same object until it is another. */
export function currentRoute(): Route {
  const { hash } = location;
  if (hash !== read.hash) read = { hash, route: parseRoute(hash) };
  return read.route;
}

/** Goes to an address that `linkTo` made. `replace` leaves no step to go back to. */
export function go(link: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (link === location.hash) return;
  if (replace) {
    history.replaceState(undefined, "", link);
    tell();
  } else {
    location.hash = link;
  }
}

/** The place, in a component. */
export const useRoute = (): Route => useSyncExternalStore(subscribe, currentRoute);

/**
 * One value of what is looked at, kept in the address. Setting it leaves no step to go back to unless `push` says so; the
 * empty text takes it away.
 */
export function useQueryValue(
  name: string,
): readonly [string, (value: string, options?: { readonly push?: boolean }) => void] {
  const value = useSyncExternalStore(subscribe, () => currentRoute().query[name] ?? "");
  const set = useCallback(
    (next: string, { push = false }: { readonly push?: boolean } = {}) => {
      const { page, thread, query } = currentRoute();
      go(linkTo(page, thread, { ...query, [name]: next }), { replace: !push });
    },
    [name],
  );
  return [value, set];
}
