/**
 * What was said, in order. Of a long conversation the newest part is drawn, and more when it is asked for. It scrolls with the
 * answer as long as the reader is at the end, and leaves them where they are otherwise.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { ReactElement, ReactNode, RefObject } from "react";
import { useThread } from "heddle/react";
import { Button } from "../../ui/button.tsx";
import { MessageView } from "./message-view.tsx";
import { outlineOf } from "./outline.ts";
import type { OutlineNode } from "./outline.ts";
import { SubagentView } from "./subagent-view.tsx";
import { ResultsContext, useTalk } from "./talk-context.ts";
import "./conversation.css";

/** So many are drawn at first, and more each time. */
const SHOWN = 100;
/** Nearer to the end than this counts as being there. */
const END_PIXELS = 60;

/** The conversation. `empty` is shown while nothing was said; children stand behind what was said. */
export function Conversation({
  empty,
  children,
}: {
  readonly empty: ReactNode;
  readonly children: ReactNode;
}): ReactElement {
  const { facts } = useTalk();
  const { messageIds, subagents, status, thread } = useThread();
  const outline = useMemo(() => {
    const parents = new Map([...facts.subagents].map(([id, { parent }]) => [id, parent]));
    // One that came to an end without a word has nothing to show, unless it failed.
    const silent = subagents.filter((each) => status === "running" || each.status === "failed");
    return outlineOf(
      thread.messages,
      parents,
      silent.map(({ subagentRunId }) => subagentRunId),
    );
    // The ids change when there is another message; what messages say does not matter here.
  }, [thread, messageIds, facts.subagents, subagents, status]);
  const [shown, setShown] = useState(SHOWN);
  const { view, isAtEnd, toEnd } = useEnd();
  const hidden = Math.max(0, outline.nodes.length - shown);
  return (
    <div className="talk-conversation">
      <div className="talk-scroll" ref={view} tabIndex={0} role="region" aria-label="What was said">
        <div className="talk-column">
          {hidden > 0 && (
            <Button small className="talk-earlier" onClick={() => setShown(shown + SHOWN)}>
              Show earlier ({hidden} more)
            </Button>
          )}
          <ResultsContext.Provider value={outline.results}>
            <div className="talk-list" role="log" aria-label="Messages" aria-busy={status === "running"}>
              {messageIds.length === 0 ? empty : <Nodes nodes={outline.nodes.slice(hidden)} />}
            </div>
          </ResultsContext.Provider>
          {children}
        </div>
      </div>
      {!isAtEnd && (
        <Button small icon="down" className="talk-newest" onClick={toEnd}>
          Newest
        </Button>
      )}
    </div>
  );
}

function Nodes({ nodes }: { readonly nodes: readonly OutlineNode[] }): ReactElement {
  return (
    <>
      {nodes.map((node) =>
        node.kind === "message" ? (
          <MessageView key={node.id} id={node.id} place={node.place} isNewest={node.isNewest} isPast={node.isPast} />
        ) : (
          <SubagentView key={`subagent ${node.id}`} id={node.id}>
            <Nodes nodes={node.nodes} />
          </SubagentView>
        ),
      )}
    </>
  );
}

/** Stays at the end while what is in the view grows, unless the reader went elsewhere. */
function useEnd(): {
  readonly view: RefObject<HTMLDivElement | null>;
  readonly isAtEnd: boolean;
  readonly toEnd: () => void;
} {
  const view = useRef<HTMLDivElement>(null);
  // An empty conversation is read from its top.
  const follows = useRef(false);
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = (): void => {
    follows.current = true;
    setAtEnd(true);
    view.current?.scrollTo({ top: view.current.scrollHeight });
  };
  useLayoutEffect(() => {
    const { current } = view;
    const inside = current?.firstElementChild;
    if (current === null || inside === null || inside === undefined) return undefined;
    const stay = (): void => {
      if (follows.current) current.scrollTop = current.scrollHeight;
    };
    let { scrollTop: top, scrollHeight: height } = current;
    const onScroll = (): void => {
      const isNear = current.scrollHeight - current.scrollTop - current.clientHeight < END_PIXELS;
      // What grew or shrank since is no reason to stay behind: only who goes up leaves the end.
      follows.current = isNear || (follows.current && (current.scrollTop >= top || current.scrollHeight !== height));
      ({ scrollTop: top, scrollHeight: height } = current);
      setAtEnd(follows.current);
    };
    const growth = new ResizeObserver(stay);
    growth.observe(inside);
    growth.observe(current);
    current.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      growth.disconnect();
      current.removeEventListener("scroll", onScroll);
    };
  }, []);
  // Whoever says something wants to see what comes of it.
  const { newest } = useThread();
  useEffect(() => {
    if (newest.runId !== undefined) toEnd();
  }, [newest.runId]);
  return { view, isAtEnd, toEnd };
}
