/** The whole: the connection, what is around every page, and the page that the address names. */
import { Suspense } from "react";
import type { ComponentType, ReactElement } from "react";
import { useRoute } from "./route.ts";
import type { PageName } from "./route.ts";
import { ConnectionRoot } from "./server/connection.tsx";
import { loadPage } from "./shell/load-page.ts";
import { Shell } from "./shell/shell.tsx";
import { RecentThreadsRoot } from "./threads/recent-threads.tsx";
import { Loading } from "./ui/loading.tsx";
import { Toasts } from "./ui/toast.tsx";
import { PageBoundary } from "./shell/page-boundary.tsx";
import { WithThread } from "./shell/with-thread.tsx";

/** A page about one thread. */
export interface ThreadPageProps {
  /** The thread. */
  readonly threadId: string;
}

const THREAD_PAGES: { readonly [page in PageName]?: ComponentType<ThreadPageProps> } = {
  talk: loadPage(async () => (await import("./pages/talk/talk-page.tsx")).TalkPage),
  timeline: loadPage(async () => (await import("./pages/timeline/timeline-page.tsx")).TimelinePage),
  travel: loadPage(async () => (await import("./pages/travel/travel-page.tsx")).TravelPage),
  branches: loadPage(async () => (await import("./pages/branches/branches-page.tsx")).BranchesPage),
};

const PLAIN_PAGES: { readonly [page in PageName]?: ComponentType } = {
  threads: loadPage(async () => (await import("./pages/threads/threads-page.tsx")).ThreadsPage),
  health: loadPage(async () => (await import("./pages/health/health-page.tsx")).HealthPage),
  connect: loadPage(async () => (await import("./pages/connect/connect-page.tsx")).ConnectPage),
};

/** The app. */
export function App(): ReactElement {
  return (
    <>
      <ConnectionRoot>
        <RecentThreadsRoot>
          <Shell>
            <Page />
          </Shell>
        </RecentThreadsRoot>
      </ConnectionRoot>
      <Toasts />
    </>
  );
}

function Page(): ReactElement {
  const { page, thread } = useRoute();
  const ThreadPage = THREAD_PAGES[page];
  const PlainPage = PLAIN_PAGES[page];
  return (
    <PageBoundary key={`${page} ${thread}`}>
      <Suspense fallback={<Loading label="Opening the page" />}>
        {ThreadPage !== undefined && (
          <WithThread page={page} render={(threadId) => <ThreadPage key={threadId} threadId={threadId} />} />
        )}
        {PlainPage !== undefined && <PlainPage />}
      </Suspense>
    </PageBoundary>
  );
}
