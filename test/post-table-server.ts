/** The server of `post-table.test.ts`: `node test/post-table-server.ts <file of the log>` prints where it answers. */
import { serve } from "heddle/server/fastify";
import { sqliteStore } from "heddle/store/sqlite";
import { RULES, agents } from "./post-table-agents.ts";

const store = sqliteStore(process.argv[2] ?? "");
const { url } = await serve({ agents, store, rules: RULES, host: "127.0.0.1", port: 0, logLevel: "warn" });
process.stdout.write(`${url}\n`);
