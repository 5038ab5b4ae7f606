/**
 * Fetches the code of a page. All pages are fetched once the first one is there, so that they open while the server is away too.
 *
 * What could not be fetched is not asked for again by browsers and bundlers alike: the page waits for the server and then begins
 * anew at the same address, which also gets along with a server that was replaced by another version. Once; a page that is still
 * not there then is a failure.
 */
import { lazy } from "react";
import type { ComponentType, LazyExoticComponent } from "react";

/** What is looked at comes first. */
const PAUSE_MS = 300;
const RETRY_MS = 1000;
/** A page that began anew so shortly ago does not do so again. */
const AGAIN_MS = 10_000;
const MARK = "heddle.began-anew";

const waiting = new Set<() => Promise<unknown>>();

/** A page whose code is fetched when it is shown, or when there is time. */
export function loadPage<Props>(load: () => Promise<ComponentType<Props>>): LazyExoticComponent<ComponentType<Props>> {
  let page: Promise<ComponentType<Props>> | undefined;
  // Asked for once: a second time styles that could not be fetched are taken for there.
  const fetchPage = (): Promise<ComponentType<Props>> => {
    waiting.delete(fetchPage);
    return (page ??= load());
  };
  waiting.add(fetchPage);
  return lazy(async () => {
    try {
      const fetched = await fetchPage();
      setTimeout(fetchNext, PAUSE_MS);
      return { default: fetched };
    } catch (error) {
      return await beginAnew(error);
    }
  });
}

/** One after the other; what fails here is told when its page is opened. */
function fetchNext(): void {
  const [fetchPage] = waiting;
  fetchPage?.().then(
    () => setTimeout(fetchNext, PAUSE_MS),
    () => undefined,
  );
}

async function beginAnew(error: unknown): Promise<never> {
  const lastAtMs = Number(sessionStorage.getItem(MARK) ?? 0);
  if (Date.now() - lastAtMs < AGAIN_MS) throw error;
  while (!(await isAnswering())) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  sessionStorage.setItem(MARK, String(Date.now()));
  location.reload();
  // The page goes; until then it is on its way.
  return new Promise(() => {});
}

const isAnswering = (): Promise<boolean> =>
  fetch(location.href, { cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );
