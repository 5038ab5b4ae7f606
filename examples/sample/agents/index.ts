/** For `heddle serve examples/sample/agents/index.ts`: the three agents, made as settings.json says. */
import { fileURLToPath } from "node:url";
import { readSettings } from "../settings.ts";
import { agentsOf } from "./agents-of.ts";

const settings = readSettings(fileURLToPath(new URL("../settings.json", import.meta.url)), {});

/** The agents of the endpoints chat, tools and reasoning. */
export const [chat, tools, reasoning] = agentsOf(settings);
