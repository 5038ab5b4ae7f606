/**
 * Threads of a running server, over HTTP. What the server refuses is said in the server's own words; one that cannot be
 * reached, or breaks off, is to this command what a store is that cannot.
 */
import { ERRORS, HeddleError, NDJSON_MEDIA_TYPE } from "../protocol/index.ts";
import type { ErrorCode } from "../protocol/index.ts";
import type { RunEnd } from "../store/index.ts";
import { wrongValue } from "./settings.ts";
import type { ListedThread, ShownRun, ThreadInFull, ThreadSource } from "./thread-source.ts";

/** A thread in a list, as the server tells it. */
interface RemoteThread extends Pick<ListedThread, "threadId" | "archived" | "metadata"> {
  readonly title?: string;
  readonly head?: string;
  readonly status?: ShownRun["status"];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A run, as the server tells it. */
interface RemoteRun extends Pick<ShownRun, "runId" | "agent" | "status"> {
  readonly parentRunId?: string;
  readonly kind?: NonNullable<ShownRun["kind"]>;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly firstEventId: string;
  readonly lastEventId: string;
  readonly interrupts?: RunEnd["interrupts"];
  readonly pendingToolCallIds?: RunEnd["pendingToolCallIds"];
  readonly error?: NonNullable<RunEnd["error"]>;
}

/** A thread in full, as the server tells it. */
interface RemoteDetails extends RemoteThread {
  readonly events: number;
  readonly droppedEvents: number;
  readonly runs: readonly RemoteRun[];
}

/** An import, as the server tells it. */
interface RemoteImport {
  readonly thread: RemoteThread;
  readonly runs: number;
  readonly events: number;
  readonly closedRunIds: readonly string[];
}

const pathOf = (threadId: string): string => `/threads/${encodeURIComponent(threadId)}`;

/**
 * The threads of the server at a URL, for whoever a token says. Throws `config-invalid` where the URL is none.
 */
export function serverThreads(url: string, token: string | undefined): ThreadSource {
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol)) {
    throw wrongValue({ setting: "--server", value: url }, "the URL of a server, such as http://localhost:5000");
  }
  const prefix = base.pathname.replace(/\/$/, "");
  const call = (path: string, init?: RequestInit): Promise<Response> =>
    called(new URL(`${prefix}${path}`, base), {
      ...init,
      headers: { ...init?.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    });
  return {
    async list({ query, archived, after, limit }) {
      const asked = new URLSearchParams({ archived: String(archived), limit: String(limit) });
      if (query !== undefined) asked.set("q", query);
      if (after !== undefined) asked.set("after", after);
      const response = await call(`/threads?${asked}`, { headers: { accept: "application/json" } });
      const page: { readonly threads: readonly RemoteThread[]; readonly next?: string } = await response.json();
      return { threads: page.threads.map(listed), next: page.next };
    },
    async thread(threadId) {
      const details: RemoteDetails = await (await call(pathOf(threadId))).json();
      return inFull(details);
    },
    async *export(threadId) {
      const { body, url: from } = await call(`${pathOf(threadId)}/export`);
      try {
        yield* body?.pipeThrough(new TextDecoderStream()) ?? [];
      } catch (cause) {
        throw unreachable(from, "broke off", cause);
      }
    },
    async import({ chunks, threadId }) {
      const query = threadId === undefined ? "" : `?${new URLSearchParams({ as: threadId })}`;
      const headers = { "content-type": NDJSON_MEDIA_TYPE };
      const sent = { method: "POST", headers, body: streamOf(chunks), duplex: "half" } as const;
      const imported: RemoteImport = await (await call(`/threads/import${query}`, sent)).json();
      const { thread, runs, events, closedRunIds } = imported;
      return { threadId: thread.threadId, runs, events, closedRunIds };
    },
    async remove(threadId) {
      await call(pathOf(threadId), { method: "DELETE" });
    },
    close: async () => undefined,
  };
}

function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const reading = chunks[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reading.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await reading.return?.()),
  });
}

async function called(url: URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch((cause: unknown) => {
    // What could not be read here is not the server's fault.
    throw causeOf(cause) ?? unreachable(url.origin, "does not answer", cause);
  });
  if (response.ok) return response;
  throw refusal(await response.text(), response.status, url.origin);
}

/** An error of ours that a request failed with: of the file that was to be sent, say. */
function causeOf(error: unknown): HeddleError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof HeddleError) return cause;
  return undefined;
}

/** What the server says is wrong, or that it is not one of ours. */
function refusal(body: string, status: number, server: string): HeddleError {
  try {
    const { error }: { error: { code: string; message: string; details?: Readonly<Record<string, unknown>> } } =
      JSON.parse(body);
    if (isCode(error.code)) return new HeddleError<ErrorCode>(error.code, error.message, error.details ?? {});
  } catch {
    // Not one of our errors, then.
  }
  const received = `an answer of status ${status}`;
  const message = `--server is ${server}: expected a Heddle server, received ${received}.`;
  return new HeddleError("config-invalid", message, { setting: "--server", expected: "a Heddle server", received });
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

function unreachable(server: string, how: string, cause: unknown): HeddleError {
  return new HeddleError(
    "store-unavailable",
    `The server at ${server} ${how}: see whether it runs.`,
    { server },
    { cause },
  );
}

const listed = ({ threadId, title, archived, metadata, head, status, createdAt, updatedAt }: RemoteThread) => ({
  threadId,
  title,
  archived,
  metadata,
  head,
  createdAtMs: Date.parse(createdAt),
  updatedAtMs: Date.parse(updatedAt),
  status,
});

function inFull(details: RemoteDetails): ThreadInFull {
  const { status: _status, ...thread } = listed(details);
  return { ...thread, tail: details.events, floor: details.droppedEvents, runs: details.runs.map(shownRun) };
}

function shownRun(run: RemoteRun): ShownRun {
  const { runId, parentRunId, kind, agent, status, startedAt, endedAt, firstEventId, lastEventId } = run;
  const { interrupts = [], pendingToolCallIds = [], error } = run;
  const end =
    status === "running"
      ? undefined
      : { status, interrupts, pendingToolCallIds, ...(error === undefined ? {} : { error }) };
  const times = {
    startedAtMs: Date.parse(startedAt),
    endedAtMs: endedAt === undefined ? undefined : Date.parse(endedAt),
  };
  return {
    runId,
    parentRunId,
    kind,
    agent,
    status,
    firstSeq: seqOf(firstEventId),
    lastSeq: seqOf(lastEventId),
    ...times,
    end,
  };
}

/** The place in the log that an event's id ends with. */
const seqOf = (eventId: string): number => Number(eventId.slice(eventId.lastIndexOf("_") + 1));
