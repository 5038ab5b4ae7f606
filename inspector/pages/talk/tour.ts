/**
 * The guided first conversation, made of what the agents of this server say that they can do. What none of them can do is left
 * out; where none says anything, there is a plain conversation to look at.
 */
import type { AgentInfo } from "heddle/client";
import { asks, examplesOf } from "./agent-info.ts";

/** What a step asks of the one who is shown around. */
export type TourAction =
  | { readonly kind: "say"; readonly agent: string; readonly text: string }
  | { readonly kind: "edit" }
  | { readonly kind: "look"; readonly page: "timeline" | "travel" | "branches" };

/** A step. */
export interface TourStep {
  readonly id: string;
  readonly title: string;
  /** What there is to see. */
  readonly see: string;
  /** Why it matters. */
  readonly why: string;
  readonly action: TourAction;
  /** Whether the shared state is shown beside. */
  readonly showsState?: boolean;
}

interface Theme {
  readonly id: string;
  readonly title: string;
  readonly see: string;
  readonly why: string;
  readonly showsState?: boolean;
  readonly fits: (capabilities: AgentInfo["capabilities"]) => boolean;
}

const THEMES: readonly Theme[] = [
  {
    id: "tools",
    title: "An agent calls tools",
    see: "Each call appears as it is made, with its arguments, its result and how long it took. Open one to look inside.",
    why: "When an answer is wrong, the call that misled it is right there.",
    fits: ({ tools, humanInTheLoop }) =>
      (tools?.supported === true || tools?.items !== undefined) && !asks(humanInTheLoop),
  },
  {
    id: "reasoning",
    title: "An agent thinks first",
    see: "Its reasoning streams in a block of its own, apart from the answer.",
    why: "It is kept with the conversation, and comes back after a reload or a crash.",
    fits: ({ reasoning }) => reasoning?.supported === true,
  },
  {
    id: "state",
    title: "An agent shares its state",
    see: "Watch the state at the side change while the run goes on. You can edit it, too.",
    why: "Your interface and the agent work on the same data, live.",
    showsState: true,
    fits: ({ state }) => state?.snapshots === true || state?.deltas === true,
  },
  {
    id: "approval",
    title: "An agent asks you first",
    see: "The run stops with a question. Change the arguments if you like, then approve or decline.",
    why: "The question survives a restart of the server, and an answer counts once.",
    fits: ({ humanInTheLoop }) => asks(humanInTheLoop),
  },
];

const PLAIN: Omit<Theme, "fits"> = {
  id: "hello",
  title: "Say something",
  see: "The answer streams in. Every piece of it is saved before you see it.",
  why: "Reload the page in the middle: nothing is lost.",
};

const CLOSING: readonly TourStep[] = [
  {
    id: "branch",
    title: "Ask it differently",
    see: "Change what you said and send it: the conversation forks there. Switch with ‹ 1 / 2 › below the message.",
    why: "Nothing is overwritten. Both answers stay, each on its own branch.",
    action: { kind: "edit" },
  },
  {
    id: "timeline",
    title: "See every event",
    see: "All that happened in this conversation, one event after the other, with the time each took. “Talk” brings you back here.",
    why: "This is what your own interface receives.",
    action: { kind: "look", page: "timeline" },
  },
  {
    id: "travel",
    title: "Go back in time",
    see: "Drag the slider: messages and state are rebuilt as they were at that moment. “Talk” brings you back here.",
    why: "A bug that happened once can be looked at as often as you like.",
    action: { kind: "look", page: "travel" },
  },
];

const FALLBACK_TEXT = "Hello! What can you do?";

/** The steps for the agents of a server; none where there are no agents. */
export function tourOf(agents: readonly AgentInfo[]): readonly TourStep[] {
  const [first] = agents;
  if (first === undefined) return [];
  const shown = THEMES.flatMap(({ fits, ...theme }): TourStep[] => {
    const able = agents.filter(({ capabilities }) => fits(capabilities));
    const agent = able.find((each) => examplesOf(each).length > 0) ?? able[0];
    return agent === undefined ? [] : [{ ...theme, action: sayTo(agent) }];
  });
  return [...(shown.length > 0 ? shown : [{ ...PLAIN, action: sayTo(first) }]), ...CLOSING];
}

const sayTo = (agent: AgentInfo): TourAction => ({
  kind: "say",
  agent: agent.name,
  text: examplesOf(agent)[0] ?? FALLBACK_TEXT,
});
