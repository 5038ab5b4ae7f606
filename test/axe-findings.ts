/** What axe finds in a page that matters, in tests of any page. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe finds that is serious or critical: by rule, with the elements. */
export async function findings(page: Page): Promise<readonly string[]> {
  // The page's policy keeps strange scripts out: this one comes in by the debugger.
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => {
    const { violations }: { violations: { id: string; impact: string; nodes: { target: string[] }[] }[] } =
      await Reflect.get(window, "axe").run();
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
  });
}
