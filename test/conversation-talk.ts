/**
 * A conversation under way: each step is posted to a server and judged by the model, and what comes of it has to be the same.
 *
 * Compared after each step: whether a run began, which one was joined, or why not; what the agent was given; and what the
 * client holds when it has read the answer. Whoever has the store compares the log, too.
 */
import { deepStrictEqual, fail, strictEqual } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Event, Message, ResumeEntry } from "heddle/protocol";
import { callIdsOf, questionsOf, saidFirst, saidInAll } from "./conversation-agent.ts";
import type { Script } from "./conversation-agent.ts";
import { foldHeld } from "./conversation-client.ts";
import type { Held } from "./conversation-client.ts";
import { ConversationModel, messagesOf, stateOf } from "./conversation-model.ts";
import type { ModelRules, ModelRun, Post, Start } from "./conversation-model.ts";
import { CLIENTS, planStep } from "./conversations.ts";
import type { Scene, Step } from "./conversations.ts";
import { framesOf } from "./sse-client.ts";

/** Where a conversation happens. */
export interface Place {
  /** Asks the server. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Lets a run go on that waits. */
  letGo(runId: string): void;
  /** Name of the agent. */
  readonly agent: string;
  /** How posts are taken. */
  readonly rules: ModelRules;
}

/** What an agent says that it was given. */
interface Given {
  readonly messages: readonly Message[];
  readonly state?: unknown;
  readonly resume?: readonly ResumeEntry[];
}

/** An answer of the server that is being read. */
class Answer {
  readonly events: Event[] = [];
  /** Resolves when it is over; true where it was whole. */
  readonly over: Promise<boolean>;
  #news: PromiseWithResolvers<void> = Promise.withResolvers();
  #isOver = false;

  constructor(response: Response) {
    this.over = this.#read(response);
  }

  async #read(response: Response): Promise<boolean> {
    try {
      for await (const { event } of framesOf(response)) {
        this.events.push(event as Event);
        this.#tell();
      }
    } catch {
      // A connection that breaks leaves an answer without its end, which is seen by that.
    }
    this.#isOver = true;
    this.#tell();
    const last = this.events.at(-1)?.type;
    return last === "RUN_FINISHED" || last === "RUN_ERROR";
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** The value of a custom event, when it has come; undefined where the answer ends without it. */
  async told(name: string): Promise<unknown> {
    for (;;) {
      const found = this.events.find((event) => event.type === "CUSTOM" && event.name === name);
      if (found?.type === "CUSTOM") return found.value;
      if (this.#isOver) return undefined;
      await this.#news.promise;
    }
  }
}

interface Client {
  held: Held;
  /** What it is reading, of which run, and whether it takes it in. */
  reading: { readonly answer: Answer; readonly run: ModelRun; readonly reads: boolean } | undefined;
}

const isVisible = ({ role }: Message): boolean => role !== "system" && role !== "developer";

/** A conversation. */
export class Talk implements Scene {
  /** The thread. */
  readonly threadId: string;
  /** What it has to be. */
  readonly model: ConversationModel;
  /** What was posted so far. */
  readonly posts: Post[] = [];
  /** What happened, for whoever has to understand a failure. */
  readonly story: string[] = [];
  /** What kinds of things happened. */
  readonly counts = new Map<string, number>();
  readonly #place: Place;
  readonly #clients: Client[];
  readonly #scripts = new Map<string, Script>();
  readonly #holding = new Map<string, Answer>();
  #flying: { readonly start: Start; readonly script: Script } | undefined;
  #numbers = 0;

  constructor(threadId: string, place: Place) {
    this.threadId = threadId;
    this.model = new ConversationModel(place.rules);
    this.#place = place;
    this.#clients = Array.from({ length: CLIENTS }, () => ({ held: { messages: [], state: {} }, reading: undefined }));
  }

  /** A number that was not used before. */
  readonly next = (): number => this.#numbers++;

