/**
 * Bundles the PostgreSQL driver of this version of the schema into `test/fixtures/store-v<n>.js`. Run once before a step is
 * added to the schema, on the last commit without it: `test/store-two-versions.test.ts` lets that driver work beside the
 * next one, as a rolling restart does. A driver that is there is never written again.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { MIGRATIONS } from "../src/store/postgres/migrations.ts";

const ROOT = join(import.meta.dirname, "..");
const file = join(ROOT, "test", "fixtures", `store-v${MIGRATIONS.length}.js`);
if (existsSync(file)) throw new Error(`${file} is kept for ever.`);

const bundle = await rolldown({
  input: join(ROOT, "src", "store", "postgres", "index.ts"),
  external: [/^node:/, "pg"],
  platform: "node",
  treeshake: { moduleSideEffects: false },
});
await bundle.write({ file, format: "esm" });
await bundle.close();
const about = `the PostgreSQL driver of schema version ${MIGRATIONS.length}, bundled by scripts/make-store-driver.ts`;
writeFileSync(file, `/* oxlint-disable -- ${about}; never changed */\n${readFileSync(file, "utf8")}`);
spawnSync("oxfmt", [file], { stdio: "inherit" });
