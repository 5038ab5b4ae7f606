/** One thread: look at it, change it, delete it. */
import type { JsonSchema } from "../../protocol/schema.ts";
import { jsonAnswer } from "./answer.ts";
import { DETAILS_SCHEMA, THREAD_SCHEMA, describeDetails, describeThread } from "./describe-thread.ts";
import type { Route } from "./route.ts";

const PATCH: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    title: { type: ["string", "null"] },
    archived: { type: "boolean" },
    metadata: { type: "object" },
    head: { type: "string" },
  },
};

const show: Route = {
  id: "thread",
  method: "GET",
  path: "/threads/{thread}",
  summary: "One thread: title and times, its runs as a tree, the ends of its branches, and what its head left open.",
  answers: { 200: { description: "The thread.", content: { "application/json": DETAILS_SCHEMA } } },
  errors: ["thread-unknown"],
  answer: async ({ heddle }, { path: { thread = "" } }) =>
    jsonAnswer(describeDetails(await heddle.threads.details(thread))),
};

const change: Route = {
  id: "changeThread",
  method: "PATCH",
  path: "/threads/{thread}",
  summary: "Changes what is named: title (null takes it away), archived, metadata (as a whole), the default head.",
  body: PATCH,
  answers: { 200: { description: "The thread as it is now.", content: { "application/json": THREAD_SCHEMA } } },
  errors: [
    "input-invalid",
    "json-invalid",
    "limit-exceeded",
    "media-type-unsupported",
    "run-unknown",
    "thread-unknown",
  ],
  answer: async ({ heddle }, { path: { thread = "" }, body }) =>
    jsonAnswer(describeThread(await heddle.threads.update(thread, body))),
};

const remove: Route = {
  id: "deleteThread",
  method: "DELETE",
  path: "/threads/{thread}",
  summary: "Stops what runs in a thread, and deletes it with all that it holds.",
  answers: { 204: { description: "It is gone." } },
  errors: ["thread-unknown"],
  async answer({ heddle }, { path: { thread = "" } }) {
    await heddle.threads.delete(thread);
    return { status: 204, headers: {} };
  },
};

/** One thread. */
export const THREAD_DETAILS_ROUTES: readonly Route[] = [show, change, remove];
