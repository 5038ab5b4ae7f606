import { expect, test } from "vitest";
import { openBrowser } from "./browser.ts";

test("a real browser comes from npm", async () => {
  const browser = await openBrowser();
  const page = await browser.newPage();
  await page.setContent("<h1>Heddle</h1>");
  expect(await page.textContent("h1")).toBe("Heddle");
  await browser.close();
});
