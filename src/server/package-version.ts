/** The version of this package, as its `package.json` says; read when somebody first asks. */
import { readFileSync } from "node:fs";

let known: string | undefined;

/** The version; `unknown` where the package was bundled into something else, without its `package.json`. */
export function packageVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  try {
    const { version }: { readonly version?: unknown } = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    return typeof version === "string" ? version : "unknown";
  } catch {
    return "unknown";
  }
}
