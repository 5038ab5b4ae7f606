/** The server whose inspector is looked at, with a long thread in its memory: `inspector-child.ts <events>`. */
import { defineAgent } from "heddle/agent";
import { serve } from "heddle/server/fastify";
import { memoryStore } from "heddle/store";
import { importLargeThread } from "../test/inspector/large-thread.ts";
import { answerParent } from "./answer-parent.ts";

const [, , events = "100000"] = process.argv;
const quiet = defineAgent({ name: "quiet", run: () => undefined });
const store = memoryStore();
await importLargeThread(store, { events: Number(events) });
const server = await serve({ agents: [quiet], store, port: 0, host: "127.0.0.1" });
answerParent(server.url, {});
