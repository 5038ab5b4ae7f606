/**
 * `npm run test:nginx`: two servers on one PostgreSQL behind the nginx that this machine has, with the configuration of deploy/.
 * `node scripts/test-nginx.ts caddy` does the same with Caddy. Not a part of `npm test`, which needs nothing but npm.
 */
import { spawnSync } from "node:child_process";
import { startVitest } from "vitest/node";

const [proxy = "nginx"] = process.argv.slice(2);
const FILE = "test/behind-proxy.ts";

if (proxy !== "nginx" && proxy !== "caddy") {
  console.error(`${proxy} is no proxy that there is a configuration for: nginx or caddy.`);
  process.exitCode = 2;
} else if (spawnSync(proxy, [proxy === "nginx" ? "-v" : "version"]).status !== 0) {
  console.error(`There is no ${proxy} here: install it (apt-get install ${proxy}), and run this again.`);
  process.exitCode = 1;
} else {
  process.env["HEDDLE_TEST_PROXY"] = proxy;
  const vitest = await startVitest("test", [FILE], { watch: false, include: [FILE] });
  await vitest.close();
}
