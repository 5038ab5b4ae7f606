import { expect, test } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { SESSION_DEFAULTS, assertSessionOptions, endpointsOf } from "./session-options.ts";

const agents = ["one", "two"].map((name) => defineAgent({ name, run: () => undefined }));

test("003 api/AddAgUi: what is not said is 30 minutes, 100 messages, and an endpoint for each agent", () => {
  expect([...endpointsOf({}, agents).keys()]).toEqual(["one", "two"]);
  expect(endpointsOf({}, agents).get("one")).toMatchObject({
    agent: agents[0],
    timeoutMs: 30 * 60 * 1000,
    history: 100,
    concurrency: "queue",
    onAgentError: "continue",
    rateLimit: undefined,
  });
});

test("rules of an endpoint come before those of all, and those before the defaults; undefined says nothing", () => {
  const endpoints = { a: { agent: "one", timeoutMs: 5, history: undefined }, b: { agent: "one" } };
  const made = endpointsOf({ timeoutMs: 7, reasoning: false, maxQueued: undefined, endpoints }, agents);
  expect(made.get("a")).toEqual({
    ...SESSION_DEFAULTS,
    rateLimit: undefined,
    agent: agents[0],
    timeoutMs: 5,
    reasoning: false,
  });
  expect(made.get("b")).toMatchObject({ timeoutMs: 7, reasoning: false });
});

test.each<[unknown, string]>([
  [null, "sessions"],
  [{ timeout: 1 }, "sessions/timeout"],
  [{ timeoutMs: 0 }, "sessions/timeoutMs"],
  [{ timeoutMs: 1.5 }, "sessions/timeoutMs"],
  [{ concurrency: "both" }, "sessions/concurrency"],
  [{ maxQueued: -1 }, "sessions/maxQueued"],
  [{ reasoning: "no" }, "sessions/reasoning"],
  [{ history: "all" }, "sessions/history"],
  [{ rateLimit: { requests: 1 } }, "sessions/rateLimit/perMs"],
  [{ onAgentError: "stop" }, "sessions/onAgentError"],
  [{ path: "api" }, "sessions/path"],
  [{ path: "/api/" }, "sessions/path"],
  [{ memoryLimitBytes: "1 GB" }, "sessions/memoryLimitBytes"],
  [{ endpoints: [] }, "sessions/endpoints"],
  [{ endpoints: { a: {} } }, "sessions/endpoints/a/agent"],
  [{ endpoints: { a: { agent: "" } } }, "sessions/endpoints/a/agent"],
  [{ endpoints: { a: { agent: "one", path: "/a" } } }, "sessions/endpoints/a/path"],
])("%j is refused with the path of the value", (options, setting) => {
  expect(() => assertSessionOptions(options)).toThrow(
    expect.objectContaining({ code: "config-invalid", details: expect.objectContaining({ setting }) }),
  );
});

test("an endpoint needs an agent that is served", () => {
  const setting = "sessions/endpoints/a/agent";
  const details = { setting, expected: "one of one, two", received: '"three"' };
  expect(() => endpointsOf({ endpoints: { a: { agent: "three" } } }, agents)).toThrow(
    expect.objectContaining({ code: "config-invalid", details }),
  );
  expect(() => endpointsOf({ endpoints: { a: { agent: "three" } } }, [])).toThrow("none is served");
});
