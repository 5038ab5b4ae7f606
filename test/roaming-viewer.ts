/**
 * A viewer that no server can hold: it follows a run to its end, and wherever it is cut, or leaves, it goes on behind its
 * last cursor on whichever server it is told next. What it got in all is for the test to compare with the log.
 */
import { setTimeout as pause } from "node:timers/promises";
import { rawFrames, recorded } from "./raw-frames.ts";
import { framesOf } from "./sse-client.ts";
import type { ScriptKey } from "./store-children/run-script.ts";

/** How a viewer behaves. */
export interface RoamingOptions {
  /** Where to go next. */
  readonly where: () => string;
  /** Asked after each event: whether to leave, and go on elsewhere. Default: it stays. */
  readonly leaves?: () => boolean;
}

/** What a server may answer that cannot show the run now: the run is not there yet, or the store or the server is away. */
const LATER: ReadonlySet<number> = new Set([404, 502, 503]);

/** A client takes a moment before it tries again. */
const RETRY_MS = 25;

const TERMINAL: ReadonlySet<string> = new Set(["RUN_FINISHED", "RUN_ERROR"]);

/** Somebody who follows one run. */
export class RoamingViewer {
  /** Cursors of the events that came, in their order. */
  readonly ids: (string | undefined)[] = [];
  /** What was received, connection by connection, as text. */
  readonly #received: Uint8Array[][] = [];
  /** How often a connection was cut, or left. */
  cuts = 0;
  /** Resolves at the end of the run. */
  readonly done: Promise<void>;
  readonly #key: ScriptKey;
  readonly #options: RoamingOptions;
  #isOver = false;

  constructor(key: ScriptKey, options: RoamingOptions) {
    this.#key = key;
    this.#options = options;
    this.done = this.#follow();
  }

  /** What came, byte for byte, by its cursor. */
  get raw(): ReadonlyMap<string, string> {
    return new Map(this.#received.flatMap((pieces) => [...rawFrames(pieces)]));
  }

  /** The end of each connection but the last, as text: what it was let go with. */
  get farewells(): readonly string[] {
    return this.#received.slice(0, -1).map((pieces) => Buffer.concat(pieces).toString().slice(-100));
  }

  async #follow(): Promise<void> {
    for (;;) {
      const answer = await this.#attach();
      if (answer?.status === 200) await this.#read(answer);
      else await answer?.body?.cancel().catch(() => undefined);
      if (this.#isOver) return;
      await pause(RETRY_MS);
    }
  }

  /** The server's answer; undefined where there is none. Throws where the run cannot be followed this way. */
  async #attach(): Promise<Response | undefined> {
    const { threadId, runId } = this.#key;
    const after = this.ids.at(-1);
    const headers = { accept: "text/event-stream", ...(after !== undefined && { "last-event-id": after }) };
    const url = `${this.#options.where()}/threads/${threadId}/events?run=${runId}`;
    const answer = await fetch(url, { headers }).catch(() => undefined);
    if (answer === undefined || answer.status === 200 || LATER.has(answer.status)) return answer;
    throw new Error(`${url} behind ${after} is answered ${answer.status}: ${await answer.text()}`);
  }

  async #read(answer: Response): Promise<void> {
    const pieces: Uint8Array[] = [];
    this.#received.push(pieces);
    try {
      for await (const { id, event } of framesOf(recorded(answer, pieces))) {
        this.ids.push(id);
        this.#isOver = TERMINAL.has(event.type);
        if (this.#isOver) return;
        if (this.#options.leaves?.() === true) break;
      }
    } catch {
      // Cut: what came before counts.
    }
    this.cuts += 1;
  }
}
