/**
 * An agent of a Heddle server for whoever builds on the stock `@ag-ui/client`: an `HttpAgent` that survives cuts, and whose
 * `connectAgent` brings a thread back and follows the run that is under way in it, to its end.
 *
 * `abortRun` stops the run on the server; it ends for its subscribers as it does for everybody, with outcome `cancelled`.
 * `detachActiveRun`, an abort controller of one's own and a page that closes leave the run alone: it goes on without them.
 */
import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import type { AgentConfig, HttpAgentConfig, RunAgentInput } from "@ag-ui/client";
import { connect, resumableFetch } from "../index.ts";
import type { HeddleClient, ResumableFetchOptions } from "../index.ts";

/** Where an agent is, and what stock agents are told. */
export interface HeddleAgentConfig extends AgentConfig, ResumableFetchOptions, Pick<HttpAgentConfig, "headers"> {
  /** Address of the server, with the prefix that it is mounted under. */
  readonly url: string;
  /** Name of the agent there. */
  readonly agent: string;
}

/** An agent of a Heddle server. */
export class HeddleAgent extends HttpAgent {
  readonly #config: HeddleAgentConfig;
  readonly #client: HeddleClient;
  /** The run that is under way, as the log has it, and what waits for it to be known. */
  #place: PromiseWithResolvers<{ readonly threadId: string; readonly runId: string } | undefined> | undefined;

  constructor(config: HeddleAgentConfig) {
    const { url, agent, token, fetch, ...stock } = config;
    super({ ...stock, url: `${url.replace(/\/+$/, "")}/agents/${encodeURIComponent(agent)}` });
    this.#config = config;
    this.#client = connect(url, { token, fetch });
    const send = resumableFetch(url, config);
    this.fetch = async (target, init) => {
      const place = (this.#place = Promise.withResolvers());
      try {
        const response = await send(target, init);
        place.resolve(placeOf(response.headers.get("content-location")));
        return response;
      } catch (error) {
        place.resolve(undefined);
        throw error;
      }
    };
  }

  /** Where the thread stands, and then what happens in it until its run has ended; nothing for a thread that is not there. */
  protected override connect(input: RunAgentInput): ReturnType<HttpAgent["run"]> {
    this.abortController = new AbortController();
    const send = (): Promise<Response> => this.fetch(`${this.url}/connect`, this.requestInit(input));
    return transformHttpEventStream(runHttpRequest(send), this.debugLogger);
  }

  /** Stops the run that is under way here. Where that cannot be asked for, the run is left with the reason. */
  override abortRun(): void {
    const { abortController, isRunning } = this;
    if (isRunning) this.#cancel().catch((error: unknown) => abortController.abort(error));
  }

  async #cancel(): Promise<void> {
    const place = await this.#place?.promise;
    if (place !== undefined) await this.#client.thread(place.threadId).cancel(place.runId);
  }

  /** Leaves the run that is under way: it goes on by itself. */
  override async detachActiveRun(): Promise<void> {
    const { abortController } = this;
    await super.detachActiveRun();
    abortController.abort();
  }

  /** The same agent with the same messages, for another run beside. */
  override clone(): HeddleAgent {
    const copy = new HeddleAgent(this.#config);
    const { fetch } = copy;
    return Object.assign(copy, super.clone(), { fetch });
  }
}

/** The thread and the run that the path of a run names. */
function placeOf(path: string | null): { readonly threadId: string; readonly runId: string } | undefined {
  const [, threadId, runId] = /\/threads\/([^/]+)\/runs\/([^/]+)$/.exec(path ?? "") ?? [];
  if (threadId === undefined || runId === undefined) return undefined;
  return { threadId: decodeURIComponent(threadId), runId: decodeURIComponent(runId) };
}
