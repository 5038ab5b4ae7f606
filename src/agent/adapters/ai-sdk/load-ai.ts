/** Loads the AI SDK when it is first needed: whoever does not run an agent of it need not have it. */
import { HeddleError } from "../../../protocol/index.ts";

/** The package `ai`. Throws `config-invalid` where it is not installed. */
export async function loadAi(): Promise<typeof import("ai")> {
  try {
    return await import("ai");
  } catch (cause) {
    const expected = "the package ai, version 7";
    const message = `An agent of the AI SDK cannot run: install ${expected}.`;
    throw new HeddleError(
      "config-invalid",
      message,
      { setting: "ai", expected, received: "no such package" },
      { cause },
    );
  }
}
