/**
 * The table of routes: everything that is answered over HTTP, whatever the host. An agent can have a path of its own
 * beside the one that it has anyway; it answers the same there.
 */
import { HeddleError } from "../../protocol/index.ts";
import { jsonAnswer } from "./answer.ts";
import { CHECK_ROUTE } from "./check-route.ts";
import { ME_ROUTE } from "./me-route.ts";
import { openApi } from "./openapi.ts";
import type { Route } from "./route.ts";
import { RUN_ROUTES, START_ROUTE } from "./run-routes.ts";
import { STATUS_ROUTES } from "./status-routes.ts";
import { THREAD_ACTION_ROUTES } from "./thread-action-routes.ts";
import { THREAD_COPY_ROUTES } from "./thread-copy-routes.ts";
import { THREAD_DETAILS_ROUTES } from "./thread-details-routes.ts";
import { MEMBER_ROUTES } from "./member-routes.ts";
import { THREAD_LIST_ROUTES } from "./thread-list-routes.ts";
import { THREAD_ROUTES } from "./thread-routes.ts";
import { THREAD_SNAPSHOT_ROUTES } from "./thread-snapshot-routes.ts";
import { TICKET_ROUTE } from "./ticket-route.ts";

/** Paths of their own, with the agent that answers at each. */
export type Mounts = Readonly<Record<string, string>>;

/**
 * Every route. `own` are those that the host serves by itself: they are described, and not among what is returned. Throws
 * `config-invalid` where a mount is no path, has a route already, or names no agent.
 */
export function routesOf(
  mounts: Mounts,
  agents: readonly { readonly name: string }[],
  own: readonly Route[] = [],
): readonly Route[] {
  const threads = [...THREAD_LIST_ROUTES, ...THREAD_DETAILS_ROUTES, ...THREAD_SNAPSHOT_ROUTES, ...THREAD_COPY_ROUTES];
  const actions = [...THREAD_ACTION_ROUTES, ...MEMBER_ROUTES, TICKET_ROUTE, ME_ROUTE, CHECK_ROUTE];
  const fixed = [...STATUS_ROUTES, ...RUN_ROUTES, ...threads, ...THREAD_ROUTES, ...actions];
  const names = agents.map(({ name }) => name);
  const mounted = Object.entries(mounts).map(([path, agent]) => {
    if (!/^\/[\w.~/-]*$/.test(path))
      throw refusedMount(path, path, "a path of letters, digits, '/', '.', '_', '~' and '-'");
    if (!names.includes(agent)) throw refusedMount(path, agent, `an agent: ${names.join(", ") || "there is none"}`);
    if (fixed.some((route) => route.method === "POST" && route.path === path)) {
      throw refusedMount(path, agent, "another path: this one is taken");
    }
    return mountedAt(path, agent);
  });
  const routes: Route[] = [...fixed, ...mounted];
  routes.push({
    id: "description",
    method: "GET",
    path: "/openapi.json",
    summary: "This description.",
    answers: { 200: { description: "OpenAPI 3.1.", content: { "application/json": { type: "object" } } } },
    errors: [],
    needs: "nobody",
    answer: ({ prefix }) => jsonAnswer(openApi([...routes, ...own], prefix)),
  });
  return routes;
}

const mountedAt = (path: string, agent: string): Route => ({
  ...START_ROUTE,
  id: `run-${agent}-${path}`,
  path,
  answer: (desk, request) => START_ROUTE.answer(desk, { ...request, path: { agent } }),
});

function refusedMount(path: string, received: string, expected: string): HeddleError {
  const setting = `mounts ${path}`;
  const message = `${setting} is ${JSON.stringify(received)}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting, expected, received });
}
