/** A client of a server. Nothing is asked of the server before something is asked of the client. */
import type { AgentCapabilities } from "../protocol/index.ts";
import { FrontendTools } from "./frontend-tools.ts";
import type { FrontendTool } from "./frontend-tools.ts";
import { Http } from "./http.ts";
import type { HttpOptions } from "./http.ts";
import { randomId } from "./random-id.ts";
import { Retry } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import { SseTransport } from "./sse-transport.ts";
import { Thread } from "./thread.ts";
import { Threads } from "./threads.ts";
import type { Transport } from "./transport.ts";
import { WsTransport } from "./ws-transport.ts";

/** Options of `connect`. */
export interface ConnectOptions extends Omit<HttpOptions, "url"> {
  /** `websocket` is one connection for all threads, and falls back to `sse` where it cannot be had. Default sse. */
  readonly transport?: "sse" | "websocket";
  /** How long a server may say nothing at all before it counts as gone. Default 25,000. */
  readonly idleMs?: number;
  /** How long to wait before coming back. */
  readonly retry?: RetryOptions;
  /** Who claims calls of frontend tools: the same after a reload, another in another tab. Default: kept for the tab. */
  readonly holder?: string;
}

/** A client. */
export interface HeddleClient {
  /** A thread by its id: the same object each time. */
  thread(threadId: string): Thread;
  /** All threads. */
  readonly threads: Threads;
  /** The agents that can be run. */
  agents(): Promise<readonly AgentInfo[]>;
  /** Offers a tool that this client executes, in every thread; the function that it gives takes it back. */
  tool<A>(tool: FrontendTool<A>): () => void;
  /** Lets go of everything. */
  close(): void;
}

/** An agent that can be run. */
export interface AgentInfo {
  /** Its name. */
  readonly name: string;
  /** Where it is run, on this server. */
  readonly url: string;
  /** What it says that it can do, and what it is for (`identity`). */
  readonly capabilities: AgentCapabilities;
}

/** A client of the server at an address. */
export function connect(url: string, options: ConnectOptions = {}): HeddleClient {
  const { transport: kind = "sse", idleMs = 25_000, retry: waits = {}, holder = tabHolder() } = options;
  const http = new Http({ ...options, url });
  const retry = (): Retry => new Retry(waits, http.renewsToken);
  const sse = new SseTransport(http, idleMs);
  const transport: Transport = kind === "sse" ? sse : new WsTransport(http, idleMs, sse);
  const closing = new AbortController();
  const tools = new FrontendTools(holder, closing.signal);
  const open = new Map<string, Thread>();
  return {
    thread(threadId) {
      let thread = open.get(threadId);
      if (thread === undefined) {
        thread = new Thread({ threadId, http, transport, retry, tools });
        open.set(threadId, thread);
        if (closing.signal.aborted) thread.close();
      }
      return thread;
    },
    threads: new Threads(http, retry, closing.signal),
    agents: async () => (await http.json<{ readonly agents: readonly AgentInfo[] }>("/agents")).agents,
    tool: (tool) => {
      const remove = tools.add(tool);
      for (const thread of open.values()) tools.look(thread);
      return remove;
    },
    close() {
      closing.abort();
      for (const thread of open.values()) thread.close();
      transport.close();
    },
  };
}

const HOLDER_KEY = "heddle-holder";

/**
 * A name for this tab that outlives a reload. It is kept only while no page has it: a tab that is made as a copy of another,
 * while that one is open, finds none.
 */
function tabHolder(): string {
  const fresh = randomId();
  try {
    const holder = sessionStorage.getItem(HOLDER_KEY) ?? fresh;
    sessionStorage.removeItem(HOLDER_KEY);
    addEventListener("pagehide", () => sessionStorage.setItem(HOLDER_KEY, holder));
    return holder;
  } catch {
    // No page, or one that may keep nothing.
    return fresh;
  }
}
