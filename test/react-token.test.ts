/** A token that comes later than the page, or is another one then, counts from then on; components stay what they are. */
import { expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { bundleWith, servePage } from "./pages.ts";

test("who gets a token later asks with it, and no more without it", { timeout: 60_000 }, async () => {
  const script = await bundleWith(19, "test/react-pages/token.tsx", "browser");
  const browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(await servePage('<!doctype html><body></body><script src="/app.js"></script>', script));
  const told = (): Promise<unknown> => page.evaluate(() => Reflect.get(globalThis, "told")());
  const give = (token: string): Promise<unknown> =>
    page.evaluate((given) => Reflect.get(globalThis, "give")(given), token);
  await page.evaluate(() => Reflect.get(globalThis, "begin")());
  await expect.poll(told, { timeout: 10_000 }).toEqual({ asked: ["none"], mounts: 1 });
  await give("one");
  await expect.poll(told, { timeout: 10_000 }).toEqual({ asked: ["Bearer one", "left none", "none"], mounts: 1 });
  await give("two");
  await expect.poll(told, { timeout: 10_000 }).toEqual({
    asked: ["Bearer one", "Bearer two", "left Bearer one", "left none", "none"],
    mounts: 1,
  });
  await browser.close();
});
