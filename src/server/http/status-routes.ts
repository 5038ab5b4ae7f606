/** Routes that say what is here and how it is: agents, health, metrics, and the page at the root. */
import { HeddleError } from "../../protocol/index.ts";
import { PROMETHEUS_MEDIA_TYPE } from "../index.ts";
import { jsonAnswer } from "./answer.ts";
import type { PlainAnswer } from "./answer.ts";
import { serverClosing } from "./error-answer.ts";
import { landingPage } from "./landing-page.ts";
import type { Route } from "./route.ts";

const OBJECT = { type: "object" } as const;
const CAPABILITIES = { $ref: "#/components/schemas/AgentCapabilities" } as const;

const STATUS = {
  type: "object",
  required: ["status"],
  properties: { status: { type: "string" } },
} as const;

const page: Route = {
  id: "page",
  method: "GET",
  path: "/",
  summary: "A page that says what runs here and how to call it.",
  answers: { 200: { description: "The page.", content: { "text/html": { type: "string" } } } },
  errors: [],
  needs: "nobody",
  answer: ({ server, prefix }, { origin }): PlainAnswer => ({
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    },
    body: landingPage({ agents: server.agents.map(({ name }) => name), origin, prefix }),
  }),
};

const healthz: Route = {
  id: "health",
  method: "GET",
  path: "/healthz",
  summary: "Whether the process answers.",
  answers: { 200: { description: "It does.", content: { "application/json": STATUS } } },
  errors: [],
  needs: "nobody",
  answer: () => jsonAnswer({ status: "ok" }),
};

const readyz: Route = {
  id: "readiness",
  method: "GET",
  path: "/readyz",
  summary: "Whether runs are taken: the store answers and the server is not closing.",
  answers: { 200: { description: "They are.", content: { "application/json": STATUS } } },
  errors: ["server-closing", "store-unavailable"],
  needs: "nobody",
  async answer({ server }) {
    const { ready, store } = await server.health();
    if (ready) return jsonAnswer({ status: "ready" });
    throw store === "ok" ? serverClosing() : new HeddleError("store-unavailable", store, {});
  },
};

const metrics: Route = {
  id: "metrics",
  method: "GET",
  path: "/metrics",
  summary: "Numbers about runs, commits, viewers and refusals of this process, for Prometheus.",
  answers: { 200: { description: "The metrics.", content: { "text/plain": { type: "string" } } } },
  errors: [],
  needs: "operator",
  answer: async ({ server }): Promise<PlainAnswer> => ({
    status: 200,
    headers: { "content-type": PROMETHEUS_MEDIA_TYPE, "cache-control": "no-store" },
    body: await server.telemetry.scrape(),
  }),
};

const agents: Route = {
  id: "agents",
  method: "GET",
  path: "/agents",
  summary: "The agents that can be run, with what they can do.",
  answers: { 200: { description: "The agents.", content: { "application/json": OBJECT } } },
  errors: [],
  answer: ({ server, prefix }) =>
    jsonAnswer({
      agents: server.agents.map(({ name }) => ({
        name,
        url: `${prefix}/agents/${name}`,
        capabilities: server.capabilities(name),
      })),
    }),
};

const capabilities: Route = {
  id: "capabilities",
  method: "GET",
  path: "/agents/{agent}/capabilities",
  summary: "What an agent can do, in AG-UI's shape.",
  answers: { 200: { description: "Its capabilities.", content: { "application/json": CAPABILITIES } } },
  errors: ["agent-unknown"],
  answer: ({ server }, { path: { agent = "" } }) => jsonAnswer(server.capabilities(agent)),
};

/** What is here, and how it is. */
export const STATUS_ROUTES: readonly Route[] = [page, healthz, readyz, metrics, agents, capabilities];
