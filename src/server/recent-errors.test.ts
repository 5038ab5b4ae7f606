/** What went wrong lately: whose it is, how much is kept, and what is not told. */
import { expect, test } from "vitest";
import { HeddleError } from "../protocol/index.ts";
import { RecentErrors } from "./recent-errors.ts";

const key = (tenant: string, runId: string) => ({ tenant, threadId: "t", runId });

test("the newest come first, at most 50, and much trouble of one tenant does not hide the little of another", () => {
  const errors = new RecentErrors();
  errors.run(key("quiet", "only"), "a", { code: "agent-failed", message: "once" });
  for (let run = 1; run <= 400; run++) errors.run(key("loud", `r${run}`), "a", { code: "c", message: "m" });
  expect(errors.of("loud").map(({ runId }) => runId)).toEqual(
    Array.from({ length: 50 }, (_, index) => `r${400 - index}`),
  );
  expect(errors.of("quiet")).toMatchObject([{ runId: "only", threadId: "t", agent: "a", message: "once" }]);
  expect(errors.of("nobody")).toEqual([]);
});

test("trouble that repeats itself is told once, to everybody, without what is not ours to tell", () => {
  const errors = new RecentErrors();
  const away = new HeddleError("store-unavailable", "The store is away.", {});
  errors.trouble(away);
  errors.trouble(new Error("postgres://user:password@host"));
  errors.trouble(new HeddleError("run-unknown", "The run r1 of the thread of somebody else is unknown.", {}));
  errors.trouble(away);
  expect(errors.of("any").map(({ code }) => code)).toEqual(["store-unavailable", "run-unknown", "internal-error"]);
  expect(JSON.stringify(errors.of("any"))).not.toMatch(/password|somebody else/);
});

test("a long message and a long code are cut", () => {
  const errors = new RecentErrors();
  errors.run(key("a", "r"), undefined, { code: "x".repeat(5000), message: "y".repeat(5000) });
  const [error] = errors.of("a");
  expect([error?.code.length, error?.message.length]).toEqual([100, 502]);
});
