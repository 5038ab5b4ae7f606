/** Loads LangGraph and LangChain when they are first needed: whoever does not run a graph need not have them. */
import { HeddleError } from "../../../protocol/index.ts";

/** The package `@langchain/langgraph`. Throws `config-invalid` where it is not installed. */
export const loadLangGraph = (): Promise<typeof import("@langchain/langgraph")> =>
  installed("@langchain/langgraph", () => import("@langchain/langgraph"));

/** The messages of `@langchain/core`. Throws `config-invalid` where it is not installed. */
export const loadMessages = (): Promise<typeof import("@langchain/core/messages")> =>
  installed("@langchain/core", () => import("@langchain/core/messages"));

async function installed<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const expected = `the package ${name}, version 1`;
    const message = `A graph cannot be run: install ${expected}.`;
    throw new HeddleError(
      "config-invalid",
      message,
      { setting: name, expected, received: "no such package" },
      { cause },
    );
  }
}
