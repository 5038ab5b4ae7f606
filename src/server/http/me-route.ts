/** Who asks, as the server sees them, and what they may do wherever no thread decides. */
import { ROLES, mayBegin, roleEverywhere } from "../index.ts";
import { jsonAnswer } from "./answer.ts";
import { mayCheck } from "./check-route.ts";
import type { Route } from "./route.ts";

const ROLE = { type: "string", enum: ROLES } as const;
const TEXT = { type: "string" } as const;
const TRUTH = { type: "boolean" } as const;

/** Tells callers who they are. */
export const ME_ROUTE: Route = {
  id: "me",
  method: "GET",
  path: "/me",
  summary: "Who you are here, and what you may do: begin threads, read what operators read, have agents tried.",
  answers: {
    200: {
      description:
        "Who asks. `role` counts for every thread; `authenticated` says whether callers are asked who they are.",
      content: {
        "application/json": {
          type: "object",
          required: ["tenant", "roles", "mayStart", "mayOperate", "authenticated", "mayCheck"],
          properties: {
            tenant: TEXT,
            user: TEXT,
            roles: { type: "array", items: TEXT },
            role: ROLE,
            mayStart: TRUTH,
            mayOperate: TRUTH,
            authenticated: TRUTH,
            mayCheck: TRUTH,
          },
        },
      },
    },
  },
  errors: [],
  answer(desk) {
    const { principal } = desk.heddle;
    const { tenant, user, roles } = principal;
    const role = roleEverywhere(principal);
    return jsonAnswer({
      tenant,
      ...(user !== undefined && { user }),
      roles,
      ...(role !== undefined && { role }),
      mayStart: mayBegin(role),
      mayOperate: role === "operator",
      authenticated: desk.authenticate !== undefined,
      mayCheck: mayCheck(desk),
    });
  },
};
