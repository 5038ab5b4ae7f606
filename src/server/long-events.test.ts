/** Events that are too long to be put together as text first: the same bytes, and nothing of what is hidden. */
import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, framesOf, served } from "../../test/served.ts";
import type { ShowOptions } from "./show.ts";
import { SSE } from "./index.ts";

const LONG = "„so“ — 😀 \u2028 ".repeat(4000);
const MESSAGES = [
  { id: "s", role: "system", content: "the secret" },
  { id: "u", role: "user", content: LONG },
];

/** What is sent of a run that was posted with this, while it is still at hand. */
async function sent(messages: readonly object[], show: ShowOptions): Promise<readonly string[]> {
  const heddle = served(agentOf(async ({ emit }) => void (await emit.text().write(LONG))));
  const { runId } = await heddle.start("test", bodyOf("r1", { messages }));
  const frames = await framesOf(heddle, SSE, { runId, ...show });
  await heddle.close();
  return frames.split("\n\n").slice(0, -1);
}

describe("a long start and a long delta", () => {
  test("are each one frame, with a cursor and all that was said", async () => {
    const frames = await sent(MESSAGES.slice(1), {});
    const events = frames.map(
      (frame) => /^id: \w+_\d{16}\ndata: (?<json>[^\n]*)$/u.exec(frame)?.groups?.["json"] ?? "",
    );
    const [start, , delta] = events.map((json): unknown => JSON.parse(json));
    expect(start).toMatchObject({ type: "RUN_STARTED", input: { messages: [{ id: "u", content: LONG }] } });
    expect(delta).toMatchObject({ type: "TEXT_MESSAGE_CONTENT", delta: LONG });
  });

  test("say nothing of what is hidden", async () => {
    const [start = ""] = await sent(MESSAGES, {});
    expect(start).toContain("RUN_STARTED");
    expect(start).toContain(LONG.slice(0, 20).trim());
    expect(start).not.toContain("the secret");
    expect((await sent(MESSAGES, { raw: true }))[0]).toContain("the secret");
  });
});
