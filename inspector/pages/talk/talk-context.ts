/** What every part of the conversation needs to know. It changes seldom: not for a token, and not for a message. */
import { createContext, useContext } from "react";
import type { Place } from "./outline.ts";
import type { Facts } from "./use-facts.ts";

/** What every part needs to know. */
export interface Talk {
  readonly threadId: string;
  /** The name of the agent that is talked to. */
  readonly agent: string | undefined;
  /** Whom answers to open questions and calls go to: who asked, where it is still there, whoever is chosen for what is said next. */
  readonly asker: string | undefined;
  /** Why nothing can be changed here; undefined where it can. */
  readonly readOnly: string | undefined;
  readonly facts: Facts;
  /** The message that is being edited. */
  readonly editing: string | undefined;
  readonly edit: (messageId: string | undefined) => void;
}

/** What every part needs to know. */
export const TalkContext = createContext<Talk | undefined>(undefined);

/** The results of calls, by the call. */
export const ResultsContext = createContext<ReadonlyMap<string, Place>>(new Map());

/** What every part needs to know, in a component. */
export function useTalk(): Talk {
  const talk = useContext(TalkContext);
  if (talk === undefined) throw new Error("useTalk is used outside of the page Talk.");
  return talk;
}
