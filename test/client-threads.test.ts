import { connect } from "heddle/client";
import type { LiveThreads } from "heddle/client";
import { expect, test } from "vitest";

test("a list of threads that the server refuses says so, and asks no more", async () => {
  let requests = 0;
  const refusing = async (): Promise<Response> => {
    requests += 1;
    return Response.json({ error: { code: "unauthenticated", message: "Show a token." } }, { status: 401 });
  };
  const { threads } = connect("http://127.0.0.1:1", { fetch: refusing });
  const live = await new Promise<LiveThreads>((resolve) => {
    const followed = threads.live(() => resolve(followed));
  });
  expect(live).toMatchObject({ threads: undefined, error: { code: "unauthenticated", message: "Show a token." } });
  expect(requests).toBe(1);
});
