/** The agents that the settings ask for: one for each endpoint, with its middleware around it. */
import type { Agent } from "heddle/agent";
import { withMiddleware } from "../middleware.ts";
import type { EndpointSettings, Settings } from "../settings.ts";
import { reasoningAgent } from "./reasoning-agent.ts";
import { simpleAgent } from "./simple-agent.ts";
import { toolsAgent } from "./tools-agent.ts";

type Make = (endpoint: EndpointSettings & Pick<Settings, "paceMs">) => Agent;

/** How an agent of each type is made. */
const FACTORIES: Readonly<Record<EndpointSettings["agentType"], Make>> = {
  SimpleAgent: simpleAgent,
  ToolsAgent: toolsAgent,
  ReasoningAgent: reasoningAgent,
};

/** Makes them. */
export const agentsOf = ({ endpoints, paceMs }: Settings): readonly Agent[] =>
  endpoints.map((endpoint) =>
    withMiddleware(FACTORIES[endpoint.agentType]({ ...endpoint, paceMs }), endpoint.middleware),
  );
