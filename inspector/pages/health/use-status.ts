/** How the server is, asked every two seconds while the page can be seen, and less often while it does not answer. */
import { useEffect, useState } from "react";
import { HeddleError } from "heddle/protocol";
import type { Status } from "../../server/api.ts";
import { useConnection } from "../../server/connection.tsx";
import { useAttention } from "../../attention.ts";
import { NO_HISTORY, remember } from "./status-history.ts";
import type { Sample } from "./status-history.ts";

/** How the server is, as far as it is known. */
export interface StatusView {
  /** What it said last. */
  readonly status: Status | undefined;
  /** The last minutes. */
  readonly samples: readonly Sample[];
  /** Why it said nothing the last time. */
  readonly error: HeddleError | undefined;
  /** Asks now. */
  readonly refresh: () => void;
}

const EVERY_MS = 2000;
const MOST_MS = 8000;
/** Who takes longer does not answer. */
const ANSWER_MS = 10_000;

/** How the server is, in a component. */
export function useStatus(isWanted: boolean): StatusView {
  const { server } = useConnection();
  const isVisible = useAttention() !== "none";
  const [history, setHistory] = useState(NO_HISTORY);
  const [status, setStatus] = useState<Status>();
  const [error, setError] = useState<HeddleError>();
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (!isVisible || !isWanted) return undefined;
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (failures: number): Promise<void> => {
      let failed = 0;
      const late = new AbortController();
      timer = setTimeout(() => late.abort(tooLate()), ANSWER_MS);
      try {
        const signal = AbortSignal.any([gone.signal, late.signal]);
        const answer = await server.json<Status>("/status", { signal });
        setStatus(answer);
        setHistory((known) => remember(known, answer));
        setError(undefined);
      } catch (cause) {
        if (gone.signal.aborted || !(cause instanceof HeddleError)) return;
        setError(cause);
        failed = failures + 1;
      }
      clearTimeout(timer);
      timer = setTimeout(() => void ask(failed), Math.min(EVERY_MS * 2 ** failed, MOST_MS));
    };
    void ask(0);
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [server, isVisible, isWanted, asked]);
  return { status, samples: history.samples, error, refresh: () => setAsked((count) => count + 1) };
}

const tooLate = (): HeddleError =>
  new HeddleError("server-unreachable", `The server has not answered for ${ANSWER_MS / 1000} seconds.`, {});
