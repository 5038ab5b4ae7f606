/** The list of threads: page by page, or live. */
import { HeddleError, SSE_MEDIA_TYPE } from "../../protocol/index.ts";
import type { ThreadListChange, ThreadListPage } from "../index.ts";
import { accepted } from "./accept.ts";
import { jsonAnswer } from "./answer.ts";
import { THREAD_SCHEMA, describeThread } from "./describe-thread.ts";
import { valuesAnswer } from "./forms.ts";
import { choice, count, text } from "./parameter.ts";
import type { Route } from "./route.ts";

/** Most threads of a page. */
const MAX_LIMIT = 200;

const query = text("q", "Only threads whose id or title contains this, in any case.");
const archived = choice(
  "archived",
  ["true", "false", "any"],
  "`true` lists those that are put away, `any` all of them. Default false: those that are not.",
);
const after = text("after", "`next` of the page before; not for a live list, which begins at the top.");
const limit = count("limit", MAX_LIMIT, "Most threads of a page. Default 50.");

const PAGE = {
  type: "object",
  required: ["threads"],
  properties: { threads: { type: "array", items: THREAD_SCHEMA }, next: { type: "string" } },
} as const;

const CHANGE = {
  oneOf: [
    { ...PAGE, required: ["type", "threads"], properties: { type: { const: "page" }, ...PAGE.properties } },
    {
      type: "object",
      required: ["type", "thread"],
      properties: { type: { const: "changed" }, thread: THREAD_SCHEMA },
    },
    {
      type: "object",
      required: ["type", "threadId"],
      properties: { type: { const: "gone" }, threadId: { type: "string" } },
    },
  ],
} as const;

const list: Route = {
  id: "threads",
  method: "GET",
  path: "/threads",
  summary: "Threads, the most recently changed first: a page of them, or live where Accept asks for events.",
  parameters: [query, archived, after, limit],
  answers: {
    200: {
      description: "The page. Live: the page, then each thread that changes, is new, or is gone, one in a frame.",
      content: { "application/json": PAGE, [SSE_MEDIA_TYPE]: CHANGE },
    },
  },
  errors: ["query-invalid"],
  streams: true,
  async answer({ heddle }, request) {
    const asked = {
      query: query.read(request),
      archived: ARCHIVED[archived.read(request) ?? "false"],
      limit: limit.read(request) ?? 50,
    };
    const place = after.read(request);
    const form = accepted(request.header("accept"), ["application/json", SSE_MEDIA_TYPE]);
    if (form === "application/json")
      return jsonAnswer(described(await heddle.threads.list({ ...asked, after: place })));
    if (place !== undefined) throw notFromHere();
    return valuesAnswer(changes(heddle.threads.watch(asked, request.signal)));
  },
};

const ARCHIVED = { true: true, false: false, any: undefined } as const;

const described = ({ threads, next }: ThreadListPage): object => ({ threads: threads.map(describeThread), next });

async function* changes(watched: AsyncIterable<ThreadListChange>): AsyncGenerator<object, void, undefined> {
  for await (const change of watched) {
    if (change.type === "page") yield { type: "page", ...described(change) };
    else if (change.type === "changed") yield { type: "changed", thread: describeThread(change.thread) };
    else yield change;
  }
}

function notFromHere(): HeddleError {
  const message = "A live list begins at the top: leave `after` out, and read further pages as JSON.";
  return new HeddleError("query-invalid", message, { parameter: "after" });
}

/** The list of threads. */
export const THREAD_LIST_ROUTES: readonly Route[] = [list];
