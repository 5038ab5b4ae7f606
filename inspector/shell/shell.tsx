/**
 * What is around every page: the way to the others, the newest threads, and who one is. On narrow screens the pages are a bar
 * at the bottom.
 */
import type { ReactElement, ReactNode } from "react";
import { NEW_THREAD, PAGES, linkTo, useRoute } from "../route.ts";
import type { PageName } from "../route.ts";
import { useConnection } from "../server/connection.tsx";
import { useRecentThreads } from "../threads/recent-threads.tsx";
import { THEMES, setTheme, useTheme } from "../theme.ts";
import type { Theme } from "../theme.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import "../ui/banner.css";
import "./shell.css";

const NAMES: readonly PageName[] = ["talk", "timeline", "travel", "branches", "threads", "health", "connect"];
const SHORT: { readonly [page in PageName]?: string } = { travel: "Travel", connect: "Connect" };

/** What is around every page. */
export function Shell({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <div className="shell">
      <a className="skip-link" href="#main" onClick={skip}>
        Skip to the page
      </a>
      <aside className="sidebar">
        <a className="brand" href={linkTo("talk")}>
          <img src="./icon.svg" alt="" width="26" height="26" />
          Heddle
        </a>
        <a className="new-thread" href={NEW_THREAD}>
          <Icon name="plus" />
          New<span className="new-thread-long"> conversation</span>
        </a>
        <Navigation />
        <RecentList />
        <Foot />
      </aside>
      <main id="main" className="main" tabIndex={-1}>
        <ExpiredNotice />
        {children}
      </main>
    </div>
  );
}

/** A token that was good when the page was opened, and is not any more. */
function ExpiredNotice(): ReactElement | null {
  const { signOut } = useConnection();
  const { error } = useRecentThreads();
  if (Object(error).code !== "unauthenticated") return null;
  return (
    <p className="banner" role="alert">
      <Icon name="key" size={16} /> The server does not accept your token any more: it may have expired.
      <Button small onClick={signOut}>
        Sign in again
      </Button>
    </p>
  );
}

/** The address behind # is the place in the app; this only moves the focus. */
function skip(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#main")?.focus();
}

function Navigation(): ReactElement {
  const { page, thread } = useRoute();
  return (
    <nav className="navigation" aria-label="Pages">
      {NAMES.map((name) => (
        <a
          key={name}
          href={linkTo(name, PAGES[name].thread ? thread : undefined)}
          aria-label={PAGES[name].title}
          aria-current={name === page ? "page" : undefined}
          data-group={PAGES[name].thread ? "thread" : "server"}
        >
          <Icon name={name} />
          <span className="navigation-long">{PAGES[name].title}</span>
          <span className="navigation-short" aria-hidden="true">
            {SHORT[name] ?? PAGES[name].title}
          </span>
        </a>
      ))}
    </nav>
  );
}

function RecentList(): ReactElement {
  const { page, thread } = useRoute();
  const { threads, error } = useRecentThreads();
  const target = PAGES[page].thread ? page : "talk";
  return (
    <section className="recent" aria-label="Recent conversations">
      <h2>Recent</h2>
      {threads === undefined && <p role="status">{error === undefined ? "Looking…" : "They cannot be listed."}</p>}
      {threads?.length === 0 && <p>Nothing yet.</p>}
      <ul>
        {threads?.slice(0, 12).map(({ threadId, title, status }) => (
          <li key={threadId}>
            <a
              href={linkTo(target, threadId)}
              aria-current={threadId === thread ? "true" : undefined}
              title={title ?? threadId}
            >
              <span className="recent-dot" data-status={status} aria-hidden="true" />
              <span className="recent-name">{title ?? threadId}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const THEME_ICONS = { system: "system", light: "sun", dark: "moon" } as const;

function Foot(): ReactElement {
  const { me, signOut } = useConnection();
  const theme = useTheme();
  return (
    <footer className="foot">
      {me.authenticated && (
        <p className="who" title={`Tenant ${me.tenant}, ${me.role ?? "no role for all threads"}`}>
          <Icon name="user" size={16} />
          <span>{me.user ?? "Somebody"}</span>
          {me.role === "observer" && <em>read only</em>}
        </p>
      )}
      <IconButton
        icon={THEME_ICONS[theme]}
        label={`Colours: ${THEMES[theme]}. Change to ${THEMES[NEXT_THEME[theme]]}`}
        onClick={() => setTheme(NEXT_THEME[theme])}
      />
      {me.authenticated && <IconButton icon="key" label="Use another token" onClick={signOut} />}
    </footer>
  );
}
