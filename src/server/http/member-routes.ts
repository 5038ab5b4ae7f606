/** Who else may watch a thread, or write to it. */
import { MEMBER_ROLES } from "../index.ts";
import { jsonAnswer } from "./answer.ts";
import type { Route } from "./route.ts";

const ROLE = { type: "string", enum: MEMBER_ROLES } as const;

const set: Route = {
  id: "setMember",
  method: "PUT",
  path: "/threads/{thread}/members/{user}",
  summary: "Lets somebody watch a thread (observer) or write to it too (collaborator). For its owner.",
  body: { type: "object", required: ["role"], properties: { role: ROLE } },
  answers: {
    200: {
      description: "The member.",
      content: { "application/json": { type: "object", properties: { user: { type: "string" }, role: ROLE } } },
    },
  },
  errors: ["input-invalid", "json-invalid", "limit-exceeded", "media-type-unsupported", "thread-unknown"],
  answer: async ({ heddle }, { path: { thread = "", user = "" }, body }) =>
    jsonAnswer(await heddle.threads.setMember(thread, user, body)),
};

const remove: Route = {
  id: "removeMember",
  method: "DELETE",
  path: "/threads/{thread}/members/{user}",
  summary: "Takes somebody's role in a thread away, whether they had one or not. What they watch ends. For its owner.",
  answers: { 204: { description: "They have none." } },
  errors: ["input-invalid", "thread-unknown"],
  async answer({ heddle }, { path: { thread = "", user = "" } }) {
    await heddle.threads.removeMember(thread, user);
    return { status: 204, headers: {} };
  },
};

/** Members. */
export const MEMBER_ROUTES: readonly Route[] = [set, remove];