  /** Runs that wait to be let go. */
  get holding(): readonly string[] {
    return [...this.#holding.keys()];
  }

  /** Takes a step. */
  async take(step: Step): Promise<void> {
    const client = this.#clients[step.client];
    if (step.does === "let-go" || step.does === "stop") {
      const runId = this.holding[step.at % Math.max(1, this.#holding.size)];
      if (runId !== undefined) await this.#release(runId, step.does);
      return;
    }
    if (client === undefined || client.reading !== undefined) return;
    const planned = planStep(step, client.held, this);
    if (planned === undefined) return;
    this.posts.push(planned.post);
    client.held = planned.held;
    await this.#post(planned.post, step, client);
  }

  /** Lets everything end. */
  async finish(): Promise<void> {
    for (const runId of this.holding) await this.#release(runId, "let-go");
  }

  /** The server was killed: what was under way is lost where it was, and whoever read has what came. */
  async lose(): Promise<void> {
    for (const client of this.#clients) {
      const { reading } = client;
      if (reading === undefined) continue;
      client.reading = undefined;
      await reading.answer.over;
      if (reading.reads) client.held = reading.answer.events.reduce(foldHeld, client.held);
    }
    for (const run of this.model.runs) {
      if (run.status !== "running") continue;
      run.status = "failed";
      this.#holding.delete(run.id);
      this.story.push(`lost ${run.id}`);
    }
  }

  /**
   * Posts a message while the server is about to be killed, on a thread that waits for nothing. `begun` is told when the
   * server has answered; nobody takes in what it says.
   */
  async postInto(script: Script, begun: () => void): Promise<void> {
    const number = this.next();
    const messages: Message[] = [{ id: `${this.threadId}u${number}`, role: "user", content: "in the last moment" }];
    const post: Post = { runId: `${this.threadId}r${number}`, messages };
    const meaning = this.model.judge(post);
    if (meaning.does !== "start" || meaning.start.declined.length > 0)
      throw new Error("the thread waits for something");
    this.#flying = { start: meaning.start, script };
    this.story.push(`posts ${post.runId} into the kill`);
    try {
      const response = await this.#ask(post, script);
      begun();
      await new Answer(response).over;
    } catch {
      // Cut before the answer: the log tells whether the run began.
      begun();
    }
  }

  /** What became of the post into the kill: as far as the log has it. */
  async land(): Promise<void> {
    const flying = this.#flying;
    this.#flying = undefined;
    if (flying === undefined) return;
    const { start, script } = flying;
    const path = `/threads/${this.threadId}`;
    const stands: { status?: string; error?: { code: string } } = await (
      await this.#place.ask(`${path}/runs/${start.id}`)
    ).json();
    const { status, error } = stands;
    this.story.push(`it is ${status}`);
    if (status === undefined) return;
    const run = this.model.start(start);
    this.#scripts.set(run.id, script);
    if (error?.code !== "worker-lost") return this.#ended(run);
    const events: Event[] = [];
    for await (const { event } of framesOf(await this.#place.ask(`${path}/events?run=${start.id}`)))
      events.push(event as Event);
    const held = events.reduce(foldHeld, { messages: messagesOf(run), state: run.state });
    run.status = "failed";
    run.said = held.messages.slice(messagesOf(run).length);
    run.state = held.state;
    // What it had said is the beginning of what it would have.
    const whole = saidInAll(run.id, script);
    run.said.forEach((message, index) => {
      deepStrictEqual({ ...message, content: "" }, { ...whole[index], content: "" }, "what was said before the kill");
      strictEqual(String(whole[index]?.content).startsWith(String(message.content)), true, "how it was said");
    });
  }

  async #post(post: Post, step: Step, client: Client): Promise<void> {
    const meaning = this.model.judge(post);
    const what = `${meaning.does}${meaning.does === "refuse" ? ` ${meaning.code}` : ""}`;
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    this.story.push(
      `client ${step.client} ${step.does}: ${JSON.stringify({ ...post, messages: post.messages.map(brief) })} ${JSON.stringify(step.script)} => ${tell(meaning)}`,
    );
    const response = await this.#ask(post, step.script);
    if (meaning.does === "refuse") {
      if (response.ok) await response.body?.cancel();
      const body: unknown = response.ok ? "it was not refused" : await response.json();
      strictEqual(Object(Object(body)["error"])["code"], meaning.code, "the reason");
      return;
    }
    strictEqual(response.status, 200, response.status === 200 ? "" : await response.clone().text());
    const runId = decodeURIComponent(response.headers.get("content-location")?.split("/").at(-1) ?? "");
    const answer = new Answer(response);
    if (meaning.does !== "start") {
      strictEqual(runId, meaning.run.id, "the run that is shown");
      // Who asks for what is there says all that it holds.
      client.held = { ...client.held, messages: post.messages };
      return this.#watch(client, answer, meaning.run, step.reads);
    }
    strictEqual(runId, meaning.start.id, "the run that began");
    const { stops, declined } = meaning.start;
    const given = (await answer.told("given")) as Given | undefined;
    if (given === undefined) fail("the agent was not called");
    const declining = given.messages.filter(
      (message) => message.role === "tool" && declined.includes(message.toolCallId),
    );
    if (stops !== undefined) await this.#stopped(stops);
    const isAnew = messagesOf(meaning.start.parent).length === 0;
    const run = this.model.start(meaning.start, declining);
    // Who begins anew with nothing but its message has put the rest away: nobody could know otherwise.
    if (isAnew) client.held = { ...client.held, messages: post.messages };
    this.#scripts.set(run.id, step.script);
    deepStrictEqual(given.messages, [...messagesOf(run.parent), ...run.brought], "what the agent was given");
    deepStrictEqual(stateOf(given.state), stateOf(run.startState), "the state that the agent was given");
    deepStrictEqual(given.resume ?? [], meaning.start.given, "the answers that the agent was given");
    if (step.script.holds && (await answer.told("holds")) !== undefined) {
      run.said = saidFirst(run.id, step.script);
      this.#holding.set(run.id, answer);
    } else {
      this.#ended(run);
    }
    await this.#watch(client, answer, run, step.reads);
  }

  #ask(post: Post, script: Script): Promise<Response> {
    const { runId, messages, state, resume, parent, acts, onBusy } = post;
    const inQuery = parent === "root" || runId.length % 2 === 0;
    const query = new URLSearchParams({
      ...(onBusy !== undefined && { on_busy: onBusy }),
      ...(parent !== undefined && inQuery && { parent }),
    });
    const body = {
      threadId: this.threadId,
      runId,
      messages,
      ...(state !== undefined && { state }),
      ...(resume !== undefined && { resume }),
      ...(parent !== undefined && !inQuery && { parentRunId: parent }),
      ...(acts === true && { forwardedProps: { go: 1 } }),
      tools: [{ name: "look", description: "Looks.", parameters: {} }],
      context: [{ description: "script", value: JSON.stringify(script) }],
      protocolVersion: "1.0",
    };
    return this.#place.ask(`/agents/${this.#place.agent}?${query}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(body),
    });
  }

  /** Reads an answer to its end, or as long as its run holds in the background. */
  async #watch(client: Client, answer: Answer, run: ModelRun, reads: boolean): Promise<void> {
    client.reading = { answer, run, reads };
    if (run.status !== "running") await this.#takeIn(client);
  }

