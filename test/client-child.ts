/** A client that has everything open, in a process of its own: it closes the client when it is told to, and ends only if nothing is left. */
import { connect } from "../src/client/index.ts";

const [, , url = "", transport] = process.argv;
const client = connect(url, {
  transport: transport === "websocket" ? "websocket" : "sse",
  retry: { firstMs: 60_000, mostMs: 60_000 },
});
client.tool({ name: "pick_colour", description: "Never done", handler: () => new Promise(() => undefined) });
const thread = client.thread(`child-${transport}`);
const attached = client.thread(`idle-${transport}`);
client.threads.live(() => undefined);
attached.attach();
await attached.restore();
thread.attach();
await thread.run("frontend", "A colour, please").finished;
process.stdout.write("open\n");
process.stdin.once("data", () => {
  // One more, which is waiting for its turn to come back.
  const run = thread.run("nobody", "Hello");
  run.finished.catch(() => undefined);
  client.close();
  client
    .thread("after")
    .run("frontend", "Too late")
    .finished.catch((error: Error) => process.stdout.write(error.name));
  process.stdin.destroy();
});
