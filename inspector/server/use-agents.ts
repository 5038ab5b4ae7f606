/** The agents of the server, in a component. Where they cannot be listed now they are asked for again. */
import { useEffect, useState } from "react";
import type { AgentInfo } from "heddle/client";
import { HeddleError } from "heddle/protocol";
import { useHeddle } from "heddle/react";

/** The agents. */
export interface Agents {
  /** Undefined until they are here. */
  readonly agents: readonly AgentInfo[] | undefined;
  readonly error: HeddleError | undefined;
  readonly retry: () => void;
}

/** Agents that could not be listed are asked for again so much later. */
const RETRY_MS = 2000;

/** The agents of the server. `isOnline` says whether it can be asked; they are asked for again when it can once more. */
export function useAgents(isOnline = true): Agents {
  const client = useHeddle();
  const [attempt, setAttempt] = useState(0);
  const [known, setKnown] = useState<Omit<Agents, "retry">>({ agents: undefined, error: undefined });
  useEffect(() => {
    if (!isOnline) return undefined;
    let isWanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    client.agents().then(
      (agents) => isWanted && setKnown({ agents, error: undefined }),
      (error: unknown) => {
        if (!isWanted || !(error instanceof HeddleError)) return;
        setKnown((before) => ({ ...before, error }));
        if (error.retryable) timer = setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
      },
    );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [client, attempt, isOnline]);
  return { ...known, retry: () => setAttempt((count) => count + 1) };
}