  /** What a client holds when it has read its answer. */
  async #takeIn(client: Client): Promise<void> {
    const { reading } = client;
    if (reading === undefined) return;
    client.reading = undefined;
    const { answer, run, reads } = reading;
    strictEqual(await answer.over, true, "the answer ends with the run");
    if (!reads) return;
    const held = answer.events.reduce(foldHeld, client.held);
    deepStrictEqual(held.messages.filter(isVisible), messagesOf(run).filter(isVisible), "what the client holds");
    // Where there never was a state none is told, and whoever only looks keeps what they have.
    if (!isDeepStrictEqual(stateOf(run.state), {}) || answer.events.some(({ type }) => type === "STATE_SNAPSHOT")) {
      deepStrictEqual(stateOf(held.state), stateOf(run.state), "the state that the client holds");
    }
    client.held = held;
  }

  #ended(run: ModelRun): void {
    const script = this.#scripts.get(run.id);
    if (script === undefined) throw new Error(`no script of ${run.id}`);
    run.said = saidInAll(run.id, script);
    run.asks = questionsOf(run.id, script);
    run.waits = callIdsOf(run.id, script);
    run.state = script.sets === undefined ? run.startState : { n: script.sets };
    run.status = script.fails ? "failed" : run.asks.length > 0 ? "interrupted" : "finished";
  }

  async #release(runId: string, how: "let-go" | "stop"): Promise<void> {
    const run = this.model.find(runId);
    if (run === undefined) return;
    this.story.push(`${how} ${runId}`);
    this.#holding.delete(runId);
    if (how === "stop") {
      const path = `/threads/${this.threadId}/runs/${encodeURIComponent(runId)}/cancel`;
      const response = await this.#place.ask(path, { method: "POST" });
      strictEqual(response.status, 200);
      return this.#stopped(run);
    }
    this.#place.letGo(runId);
    this.#ended(run);
    for (const client of this.#readersOf(run)) await this.#takeIn(client);
  }

  async #stopped(run: ModelRun): Promise<void> {
    this.#holding.delete(run.id);
    run.status = "cancelled";
    for (const client of this.#readersOf(run)) await this.#takeIn(client);
  }

  #readersOf(run: ModelRun): readonly Client[] {
    return this.#clients.filter(({ reading }) => reading?.run === run);
  }
}

const brief = ({ id, role, content }: Message): string =>
  role === "user" || role === "assistant" ? `${id}:${String(content)}` : `${id}(${role})`;

const tell = (meaning: ReturnType<ConversationModel["judge"]>): string =>
  meaning.does === "refuse"
    ? meaning.code
    : meaning.does === "start"
      ? `starts ${meaning.start.id} on ${meaning.start.parent?.id} with ${meaning.start.brought.map(brief).join(", ")} and ${JSON.stringify(meaning.start.state)}`
      : `${meaning.does} ${meaning.run.id}`;
