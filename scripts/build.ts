/** `npm run build`: compiles the package into dist/. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
process.exitCode = status ?? 1;
